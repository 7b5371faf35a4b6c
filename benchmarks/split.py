"""Rows to train on and rows held out: what every table of a contest has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Split:
    """`X` and `y` to train on, `held` and `marks` to judge by, and the delta of every promise."""

    name: str
    X: np.ndarray
    y: np.ndarray
    held: np.ndarray
    marks: np.ndarray
    delta: float

    @property
    def n(self) -> int:
        return len(self.y)
