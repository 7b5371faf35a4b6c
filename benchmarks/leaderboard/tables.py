"""Tables of the leaderboard: three from shared/data, and any other by its schema or as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import final

import numpy as np

import sottovoce as sv
from benchmarks import adapt_problems as problems
from benchmarks.task import clipped
from sottovoce.data.schema import Schema

SEED = 77
"""Of the rows held out; of nothing else."""
MOST = 100_000
"""Rows to train on: a contest with tuned rivals on more takes days."""


@final
@dataclass(frozen=True, eq=False)
class Board:
    """Rows of norm at most 1 with signs, rows held out, and delta; `constant`: the last column is."""

    name: str
    X: np.ndarray
    y: np.ndarray
    held: np.ndarray
    marks: np.ndarray
    delta: float
    constant: bool

    @property
    def n(self) -> int:
        return len(self.y)

    def risk(self) -> sv.Risk:
        records = sv.Records.from_arrays(self.X, self.y, labels=(-1, 1), constant=self.constant)
        return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))

    def judge(self, w: np.ndarray) -> tuple[float, float]:
        """Log loss and accuracy on the rows held out: exact, so for public tables only."""
        margins = self.marks * (self.held @ w)
        return float(np.logaddexp(0.0, -margins).mean()), float(np.mean(margins > 0.0))


def split(name: str, X: np.ndarray, y: np.ndarray, constant: bool) -> Board:
    """A fifth of the rows held out, at most 20,000, and at most MOST of the others to train on."""
    order = np.random.default_rng(SEED).permutation(len(y))
    held = order[: min(len(y) // 5, 20_000)]
    rest = order[len(held) :][:MOST]
    return Board(name, X[rest], y[rest], X[held], y[held], 1.0 / len(rest), constant)


@cache
def named(name: str) -> Board:
    if name == "covertype":
        whole = problems.covertype()
        return split(name, whole.X, whole.y, constant=False)
    if name == "ijcnn1":
        whole = problems.ijcnn1()
        return split(name, whole.X, whole.y, constant=False)
    whole = problems.adult()
    return Board(name, whole.X, whole.y, whole.held, whole.marks, 1.0 / whole.n, True)


NAMES = ("adult", "ijcnn1", "covertype")


@cache
def given(argument: str) -> Board:
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
