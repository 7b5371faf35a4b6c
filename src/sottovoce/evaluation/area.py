"""The area under the ROC curve of two classes, from two noisy numbers that one record moves little.

U counts the pairs of a positive and a negative that are in order, ties half; P counts positives. The area is
U / (P (n - P)), and where one class is rare one record can move it by any amount, so it is not released.
U/n and P are. What one record, or one person counting 1, has to do with U is at most its own part times the
others of the other class, and a quarter for pairs within a person: between 0 and n - 1 + 1/4. So U/n moves by
at most 1, and so does P.

Bounds: let A be the area and e, f the noise of U/n and P. At the noisy numbers
U/n - A P (n - P)/n = e - A (1 - 2 P/n) f + A f^2/n, the first two terms Gaussian with a standard deviation
that P bounds, the last as small as f^2/n. Where n was declared, and not all of them need be there, how many
are is a third number, moving by at most 1 as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.evaluation.figures import AREA, Estimate, level_margin, sampling_margin
from sottovoce.evaluation.private_evaluation import Figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting import Units
    from sottovoce.arrays import Vector
    from sottovoce.evaluation.private_evaluation import PrivateEvaluation

SCORES = 2**20
"""Probabilities are read in so many bins of equal width; pairs within one are ties."""

STEPS = 2**20
"""One record in U/n, P and n is so many whole steps."""

_PRODUCTS = 0.1
"""Part of the error allowed for that products of two noises may use."""


def require_two_classes(test: PrivateEvaluation) -> NDArray[np.intp]:
    """Refuse what needs no charge to refuse; the place of each label among the classes."""
    if len(test.classes) != 2:
        raise ParameterError("the area under the ROC curve is one of two classes. Use confusion_matrix.")
    test.require_probabilities()
    return test.codes()


def area(test: PrivateEvaluation, units: Units) -> Estimate:
    """The area with bounds. Floors and rounded products move each number by less than 3 steps more."""
    codes, people, n = require_two_classes(test), test.persons, test.n
    counted = people is None or not people.declared
    numbers = 2 if counted else 3

    def compute() -> Vector:
        bins = np.clip((test.chances()[:, 1] * SCORES).astype(np.intp), 0, SCORES - 1)
        unit = 2 ** min(40, 61 - n.bit_length())
        parts = np.ones(test.rows) if people is None else people.shares()
        held = np.floor(parts * unit).astype(np.int64)
        by_class = np.zeros((2, SCORES), dtype=np.int64)
        np.add.at(by_class, (codes, bins), held)
        negatives, positives = by_class
        found = int(positives.sum()), int(by_class.sum())
        return np.array(
            [
                math.floor(in_order(negatives, positives) / (n * float(unit)) / unit * STEPS),
                *(amount * STEPS // unit for amount in found[: numbers - 1]),
            ],
            dtype=np.float64,
        )

    sensitivity = math.sqrt(numbers) * (STEPS + 3.0) * (1.0 + 2.0**-50)
    noisy, scale = test.oracle.counts(compute, sensitivity, numbers, units, Figure(AREA))
    return _bounded(noisy / (STEPS * n), scale / (STEPS * n), n, test.confidence)


def in_order(negatives: NDArray[np.int64], positives: NDArray[np.int64]) -> float:
    """Sum over bins of positives times negatives below, and half of those of the bin; exactly rounded sums
    of rounded products."""
    some = np.flatnonzero(positives)
    below = (2 * np.cumsum(negatives) - negatives)[some].astype(np.float64)
    return 0.5 * math.fsum((positives[some].astype(np.float64) * below).tolist())


def _bounded(noisy: Vector, scale: float, n: int, confidence: float) -> Estimate:
    """All numbers as parts of n."""
    error = 1.0 - confidence
    ordered, positive = float(noisy[0]), float(noisy[1])
    present = float(noisy[2]) if noisy.size > 2 else 1.0
    pairs = positive * (present - positive)
    margin = _margin(noisy, scale, error)
    surely = present - (_far(noisy, scale, error / 2.0) if noisy.size > 2 else 0.0)
    people = max(1, math.floor(n * surely))
    wider = _margin(noisy, scale, error / 2.0) + _sampled(people, error / 2.0)
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
    return level_margin(deviation, error * (1.0 - _PRODUCTS)) + several * far**2 + 9.0 / STEPS


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
