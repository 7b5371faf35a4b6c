"""The area under the ROC curve of two classes, from two noisy numbers that one record moves little.

U counts the pairs of a positive and a negative that are in order, ties half; P counts positives. The area is
U / (P (n - P)), and where one class is rare one record can move it by any amount, so it is not released.
U/n and P are (`privacy/counting.py`), and how many records there are where their number was declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.errors import ParameterError
from sottovoce.evaluation.area_interval import bounded
from sottovoce.evaluation.figures import AREA
from sottovoce.evaluation.private_evaluation import Figure
from sottovoce.privacy.counting import STEPS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.accounting import Units
    from sottovoce.evaluation.figures import Estimate
    from sottovoce.evaluation.private_evaluation import PrivateEvaluation


def require_two_classes(test: PrivateEvaluation) -> NDArray[np.intp]:
    """Refuse what needs no charge to refuse; the place of each label among the classes."""
    if len(test.classes) != 2:
        raise ParameterError("the area under the ROC curve is one of two classes. Use confusion_matrix.")
    test.require_probabilities()
    return test.codes()


def area(test: PrivateEvaluation, units: Units) -> Estimate:
    """The area with bounds."""
    codes, n = require_two_classes(test), test.n
    noisy, scale = test.oracle.pairs(test.counted, lambda: test.chances()[:, 1], codes, units, Figure(AREA))
    return bounded(noisy / n, scale / n, n, test.confidence, rounding=9.0 / STEPS)
