"""Predictions of a model as a CSV file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.data import arrow
from sottovoce.data.cell import spelled

if TYPE_CHECKING:
    from sottovoce.model import Model

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_csv(model: Model, rows: NDArray[np.floating[Any]]) -> bytes:
    """The prediction for each encoded row and, where the model gives them, the probability of each class.

    Text that a spreadsheet would take for a formula is written with an apostrophe before it."""
    columns: dict[str, Any] = {"prediction": _column(model.predict(rows))}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(rows)
        for place, label in enumerate(model.classes_.tolist()):
            columns[f"probability of {label}"] = arrow.numbers(chances[:, place])
    return _written(columns)


def survival_csv(grid: tuple[float, ...], chances: NDArray[np.floating[Any]]) -> bytes:
    """The chance of each row to live past the end of each interval."""
    columns = zip(grid, chances.T, strict=True)
    return _written({f"survival past {end:g}": arrow.numbers(np.array(part)) for end, part in columns})


def _written(columns: dict[str, Any]) -> bytes:
    import pyarrow as pa
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table(columns), sink)
    return bytes(sink.getvalue())


def _column(predicted: NDArray[Any]) -> Any:
    if predicted.dtype.kind == "b":
        return arrow.flags(predicted)
    if predicted.dtype.kind in "iuf":
        return arrow.numbers(predicted)
    return arrow.texts([_harmless(cell) for cell in predicted.tolist()])


def _harmless(cell: str) -> str:
    """Text that spells a number stays as it is."""
    risky = cell.startswith(_FORMULA) and math.isnan(spelled(cell))
    return f"'{cell}" if risky else cell
