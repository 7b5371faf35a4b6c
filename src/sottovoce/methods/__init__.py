"""Optimizers. Each sees public constants and noisy answers, never data."""

from sottovoce.methods.base import Goal, Method, Rule, State, follow
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.methods.cubic import Cubic
from sottovoce.methods.gradient_descent import GradientDescent
from sottovoce.methods.majorize import Majorize
from sottovoce.methods.paper.opt import Opt, OptBatch, OptSearch, TwoPhase, TwoPhaseBatch, TwoPhaseSearch
from sottovoce.methods.paper.trust_region import Tr, TrBatch
from sottovoce.methods.registry import METHODS, by_name
from sottovoce.methods.steps import Step

__all__ = [
    "METHODS",
    "BatchDescent",
    "Cubic",
    "Goal",
    "GradientDescent",
    "Majorize",
    "Method",
    "Opt",
    "OptBatch",
    "OptSearch",
    "Rule",
    "State",
    "Step",
    "Tr",
    "TrBatch",
    "TwoPhase",
    "TwoPhaseBatch",
    "TwoPhaseSearch",
    "by_name",
    "follow",
]
