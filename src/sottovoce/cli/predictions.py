"""Predictions of a model as a CSV file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sottovoce.model import Model


def as_csv(model: Model, rows: NDArray[np.floating[Any]]) -> bytes:
    """The prediction for each encoded row and, where the model gives them, the probability of each class."""
    import pyarrow as pa
    from pyarrow import csv

    columns: dict[str, Any] = {"prediction": pa.array(model.predict(rows).tolist())}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(rows)
        for place, label in enumerate(model.classes_.tolist()):
            columns[f"probability of {label}"] = chances[:, place]
    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table(columns), sink)
    return bytes(sink.getvalue())
