"""Names for the arrays that travel between rooms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
