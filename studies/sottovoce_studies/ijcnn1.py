"""IJCNN1, read from a file the user has: it may not be redistributed. Encoded by public constants."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "SOTTOVOCE_DATA"
"""Environment variable that names the folder holding ijcnn1.npz."""
INDICATORS = 10
MEAN = (
    -0.08357649655,
    0.3179427025,
    -3.21824087e-05,
    -3.219835189e-05,
    -3.217610744e-05,
    -3.222025627e-05,
    -3.231069434e-05,
    -3.248370896e-05,
    -3.272223667e-05,
    -3.292045632e-05,
    -3.32162555e-05,
    -3.276122451e-05,
)
DEVIATION = (
    0.372672815,
    0.1579768094,
    0.1527695803,
    0.1527695803,
    0.1527695804,
    0.1527695774,
    0.1527695852,
    0.1527695624,
    0.1527695586,
    0.1527695633,
    0.1527695281,
    0.1527694407,
)


@dataclass(frozen=True)
class Ijcnn1:
    """The training rows: ten indicators and twelve numbers each, with a sign."""

    table: NDArray[np.float32]
    labels: NDArray[np.int8]

    def standardized(self) -> NDArray[np.float32]:
        """The paper's 22 columns: numbers standardized by public constants, everything divided by 3."""
        scaled: NDArray[Any] = self.table.astype(np.float64)
        scaled[:, INDICATORS:] = (scaled[:, INDICATORS:] - np.array(MEAN)) / np.array(DEVIATION)
        return (scaled / 3.0).astype(np.float32)

    def signs(self) -> NDArray[np.int8]:
        return self.labels


def load(path: str | os.PathLike[str]) -> Ijcnn1:
    """Read `ijcnn1.npz` with arrays X_train and y_train, from its own path or from the folder it lies in."""
    file = Path(path)
    if file.is_dir():
        file = file / "ijcnn1.npz"
    try:
        with np.load(file) as stored:
            return Ijcnn1(stored["X_train"], stored["y_train"])
    except (OSError, KeyError, ValueError):
        raise DataError(
            f"{file} cannot be read as IJCNN1: an .npz file with arrays X_train (n, 22) and y_train."
        ) from None
