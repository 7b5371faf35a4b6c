"""UCI Covertype: public data, encoded by public constants. See ATTRIBUTION.md beside this file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

NUMERIC = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
)
MINIMUM = (1859, 0, 0, 0, -173, 0, 0, 0, 0, 0)
MAXIMUM = (3858, 360, 66, 1397, 601, 7117, 254, 254, 254, 7173)
MEAN = (
    2959.365301,
    155.6568074,
    14.10370354,
    269.4282166,
    46.41885538,
    2350.146611,
    212.1460486,
    223.3187163,
    142.5282628,
    1980.291226,
)
DEVIATION = (
    279.9847343,
    111.913721,
    7.488241815,
    212.5493556,
    58.29523163,
    1559.25487,
    26.76988881,
    19.76869715,
    38.27452923,
    1324.19521,
)
WILDERNESS_AREAS = 4
SOIL_TYPES = 40
COVERS = ("pine", "spruce")
"""The two classes of the paper: cover types 2 and 1."""


@dataclass(frozen=True)
class Covertype:
    """The table as published: ten integers, two categories and a cover type from 1 to 7 a row."""

    numeric: NDArray[np.int16]
    wilderness: NDArray[np.integer]
    soil: NDArray[np.integer]
    cover: NDArray[np.integer]

    def two_classes(self) -> Covertype:
        """The 495,141 rows of cover types 1 (spruce) and 2 (pine), as in the paper."""
        return self.rows(self.cover <= 2)

    def rows(self, chosen: NDArray[np.bool_]) -> Covertype:
        return Covertype(self.numeric[chosen], self.wilderness[chosen], self.soil[chosen], self.cover[chosen])

    def held_out(self) -> NDArray[np.bool_]:
        """A fixed fifth of the rows, spread over the table by a multiplicative hash of the row number."""
        hashed = (np.arange(self.cover.size, dtype=np.uint64) * np.uint64(2654435761)) % np.uint64(2**32)
        return hashed < np.uint64(2**32 // 5)

    def table(self) -> pa.Table:
        """The columns that `declaration` names; the cover is "spruce" or "pine"."""
        import pyarrow as pa

        numbers = {name: self.numeric[:, place] for place, name in enumerate(NUMERIC)}
        kinds = {"Wilderness_Area": self.wilderness + 1, "Soil_Type": self.soil.astype(np.int16) + 1}
        return pa.table({**numbers, **kinds, "Cover": np.where(self.cover == 1, "spruce", "pine")})

    def bounded(self) -> NDArray[np.float32]:
        """55 columns of norm at most 1: numerics to [-1, 1] by declared bounds, indicators, intercept.

        Ten numerics, two indicators and the intercept are at most 1 each: over sqrt(13), none is clipped."""
        low, high = np.array(MINIMUM, np.float64), np.array(MAXIMUM, np.float64)
        scaled = 2.0 * (self.numeric - low) / (high - low) - 1.0
        ones = np.ones((self.cover.size, 1))
        return self._with_indicators(scaled, ones, divisor=math.sqrt(13.0))

    def standardized(self) -> NDArray[np.float32]:
        """The paper's 54 columns: numerics standardized by published constants, everything divided by 4."""
        scaled = (self.numeric - np.array(MEAN)) / np.array(DEVIATION)
        return self._with_indicators(scaled, np.empty((self.cover.size, 0)), divisor=4.0)

    def signs(self) -> NDArray[np.int8]:
        """+1 for cover type 1, -1 for every other."""
        return np.where(self.cover == 1, 1, -1).astype(np.int8)

    def _with_indicators(
        self, numeric: NDArray[np.float64], last: NDArray[np.float64], divisor: float
    ) -> NDArray[np.float32]:
        columns = numeric.shape[1]
        width = columns + WILDERNESS_AREAS + SOIL_TYPES + last.shape[1]
        table = np.zeros((self.cover.size, width), dtype=np.float32)
        table[:, :columns] = numeric / divisor
        row = np.arange(self.cover.size)
        table[row, columns + self.wilderness.astype(np.intp)] = 1.0 / divisor
        table[row, columns + WILDERNESS_AREAS + self.soil.astype(np.intp)] = 1.0 / divisor
        table[:, width - last.shape[1] :] = last / divisor
        return table


def declaration() -> dict[str, Any]:
    """What is declared of `table`, in the form of a schema file: published ranges and categories."""
    numbers = {
        name: {"type": "numeric", "low": low, "high": high}
        for name, low, high in zip(NUMERIC, MINIMUM, MAXIMUM, strict=True)
    }
    kinds = {
        name: {"type": "categorical", "categories": list(range(1, count + 1))}
        for name, count in (("Wilderness_Area", WILDERNESS_AREAS), ("Soil_Type", SOIL_TYPES))
    }
    return {"columns": {**numbers, **kinds}, "target": {"column": "Cover", "classes": list(COVERS)}}


def load() -> Covertype:
    """Read the embedded table."""
    with as_file(files("sottovoce.datasets") / "covtype.npz") as path, np.load(path) as stored:
        return Covertype(stored["Q"], stored["wild"], stored["soil"], stored["y"])
