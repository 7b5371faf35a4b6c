"""Where the minimizer of a convex risk lies, coordinate by coordinate, from answers released at one point.

Let g~ = g + s z and C = H + E be the noisy gradient and Hessian at w. With |phi'''| <= bend phi'' and
||x|| <= R the Hessian changes by at most the factor e^{nu ||p||}, nu = bend R, over a step p; a quadratic
penalty only helps. Let gamma >= ||g||, eta >= ||E||, m = lambda_min(C) - eta > 0 and nu gamma < m. Then

1. The slope along a unit u at distance r from w is at least -gamma + m (1 - e^{-nu r}) / nu, positive beyond
   r_0 = -log(1 - nu gamma / m) / nu: by convexity the minimizer w* lies within r_0.
2. g = K (w - w*) with a H <= K <= b H, a = (1 - e^{-x}) / x, b = (e^x - 1) / x, x = nu r_0. So w - w* differs
   from H^{-1} g, coordinate by coordinate, by at most (b - 1) sqrt(e_j'H^{-1}e_j) gamma / (a sqrt(m)).
3. H^{-1} g differs from C^{-1} g by at most ||C^{-1}e_j|| eta gamma / m, and that from C^{-1} g~ by s times a
   normal variable of standard deviation ||C^{-1}e_j||, because z is independent of C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.certificate import norm_bound, scalar_margin, spectral_margin
from sottovoce.files import finite

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.problem import Problem
    from sottovoce.questions import Answer

NOT_CONVEX = "the loss or its penalty is not convex, so the risk may have several minimizers"
NOTHING_MEASURED = "no noisy gradient over all records was released at these weights"
NO_HESSIAN = "no Hessian was released at these weights; keep a part of the budget for one: intervals=0.1"
TOO_FLAT = (
    "what was released does not show that the risk curves up in every direction around these weights. More "
    "records, a larger epsilon or a stronger L2 penalty can show it. A full set of indicators repeats the "
    "intercept, so declaring all categories of a column but one helps too"
)


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Bounds that hold for every coordinate of the minimizer at once, with probability at least `confidence`.

    Empty, with a `reason`, where the released answers give none."""

    confidence: float
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.low)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Intervals:
        """The intervals of `asdict`; KeyError, TypeError or ValueError for anything else."""
        low, high = (tuple(finite(bound) for bound in raw[side]) for side in ("low", "high"))
        if len(low) != len(high):
            raise ValueError("every interval has two ends")
        return cls(confidence=finite(raw["confidence"]), low=low, high=high, reason=str(raw["reason"]))


def around(
    w: Vector,
    gradient: Answer[Vector] | None,
    hessian: Answer[Matrix] | None,
    problem: Problem,
    *,
    confidence: float,
    tests: int,
) -> Intervals:
    """Intervals for the minimizer from answers at w, one of at most `tests` points the run may return.

    The error probability is divided before the run over those points; at each a quarter goes to ||g||, a
    quarter to ||E||, and half, in equal parts, to the two sides of every coordinate."""
    level = (1.0 - confidence) / tests
    if not problem.is_convex:
        return Intervals(confidence=confidence, reason=NOT_CONVEX)
    if gradient is None or gradient.sampling:
        return Intervals(confidence=confidence, reason=NOTHING_MEASURED)
    if hessian is None or hessian.sampling:
        return Intervals(confidence=confidence, reason=NO_HESSIAN)
    noisy = float(np.linalg.norm(gradient.value))
    gamma, _ = norm_bound(noisy, gradient.scale, problem.dim, level / 4.0)
    eta = spectral_margin(hessian.scale, problem.dim, level / 8.0)
    values, vectors = np.linalg.eigh(hessian.value)
    m, nu = float(values[0]) - eta, problem.bend * problem.radius
    if not (m > 0.0 and nu * gamma < m * (1.0 - 1e-9)):
        return Intervals(confidence=confidence, reason=TOO_FLAT)
    furthest = -math.log1p(-nu * gamma / m) / nu
    x = max(nu * furthest, 1e-12)
    shrunk, grown = -math.expm1(-x) / x, math.expm1(x) / x
    noise = gradient.scale * scalar_margin(1.0, level / (4.0 * problem.dim)) + eta * gamma / m
    spread = np.sqrt(np.square(vectors) @ (1.0 / (values - eta)))
    reach = np.sqrt(np.square(vectors) @ np.square(1.0 / values)) * noise
    reach += (grown - 1.0) * gamma / (shrunk * math.sqrt(m)) * spread
    middle = w - vectors @ ((vectors.T @ gradient.value) / values)
    return Intervals(
        confidence=confidence,
        low=tuple(np.maximum(middle - reach, w - furthest).tolist()),
        high=tuple(np.minimum(middle + reach, w + furthest).tolist()),
    )
