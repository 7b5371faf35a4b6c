"""The area under the ROC curve of two classes, from two noisy numbers that one record moves little.

U counts the pairs of a positive and a negative that are in order, ties half; P counts positives. The area is
U / (P (n - P)), and where one class is rare one record can move it by any amount, so it is not released.
U/n and P are. What one record, or one person counting 1, has to do with U is at most its own part times the
others of the other class, and a quarter for pairs within a person: between 0 and n - 1 + 1/4. So U/n moves by
at most 1, and so does P.
Where n was declared, and not all of them need be there, how many are is a third number, moving by at most 1
as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.evaluation.area_interval import bounded
from sottovoce.evaluation.figures import AREA
from sottovoce.evaluation.private_evaluation import Figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting import Units
    from sottovoce.arrays import Vector
    from sottovoce.evaluation.figures import Estimate
    from sottovoce.evaluation.private_evaluation import PrivateEvaluation

SCORES = 2**20
"""Probabilities are read in so many bins of equal width; pairs within one are ties."""

STEPS = 2**20
"""One record in U/n, P and n is so many whole steps."""


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
    return bounded(noisy / (STEPS * n), scale / (STEPS * n), n, test.confidence, 9.0 / STEPS)


def in_order(negatives: NDArray[np.int64], positives: NDArray[np.int64]) -> float:
    """Sum over bins of positives times negatives below, and half of those of the bin; exactly rounded sums
    of rounded products."""
    some = np.flatnonzero(positives)
    below = (2 * np.cumsum(negatives) - negatives)[some].astype(np.float64)
    return 0.5 * math.fsum((positives[some].astype(np.float64) * below).tolist())
