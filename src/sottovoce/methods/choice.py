"""`method="auto"`: which method to take, from public facts alone, and why, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods.accelerate import Accelerate
from sottovoce.methods.adapt import Adapt
from sottovoce.methods.base import Method
from sottovoce.methods.cubic import Cubic
from sottovoce.methods.majorize import Majorize
from sottovoce.methods.measurement import curvature_in_doubt
from sottovoce.methods.registry import by_name
from sottovoce.problem import matrix_fits

if TYPE_CHECKING:
    from sottovoce.problem import Problem
    from sottovoce.results.result import Tolerance

AUTO = "auto"
_COUNTS = ("poisson", "cloglog")
WIDE = 1000
"""Columns of a softmax from which most directions' curvature is below the noise level: steps go without."""


@final
@dataclass(frozen=True)
class Choice:
    """A method, and why it was taken; the reason is empty where the user named it."""

    method: Method
    reason: str = ""


def chosen(method: str | Method, problem: Problem, tolerance: Tolerance | None) -> Choice:
    """The method as named, or the one that public facts recommend. No record enters."""
    if method != AUTO:
        return Choice(by_name(method) if isinstance(method, str) else method)
    escape = tolerance is not None and not problem.is_convex and problem.forms_matrices
    if (problem.matrix_free or problem.clipped) and not escape:
        reason = "majorize was chosen: the risk has no columns whose scale can be learned"
        if tolerance is None and curvature_in_doubt(problem, None):
            reason += "; a start at a saddle is left by cubic steps"
        return Choice(Majorize(), f"{reason}.")
    if not matrix_fits(problem.columns):
        return Choice(
            Majorize(),
            f"majorize was chosen: {problem.columns} columns are too many for a matrix, and it does without.",
        )
    if tolerance is None and problem.outputs > 1 and problem.columns >= WIDE:
        return Choice(
            Accelerate(),
            f"accelerate was chosen: of {problem.columns} columns for {problem.outputs} classes most "
            "curvature is below the noise level, and steps with momentum do without.",
        )
    if problem.loss in _COUNTS and problem.forms_matrices:
        return Choice(
            Cubic(), "cubic was chosen: the curvature of counts follows their rates, so it is asked for."
        )
    if tolerance is None:
        reason = "adapt was chosen: without a tolerance the whole budget goes into the best model it buys"
        if curvature_in_doubt(problem, None):
            reason += "; it looks at the curvature on the way, and leaves saddles by cubic steps"
        return Choice(Adapt(), f"{reason}.")
    if escape:
        return Choice(
            Cubic(),
            "cubic was chosen: the risk is not convex, and a tolerance asks for a way out of saddles.",
        )
    return Choice(Majorize(), "majorize was chosen: it can certify a tolerance at every step it takes.")
