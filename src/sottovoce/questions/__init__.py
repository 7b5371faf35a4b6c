"""What a method may ask. Each question is written once: name, length, bound, computation.

No data is held here: a question meets it only inside an oracle. An oracle answers the questions of this room
and no others, so a method cannot bring one with a bound of its own."""

from sottovoce.questions.asking import Derivatives, Questions
from sottovoce.questions.base import Answer, AtWeights, Form, Question
from sottovoce.questions.derivatives import (
    CurvatureProduct,
    Gradient,
    GradientNorm,
    Hessian,
    LimitedGradient,
    SmallestEigenvalue,
    Value,
)
from sottovoce.questions.features import ColumnMeans, ColumnMoments, Gram, GramDiagonal, Moments
from sottovoce.questions.flattening import Flattening
from sottovoce.questions.geometry import Geometry
from sottovoce.questions.lines import SHORTEST_TRIAL, Backtrack, Grid, Trials
from sottovoce.questions.residuals import ResidualBands
from sottovoce.questions.scores import Information, ScoreMoment

__all__ = [
    "SHORTEST_TRIAL",
    "Answer",
    "AtWeights",
    "Backtrack",
    "ColumnMeans",
    "ColumnMoments",
    "CurvatureProduct",
    "Derivatives",
    "Flattening",
    "Form",
    "Geometry",
    "Gradient",
    "GradientNorm",
    "Gram",
    "GramDiagonal",
    "Grid",
    "Hessian",
    "Information",
    "LimitedGradient",
    "Moments",
    "Question",
    "Questions",
    "ResidualBands",
    "ScoreMoment",
    "SmallestEigenvalue",
    "Trials",
    "Value",
]
