"""Rounding of answers in the coordinates of a geometry: those in x, carried through M.

Sums over records are made in x, and their sum is multiplied by M. An error e in x becomes M e, no longer
than stretch ||e||; the product itself adds gamma_d |M| |sum|, no longer than gamma_d stretch times the sum.
Weights w = M'u are rounded once more, so margins are those of w off by gamma_d stretch ||u||: twice the norm
of w covers both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sottovoce.privacy.rounding import FEW, JOINS, UNDERFLOW, UNIT_ROUNDOFF, Arithmetic, gamma


@final
@dataclass(frozen=True, kw_only=True)
class StretchedArithmetic(Arithmetic):
    """E of each query in u; `radius` is that of the rows x, `stretch` bounds || |M| ||, norms are of u."""

    stretch: float

    def gradient(self, *, slope: float, curvature: float, weight_norm: float, added: float = 0.0) -> float:
        error = super().gradient(slope=slope, curvature=curvature, weight_norm=self._user(weight_norm))
        return self._carried(error, slope * super()._first, self.stretch, added)

    def hessian(self, *, curvature: float, third: float, weight_norm: float, added: float = 0.0) -> float:
        error = super().hessian(curvature=curvature, third=third, weight_norm=self._user(weight_norm))
        return self._carried(error, curvature * super()._second, self.stretch**2, added)

    def gram(self) -> float:
        return self._carried(super().gram(), super()._second, self.stretch**2, 0.0)

    def moments(self, emphasis: float) -> float:
        first = self._carried(super().moments(0.0), self._first, self.stretch, 0.0)
        return first + emphasis * self.gram()

    def value(self, *, highest: float, slope: float, weight_norm: float, added: float = 0.0) -> float:
        return super().value(highest=highest, slope=slope, weight_norm=self._user(weight_norm), added=added)

    def difference(
        self, *, slope: float, highest: float, weight_norm: float, step_norm: float, added: float = 0.0
    ) -> float:
        return super().difference(
            slope=slope,
            highest=highest,
            weight_norm=self._user(weight_norm),
            step_norm=self._user(step_norm),
            added=added,
        )

    @property
    def _first(self) -> float:
        return super()._first * self.stretch

    @property
    def _second(self) -> float:
        return super()._second * self.stretch**2

    def _user(self, norm: float) -> float:
        return 2.0 * self.stretch * norm

    def _carried(self, error: float, largest: float, factor: float, added: float) -> float:
        """An answer no larger than `largest`, off by `error`, after products that stretch by `factor`."""
        products = gamma(2.0 * self.dim + FEW) * (largest + error)
        return factor * (error + products) + JOINS * UNIT_ROUNDOFF * (factor * largest + added) + UNDERFLOW
