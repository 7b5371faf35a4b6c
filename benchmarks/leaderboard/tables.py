"""Tables of the leaderboard: three from shared/data, and any other by its schema or as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

import sottovoce as sv
from benchmarks import adapt_problems as problems
from benchmarks.split import Split
from benchmarks.task import clipped
from sottovoce.data.schema import Schema

SEED = 77
"""Of the rows held out; of nothing else."""
MOST = 40_000
"""Rows to train on, so that a contest with tuned rivals ends within an hour of one core."""


@final
@dataclass(frozen=True, eq=False)
class Classification(Split):
    """Logistic regression; `constant`: the last column holds one number throughout."""

    constant: bool

    def risk(self) -> sv.Risk:
        records = sv.Records.from_arrays(self.X, self.y, labels=(-1, 1), constant=self.constant)
        return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))

    @cached_property
    def _signed(self) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.maximum(np.linalg.norm(self.X, axis=1), 1e-9)
        return self.X * self.y[:, None].astype(np.float32), lengths[:, None].astype(np.float32)

    def clipped_sum(self, chosen: Any, w: np.ndarray, clip: np.ndarray) -> np.ndarray:
        signed, lengths = (part[chosen] for part in self._signed)
        slopes = 1.0 / (1.0 + np.exp(np.clip(signed @ w.astype(np.float32), -30.0, 30.0)))
        slopes = np.minimum(slopes, (clip / lengths).astype(np.float32))
        return np.asarray(-(signed.T @ slopes), dtype=np.float64)

    def judge(self, w: np.ndarray) -> tuple[float, float]:
        """Log loss and accuracy on the rows held out."""
        margins = self.marks * (self.held @ w)
        return float(np.logaddexp(0.0, -margins).mean()), float(np.mean(margins > 0.0))


def split(name: str, X: np.ndarray, y: np.ndarray, constant: bool) -> Classification:
    """A fifth of the rows held out, at most 20,000, and at most MOST of the others to train on."""
    order = np.random.default_rng(SEED).permutation(len(y))
    held = order[: min(len(y) // 5, 20_000)]
    rest = order[len(held) :][:MOST]
    return Classification(name, X[rest], y[rest], X[held], y[held], 1.0 / len(rest), constant)


@cache
def named(name: str) -> Classification:
    if name == "covertype":
        whole = problems.covertype()
        return split(name, whole.X, whole.y, constant=False)
    if name == "ijcnn1":
        whole = problems.ijcnn1()
        return split(name, whole.X, whole.y, constant=False)
    whole = problems.adult()
    return Classification(name, whole.X, whole.y, whole.held, whole.marks, 1.0 / whole.n, True)


NAMES = ("adult", "ijcnn1", "covertype")


@cache
def given(argument: str) -> Classification:
    """`name=path.csv:schema.toml`, or `name=path.npz` with X and y of signs; rows are clipped to norm 1."""
    name, _, path = argument.partition("=")
    if path.endswith(".npz"):
        with np.load(path) as stored:
            return split(name, clipped(stored["X"]), stored["y"].astype(int), constant=False)
    table, _, declared = path.rpartition(":")
    schema = Schema.load(Path(declared))
    if schema.target is None or len(schema.target.classes or ()) != 2:
        raise SystemExit(f"{declared} must declare a target of two classes")
    import pandas as pd

    frame = pd.read_csv(table, skipinitialspace=True)
    X = sv.BoundedEncoder(schema).transform(frame)
    second = str(schema.target.classes[1])
    y = np.where(frame[schema.target.name].astype(str).str.strip() == second, 1, -1)
    return split(name, np.asarray(X, dtype=np.float32), y, constant=True)
