"""The task every contender is given: logistic regression on Covertype, rows clipped to norm 1, L2 1e-6."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

import sottovoce as sv
from benchmarks.utility import minimum
from sottovoce.datasets import covertype

RIDGE = 1e-6


def clipped(X: np.ndarray) -> np.ndarray:
    """Rows of norm at most 1, in float32."""
    wide = X.astype(np.float64)
    wide /= np.maximum(1.0, np.linalg.norm(wide, axis=1))[:, None]
    return wide.astype(np.float32)


def accuracy(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return float(np.mean((X @ w > 0.0) == (y > 0)))


@final
@dataclass(frozen=True, eq=False)
class Task:
    """Training rows and signs, and rows held out, which may be none; delta is 1/n.

    What `judge` says is exact and for the study only: the data are public."""

    X: np.ndarray
    y: np.ndarray
    test_rows: np.ndarray
    test_signs: np.ndarray

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def dim(self) -> int:
        return int(self.X.shape[1])

    @property
    def delta(self) -> float:
        return 1.0 / self.n

    @cached_property
    def risk(self) -> sv.Risk:
        records = sv.Records.from_arrays(self.X, self.y, labels=(-1, 1))
        return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(RIDGE))

    @cached_property
    def signed(self) -> np.ndarray:
        """y x for every record."""
        return self.X * self.y[:, None].astype(np.float32)

    @cached_property
    def best(self) -> tuple[np.ndarray, float]:
        """The minimizer and the smallest risk, not private."""
        return minimum(self.risk)

    def excess(self, w: np.ndarray) -> float:
        return self.risk.value(w) - self.best[1]

    def judge(self, w: np.ndarray) -> dict[str, float]:
        if not len(self.test_signs):
            return {"excess": self.excess(w)}
        margins = self.test_signs * (self.test_rows @ w)
        return {
            "excess": self.excess(w),
            "loss": float(np.logaddexp(0.0, -margins).mean()),
            "accuracy": accuracy(self.test_rows, self.test_signs, w),
        }


def whole() -> Task:
    """All 495,141 rows of two cover types."""
    table = covertype.load().two_classes()
    X, y = clipped(table.standardized()), table.signs()
    return Task(X, y, X[:0], y[:0])


def split() -> Task:
    """Four fifths to train on; the fifth that `held_out` names to test on."""
    table = covertype.load().two_classes()
    X, y, held = clipped(table.standardized()), table.signs(), table.held_out()
    return Task(X[~held], y[~held], X[held], y[held])
