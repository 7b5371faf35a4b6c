"""Regression tables: made-up ones, and Covertype's elevation from its other columns. Targets in [-1, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, final

import numpy as np

import sottovoce as sv
from benchmarks import adapt_problems as problems
from benchmarks.leaderboard.tables import MOST, SEED
from benchmarks.split import Split
from benchmarks.task import clipped
from sottovoce.datasets import covertype

NAMES = ("made-up", "elevation")


@final
@dataclass(frozen=True, eq=False)
class Regression(Split):
    """Rows whose last column is constant; ours fits the regressor's default loss, rivals squares."""

    def risk(self) -> sv.Risk:
        records = sv.Records.from_arrays(self.X, self.y, target=(-1.0, 1.0), constant=True)
        return sv.Risk(records, sv.losses.PseudoHuber(1.0), sv.regularizers.L2(1e-6))

    @cached_property
    def _lengths(self) -> np.ndarray:
        return np.maximum(np.linalg.norm(self.X, axis=1), 1e-9)[:, None].astype(np.float32)

    def clipped_sum(self, chosen: Any, w: np.ndarray, clip: np.ndarray) -> np.ndarray:
        rows, limit = self.X[chosen], (clip / self._lengths[chosen]).astype(np.float32)
        residuals = rows @ w.astype(np.float32) - self.y[chosen, None].astype(np.float32)
        return np.asarray(rows.T @ np.clip(residuals, -limit, limit), dtype=np.float64)

    def judge(self, w: np.ndarray) -> tuple[float, float]:
        """Mean squared error on the rows held out, and the share of variance explained."""
        error = float(np.mean((self.held @ w - self.marks) ** 2))
        return error, 1.0 - error / float(np.var(self.marks))


@cache
def named(name: str) -> Regression:
    if name == "made-up":
        whole = problems.regression("unequal")
        return Regression(name, whole.X, whole.y / 5.0, whole.held, whole.marks / 5.0, 1.0 / whole.n)
    table = covertype.load()
    X = table.bounded()
    height = X[:, 0] / np.abs(X[:, -1]).max()
    order = np.random.default_rng(SEED).permutation(len(X))[: MOST + 20_000]
    # Of the thirteen entries that `bounded` makes room for, elevation leaves twelve.
    X, y = (
        clipped(X[order][:, 1:] * np.sqrt(13.0 / 12.0)),
        np.clip(height[order].astype(np.float64), -1.0, 1.0),
    )
    return Regression(name, X[:MOST], y[:MOST], X[MOST:], y[MOST:], 1.0 / MOST)
