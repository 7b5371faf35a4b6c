"""What a method may ask. Each query is written once: name, length, bound, computation.

No data is held here: a query meets it only inside an oracle. An oracle answers the queries of this room
and no others, so a method cannot bring one with a bound of its own."""

from sottovoce.queries.asking import Derivatives, Queries
from sottovoce.queries.base import Answer, AtWeights, Form, Query
from sottovoce.queries.clipped import ClippedGradient, GradientBands
from sottovoce.queries.derivatives import (
    CurvatureProduct,
    Gradient,
    GradientNorm,
    Hessian,
    LimitedGradient,
    SmallestEigenvalue,
    Value,
)
from sottovoce.queries.features import ColumnMeans, ColumnMoments, Gram, GramDiagonal, Moments
from sottovoce.queries.lines import SHORTEST_TRIAL, Backtrack, GradientChange, Grid, Trials
from sottovoce.queries.low_rank_shrinkage import LowRankShrinkage
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.queries.residuals import ResidualBands
from sottovoce.queries.scores import Information, ScoreMoment

__all__ = [
    "SHORTEST_TRIAL",
    "Answer",
    "AtWeights",
    "Backtrack",
    "ClippedGradient",
    "ColumnMeans",
    "ColumnMoments",
    "CurvatureProduct",
    "Derivatives",
    "Form",
    "Gradient",
    "GradientBands",
    "GradientChange",
    "GradientNorm",
    "Gram",
    "GramDiagonal",
    "Grid",
    "Hessian",
    "Information",
    "LimitedGradient",
    "LowRankShrinkage",
    "Moments",
    "Preconditioner",
    "Queries",
    "Query",
    "ResidualBands",
    "ScoreMoment",
    "SmallestEigenvalue",
    "Trials",
    "Value",
]
