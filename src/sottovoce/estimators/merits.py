"""How well a candidate predicts each record that was held out, in whole steps, each record by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.data import cells
from sottovoce.data.targets import Range
from sottovoce.evaluation.private_evaluation import STEPS
from sottovoce.evaluation.rows import predicted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.arrays import Vector
    from sottovoce.data.persons import Persons


def merits(
    model: Any, target: tuple[float, float] | None, X: Any, y: NDArray[Any], people: Persons | None
) -> Vector:
    """Whole numbers from 0 (worst) to STEPS (best), one a record; rows of persons keep their places. `target`
    is the declared range of a number, none of a class."""
    given = predicted(model.predict, X, people)
    if target is None:
        return STEPS * cells.alike(given, y).astype(np.float64)
    bounds = Range.declare(target)
    truth, usable = bounds.encode(y)
    reached = np.clip(given.astype(np.float64), bounds.low, bounds.high)
    error = np.abs(reached - truth) / (bounds.high - bounds.low)
    return np.rint(STEPS * np.clip(1.0 - np.where(usable, error, 1.0), 0.0, 1.0))
