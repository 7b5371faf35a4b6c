"""By what factor the weights should be longer: one noisy number along them, which costs little noise.

The weights of a logistic model are known by direction before they are known by length: along them the loss
bends least. A gradient pays for the longest row in every direction. Asked in coordinates where all directions
but that of the weights are all but gone, it pays for a record's score alone, whose influence is capped there
as elsewhere: by a function of the features, so weights that are right stay stationary.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from sottovoce.queries import LimitedGradient

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Preconditioner, Queries

LIMIT = 0.5
"""On slopes: records are weighed by their predictions, so that no slope passes that at 0."""

ROUNDS = 2
"""The second answer corrects what the model of scores made of the first."""

_SHARE = 0.04
"""Of the budget, where noise is large."""

_PRECISE, _NEEDLESS = 50.0, 10.0
"""From n mu of so many times the columns on it is less, in proportion; from so many times that on nothing."""

_TELLS = 130.0
"""Below so large an n mu the answer errs by more than is to be found."""

STRONG = 3.0
"""Log odds of a larger standard deviation are never shortened: what is asked looks at records near 0 and at
those on the wrong side, which are few there and of which errors in the direction of the weights make more."""

_OTHERS = 1e-3
"""How long all other directions are left."""

_CAP, _CEILING = 0.3, 1e6
"""On influence, in units of the log odds: all but the nearest to 0 count by the sign of their score."""

_SHRUNK = 1.7
"""How much farther off than noise alone explains: a posterior mean is drawn to 0 as well."""

_DOUBT = 0.4
"""Largest prior standard deviation of the logarithm of the factor."""

_WRONG = 0.12
"""Error of the logarithm besides noise: a model that is wrong has another length of least loss. On Adult and
Covertype (subsamples 77 and 78) it is about .1."""

_GRID = np.linspace(-6.0, 6.0, 241)
_MASS = np.exp(-0.5 * _GRID**2) / np.exp(-0.5 * _GRID**2).sum()
_LOGS = np.linspace(-4.0, 4.0, 81)
"""Logarithms that are compared, in units of their prior standard deviation."""


def share(problem: Problem, mu: float) -> float:
    """The part of a budget of mu that is kept for it: none where no constant column lets scores be centred,
    for what is wrong with their mean would be taken for a wrong length. Public."""
    if problem.constant is None or problem.n * mu < _TELLS:
        return 0.0
    precision = problem.n * mu / (_PRECISE * problem.columns)
    return _SHARE / max(1.0, precision) if precision < _NEEDLESS else 0.0


class Lengthening(NamedTuple):
    """A factor on the weights, the standard error of its logarithm, and the part of it that is noise."""

    factor: float
    error: float
    scatter: float = 0.0


def alone(preconditioner: Preconditioner, direction: Vector, cap: float) -> Preconditioner:
    """The preconditioner with all directions but a unit vector's shortened, and influence capped at `cap`
    there: no second moments are asked for, so their cap need not bind."""
    turn = _OTHERS * np.eye(direction.size) + (1.0 - _OTHERS) * np.outer(direction, direction)
    return replace(preconditioner, turn=turn, cap=cap, ceiling=_CEILING)


def lengthened(
    ask: Queries,
    preconditioner: Preconditioner,
    u: Vector,
    way: Vector,
    deviation: float,
    doubt: float,
    units: int,
) -> tuple[Lengthening, list[Answer[Vector]]]:
    """What the part `way` of u, in the coordinates of `preconditioner`, should be multiplied by, and the
    answers that say so.

    `deviation` is about that of the scores of `way`, `doubt` that of the factor's logarithm by noise."""
    size = float(np.linalg.norm(way))
    found = Lengthening(1.0, min(_SHRUNK * doubt, _DOUBT))
    answers: list[Answer[Vector]] = []
    cap = min(deviation, _CAP)
    there = alone(preconditioner, way / size, cap / size)
    inside = ask.preconditioned(there)
    limit = LIMIT * ask.problem.slope
    for left in range(ROUNDS, 0, -1):
        at = inside.problem.within_limit(
            there.from_user(preconditioner.to_user(u + (found.factor - 1.0) * way))
        )
        answer = inside.ask(LimitedGradient(at, limit), units // left)
        units -= answer.units
        answers.append(answer)
        seen, noise = -found.factor * float(answer.value @ way), answer.scale * found.factor * size
        log, error, moved = _believed(seen, noise, found.factor * deviation, found.factor * cap, found.error)
        found = Lengthening(found.factor * math.exp(log), error, math.hypot(found.scatter, moved))
    return found, answers


def _believed(
    seen: float, noise: float, deviation: float, cap: float, doubt: float
) -> tuple[float, float, float]:
    """Mean and deviation of the factor's logarithm, given what was seen along the weights, and how far noise
    moves that mean.

    Scores t are taken for normal; where labels follow b t, the mean of omega w (y - p) t, p the probability
    that t gives and w = 1/2 / max(p, 1-p), is that of omega w (p(b t) - p(t)) t."""
    t = deviation * _GRID
    right = special.expit(t)
    capped = np.clip(t, -cap, cap)
    counted = _MASS * capped * LIMIT / np.maximum(right, 1.0 - right)
    logs = doubt * _LOGS
    expected = (special.expit(np.outer(np.exp(logs), t)) - right) @ counted
    bend = float((right * (1.0 - right) * t) @ counted)
    variance = noise**2 + (_WRONG * bend) ** 2
    likely = -0.5 * (seen - expected) ** 2 / variance - 0.5 * _LOGS**2
    likely = np.exp(likely - likely.max())
    likely /= likely.sum()
    mean = float(likely @ logs)
    follows = float((likely * (logs - mean)) @ expected) / variance
    return mean, math.sqrt(float(likely @ (logs - mean) ** 2)), follows * noise
