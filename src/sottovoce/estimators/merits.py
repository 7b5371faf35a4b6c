"""How well a candidate predicts each record that was held out, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.data import cells
from sottovoce.data.targets import Range
from sottovoce.evaluation.rows import predicted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.arrays import Vector
    from sottovoce.data.persons import Persons


def merits(
    model: Any, target: tuple[float, float] | None, X: Any, y: NDArray[Any], people: Persons | None
) -> Vector:
    """From 0 (worst) to 1 (best), one a record; rows of persons keep their places. `target` is the declared
    range of a number, none of a class."""
    given = predicted(model.predict, X, people)
    if target is None:
        return cells.alike(given, y).astype(np.float64)
    bounds = Range.declare(target)
    truth, usable = bounds.encode(y)
    reached = np.clip(given.astype(np.float64), bounds.low, bounds.high)
    error = np.abs(reached - truth) / (bounds.high - bounds.low)
    return np.asarray(1.0 - np.where(usable, error, 1.0))
