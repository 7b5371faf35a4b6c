"""Bounds of the area under the ROC curve, from the noisy numbers that were released of it.

Let A be the area and e, f the noise of U/n and P. At the noisy numbers
U/n - A P (n - P)/n = e - A (1 - 2 P/n) f + A f^2/n, the first two terms Gaussian with a standard deviation
that P bounds, the last as small as f^2/n."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sottovoce.evaluation.figures import AREA, Estimate, level_margin, sampling_margin

if TYPE_CHECKING:
    from sottovoce.arrays import Vector

_PRODUCTS = 0.1
"""Part of the error allowed for that products of two noises may use."""


def bounded(noisy: Vector, scale: float, n: int, confidence: float, rounding: float) -> Estimate:
    """All numbers as parts of n; `rounding` is what floors and rounded products add to the margin."""
    error = 1.0 - confidence
    ordered, positive = float(noisy[0]), float(noisy[1])
    present = float(noisy[2]) if noisy.size > 2 else 1.0
    pairs = positive * (present - positive)
    margin = _margin(noisy, scale, error) + rounding
    surely = present - (_far(noisy, scale, error / 2.0) if noisy.size > 2 else 0.0)
    people = max(1, math.floor(n * surely))
    wider = _margin(noisy, scale, error / 2.0) + rounding + _sampled(people, error / 2.0)
    low, high = _ends(ordered, pairs, margin)
    value = min(max(ordered / pairs, low), high) if pairs > 0.0 else 0.5
    return Estimate(
        name=AREA,
        value=value,
        low=low,
        high=high,
        population=_ends(ordered, pairs, wider),
        confidence=confidence,
        n=n,
    )


def _margin(noisy: Vector, scale: float, error: float) -> float:
    """How far U - A P (M - P) strays from 0, M of n being present, all as parts of n.

    Its Gaussian part has variance s^2 (1 + A^2 (M - 2P)^2 + A^2 P^2), the last only where M is noisy: at most
    s^2 times how many numbers there are."""
    several, far = noisy.size - 1, _far(noisy, scale, error)
    uneven = 1.0
    if several == 1:
        uneven = min(1.0, abs(1.0 - 2.0 * float(noisy[1])) + 2.0 * far)
    deviation = scale * math.sqrt(several + uneven**2)
    return level_margin(deviation, error * (1.0 - _PRODUCTS)) + several * far**2


def _far(noisy: Vector, scale: float, error: float) -> float:
    """What the noise of P, and of M, stays below, but for a part of the error."""
    return level_margin(scale, error * _PRODUCTS / (noisy.size - 1))


def _sampled(people: int, error: float) -> float:
    """How far the same strays from what the population has, by Hoeffding for P/n and for the pairs in U.

    Two of n people have s(i, j) in [0, 1] pairs in order between them: the mean over all pairs of people
    strays no more than one of n/2 independent numbers, and U/n^2 is half of it, within 1/(4n)."""
    positives = sampling_margin(1.0, people, error / 2.0)
    return positives + positives**2 + sampling_margin(0.5, max(1, people // 2), error / 2.0) + 1.0 / people


def _ends(ordered: float, pairs: float, margin: float) -> tuple[float, float]:
    if pairs <= 0.0:
        return 0.0, 1.0
    low, high = ((ordered + shift) / pairs for shift in (-margin, margin))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
