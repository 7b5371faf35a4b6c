"""The planner's formulas: noise of each query, what it lets be certified, and how long a pass takes."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce import sensitivity
from sottovoce.certificate import Levels, norm_bound, spectral_margin
from sottovoce.errors import ParameterError
from sottovoce.methods.cubic import Cubic
from sottovoce.methods.majorize import Majorize
from sottovoce.methods.majorizers import Shape, shape_for
from sottovoce.methods.measurement import scalar_pays
from sottovoce.queries import LARGEST_MATRIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.losses import Loss
    from sottovoce.methods.loop import Method
    from sottovoce.queries import Problem
    from sottovoce.result import Tolerance

_PROBE_ENTRIES = 2**21
_DEAR = 0.6
"""Part of the visits that pay their full share: the others, far from the goal, cost next to nothing."""


@final
@dataclass(frozen=True, kw_only=True)
class QueryNoise:
    """One kind of query: its share of mu^2, the noise sd of an entry, and the norm of all its noise.

    For a matrix the norm is the spectral one."""

    query: str
    share: float
    scale: float
    norm: float


@final
@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a method can expect. `gradient` and `curvature` are tolerances it can expect to certify."""

    mu: float
    steps: int
    passes: int
    majorizer: str | None
    noise: tuple[QueryNoise, ...]
    gradient: float
    curvature: float

    def reaches(self, tolerance: Tolerance) -> bool:
        assert tolerance.curvature is not None
        return self.gradient <= tolerance.gradient and self.curvature <= tolerance.curvature


def of(
    method: Method, problem: Problem, mu: float, confidence: float, tolerance: Tolerance | None
) -> Forecast:
    """The forecast of a method with its own shares; `mu` is the whole budget."""
    match method:
        case Majorize():
            return _majorize(method, problem, mu, confidence, tolerance)
        case Cubic():
            return _cubic(method, problem, mu, confidence, tolerance)
        case _:
            raise ParameterError(
                f'no plan is made for method {method.name!r}. Plan for "majorize" or "cubic"; for the '
                "methods of the paper see sottovoce.sample_complexity."
            )


def _majorize(
    method: Majorize, problem: Problem, mu: float, confidence: float, tolerance: Tolerance | None
) -> Forecast:
    in_doubt = _in_doubt(problem, tolerance)
    curvature = method.curvature_share if in_doubt else 0.0
    shape = shape_for(problem, mu * math.sqrt(method.gram_share))
    asked = 0.0 if shape is Shape.SCALAR else method.gram_share
    rest = 1.0 - asked - curvature
    each = rest / (_DEAR * (method.steps + 1))
    levels = Levels(confidence=confidence, gradient_tests=method.steps + 1, curvature_tested=in_doubt)
    noise = [_gradient(problem, mu, each)]
    if shape is Shape.DENSE:
        noise.append(_matrix("Gram matrix", _gram(problem), problem.columns, mu, asked))
    if shape is Shape.DIAGONAL:
        noise.append(_vector("Gram diagonal", _gram(problem), problem.columns, mu, asked))
    found = -problem.curvature_floor
    if in_doubt:
        noise.append(_matrix("Hessian", _hessian(problem), problem.dim, mu, curvature))
        found = min(found, _spectral(noise[-1], problem, levels))
    measured = 1 + scalar_pays(problem.dim, levels.at_the_end().gradient) + in_doubt
    return Forecast(
        mu=mu,
        steps=method.steps,
        passes=(shape is not Shape.SCALAR) + method.steps + (measured if tolerance is None else 1 + in_doubt),
        majorizer=shape.value,
        noise=tuple(noise),
        gradient=certifiable(problem, noise[0].scale, levels.gradient),
        curvature=found,
    )


def _cubic(
    method: Cubic, problem: Problem, mu: float, confidence: float, tolerance: Tolerance | None
) -> Forecast:
    visits = method.free_steps if tolerance is None else method.steps + 1
    levels = Levels(confidence=confidence, gradient_tests=method.steps + 1, curvature_tested=True)
    spent_aside = method.hessian_share + method.trials_share
    noise = (
        _gradient(problem, mu, (1.0 - spent_aside) / (_DEAR * visits)),
        _matrix("Hessian", _hessian(problem), problem.dim, mu, method.hessian_share / visits),
        _vector(
            "trial differences", _trials(problem, len(method.ladder)), 1, mu, method.trials_share / visits
        ),
    )
    return Forecast(
        mu=mu,
        steps=visits,
        passes=3 * visits + (2 if tolerance is None else 0),
        majorizer=None,
        noise=noise,
        gradient=certifiable(problem, noise[0].scale, levels.gradient),
        curvature=min(-problem.curvature_floor, _spectral(noise[1], problem, levels)),
    )


def certifiable(problem: Problem, scale: float, level: float) -> float:
    """The gradient norm that can be certified where steps can go no lower.

    A step leaves behind at most the noise of its own gradient, of norm s sqrt(d); measured with noise of the
    same size the answer has norm s sqrt(2d). With a long vector its norm alone is measured better."""
    left = scale * math.sqrt(problem.dim)
    bound, _ = norm_bound(math.hypot(left, left), scale, problem.dim, level)
    return min(bound, problem.gradient_ceiling(np.zeros(problem.dim)))


def seconds(problem: Problem, loss: Loss, expected: Forecast) -> float:
    """Passes timed on synthetic rows of the same shape, scaled to n. Reads no data."""
    from sottovoce.losses import Kind
    from sottovoce.records import Records
    from sottovoce.risk import Risk

    count = max(16, min(problem.n, _PROBE_ENTRIES // problem.widest_row))
    rows = _synthetic(count, problem)
    signs = np.where(np.arange(count) % 2, 1, -1)
    if loss.kind is Kind.MARGIN:
        records = Records.from_arrays(rows, signs, labels=(-1, 1))
    else:
        records = Records.from_arrays(rows, signs, target=(-1.0, 1.0))
    risk = Risk(records, loss)
    w = np.zeros(problem.dim)
    each = _timed(lambda: risk.gradient(w))
    total = expected.passes * each
    asked = {query.query for query in expected.noise}
    if "Gram matrix" in asked:
        total += _timed(risk.gram)
    if "trial differences" in asked:
        total += (expected.passes // 3) * _timed(lambda: risk.hessian(w))
    return total * problem.n / count


def _synthetic(count: int, problem: Problem) -> object:
    """Rows of a fixed pattern with as many entries as declared."""
    if problem.nonzeros is None:
        return np.sin(np.arange(count * problem.dim, dtype=np.float32)).reshape(count, -1)
    from scipy import sparse

    width = problem.widest_row
    columns = (
        np.arange(count)[:, None] * 7919 + np.arange(width) * max(1, problem.dim // width)
    ) % problem.dim
    parts = (np.ones(count * width, np.float32), columns.ravel(), np.arange(count + 1) * width)
    table = sparse.csr_array(parts, shape=(count, problem.dim))
    table.sum_duplicates()
    return table


def _timed(question: Callable[[], object]) -> float:
    def once() -> float:
        began = time.perf_counter()
        question()
        return time.perf_counter() - began

    return min(once(), once())


def _in_doubt(problem: Problem, tolerance: Tolerance | None) -> bool:
    wanted = 0.0 if tolerance is None else -(tolerance.curvature or 0.0)
    return problem.curvature_floor < wanted and problem.dim <= LARGEST_MATRIX


def _spectral(hessian: QueryNoise, problem: Problem, levels: Levels) -> float:
    return spectral_margin(hessian.scale, problem.dim, levels.curvature(1))


def _gradient(problem: Problem, mu: float, share: float) -> QueryNoise:
    moves = sensitivity.gradient(slope=problem.slope, radius=problem.radius, n=problem.n)
    return _vector("gradient", moves, problem.dim, mu, share)


def _hessian(problem: Problem) -> float:
    return sensitivity.hessian(
        curvature_low=problem.curvature_low,
        curvature_high=problem.curvature_high,
        radius=problem.radius,
        n=problem.n,
    )


def _gram(problem: Problem) -> float:
    return sensitivity.gram(radius=problem.radius, n=problem.n)


def _trials(problem: Problem, count: int) -> float:
    return sensitivity.normalized_trials(slope=problem.slope, radius=problem.radius, n=problem.n, count=count)


def _vector(query: str, moves: float, entries: int, mu: float, share: float) -> QueryNoise:
    scale = moves / (mu * math.sqrt(share))
    return QueryNoise(query=query, share=share, scale=scale, norm=scale * math.sqrt(entries))


def _matrix(query: str, moves: float, size: int, mu: float, share: float) -> QueryNoise:
    scale = moves / (mu * math.sqrt(share))
    return QueryNoise(query=query, share=share, scale=scale, norm=scale * math.sqrt(2.0 * size))
