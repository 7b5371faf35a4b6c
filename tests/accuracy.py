"""How far a computed answer can lie from that of real numbers: margins and losses round, then sums do.

None of it is charged for, since what is summed is the clamped number as computed. It is what answers of
different kernels, or in exact arithmetic, may differ by."""

from __future__ import annotations

from dataclasses import dataclass

from sottovoce.privacy.rounding import UNIT_ROUNDOFF, Arithmetic, gamma

ULPS = 64 * UNIT_ROUNDOFF
"""Of its range, to which a loss is computed."""


@dataclass(frozen=True)
class Accuracy:
    """`slope` >= |phi'|, `curvature` >= |phi''|, `third` >= |phi'''|, `highest` >= phi on the margins met;
    `added` sums the norms of the public parts added to the mean."""

    of: Arithmetic

    def gradient(self, *, slope: float, curvature: float, weight_norm: float, added: float = 0.0) -> float:
        off = curvature * self.of.margin_error(weight_norm) + ULPS * slope
        return self.of.vectors(slope) + _joined(off * self._size(1), slope * self._size(1), added)

    def gradient_norm(self, *, slope: float, added: float = 0.0, **known: float) -> float:
        error = self.gradient(slope=slope, added=added, **known)
        return error + gamma(self.of.dim + 16) * (slope * self._size(1) + added + error)

    def hessian(self, *, curvature: float, third: float, weight_norm: float, added: float = 0.0) -> float:
        off = third * self.of.margin_error(weight_norm) + ULPS * curvature
        return self.of.matrices(curvature) + _joined(off * self._size(2), curvature * self._size(2), added)

    def smallest_eigenvalue(self, *, curvature: float, added: float = 0.0, **known: float) -> float:
        error = self.hessian(curvature=curvature, added=added, **known)
        return error + gamma(16 * self.of.dim**2) * (curvature * self._size(2) + added + error)

    def value(self, *, highest: float, slope: float, weight_norm: float, added: float = 0.0) -> float:
        off = slope * self.of.margin_error(weight_norm) + ULPS * highest
        return self.of.mean(highest) + _joined(off, highest, added)

    def difference(
        self, *, slope: float, highest: float, weight_norm: float, step_norm: float, added: float = 0.0
    ) -> float:
        """Both losses carry their own errors, which do not shrink with the step."""
        ends = (weight_norm, weight_norm + step_norm)
        off = slope * sum(map(self.of.margin_error, ends)) + 2.0 * ULPS * highest
        return self.of.drop(slope, step_norm) + _joined(off, slope * self._size(1) * step_norm, added)

    def _size(self, power: int) -> float:
        stretch = 1.0 if self.of.stretch is None else self.of.stretch
        return float(self.of.counted * (self.of.radius * stretch) ** power)


def _joined(off: float, size: float, added: float) -> float:
    """Terms that are off, with what a few additions of public parts add."""
    return (1.0 + 1e-9) * off + 4.0 * UNIT_ROUNDOFF * (size + added)
