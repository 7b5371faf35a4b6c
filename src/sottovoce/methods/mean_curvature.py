"""What is expected of a loss from public numbers: the mean of phi'', how far linear predictors spread, and
how far a record moves a gradient. Steps, forecasts and the noise that is stated take it from here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sottovoce.methods.logistic_model import log_odds
from sottovoce.results.inference.allotment import typical_curvature

if TYPE_CHECKING:
    from sottovoce.problem import Problem

LOGISTIC = "logistic"

TYPICAL = 0.6
"""Mean phi'' on the way to a minimizer in units of its supremum, for losses without a model of their own."""

SEVERAL_OUTPUTS = 0.3
"""The same for a softmax, whose bound 1/2 on its curvature is loose."""

PRIOR_LOG_ODDS = math.sqrt(2.0)
"""Prior standard deviation of log odds."""


def prior_deviation(problem: Problem) -> float:
    """Standard deviation of the linear predictor to expect: of a number, half its reach. Public."""
    return 0.5 * problem.label_reach if problem.label_reach else PRIOR_LOG_ODDS


def movement(problem: Problem) -> float:
    """About what one record moves a gradient on the way, in units of its largest influence over n. Public."""
    return (2.0 if problem.label_reach else 1.2) * problem.slope


def mean_curvature(problem: Problem, deviation: float) -> float:
    """Mean phi'' near a minimizer, where linear predictors have this root mean square.

    Scores of K classes that have it each differ by sqrt(2K/(K-1)) times as much, and a softmax bends about
    4/K times as much as two classes. Other losses have what `typical_curvature` says: gradients may tell
    better."""
    classes = problem.outputs
    if classes > 1:
        return log_odds(deviation * math.sqrt(2.0 * classes / (classes - 1.0))).curvature * 4.0 / classes
    if problem.loss == LOGISTIC:
        return log_odds(deviation).curvature
    return typical_curvature(problem)
