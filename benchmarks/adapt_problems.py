"""The tables of benchmarks.adapt: real ones by public constants, made-up ones by fixed seeds."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize

import sottovoce as sv
from benchmarks.split import Split
from benchmarks.task import clipped
from benchmarks.utility import minimum, records
from sottovoce.data.columns import Categorical, Column, Target
from sottovoce.data.numbers import Numeric
from sottovoce.data.schema import Schema
from sottovoce.datasets import covertype as forest

FOLDER = Path(os.environ.get("SOTTOVOCE_DATA", "/work/shared/data"))
RIDGE = 1e-6
SMALL = ("made30", "made2", "covertype3000", "adult3000", "covertype10000", "adult10000")
SMALL_EPSILONS = (0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True, eq=False)
class Table(Split):
    """Rows to train on and rows held out; `constant`: the last column holds one number throughout."""

    constant: bool = False
    loss: Any = field(default_factory=sv.losses.Logistic)
    target: tuple[float, float] | None = None
    classes: int = 2
    radius: float = 1.0
    indicators: tuple[tuple[int, int], ...] = ()

    @cached_property
    def risk(self) -> Any:
        declared: dict[str, Any] = {"labels": (-1, 1)} if self.target is None else {"target": self.target}
        if self.classes > 2:
            declared = {"labels": tuple(range(self.classes))}
        declared |= {"constant": self.constant, "radius": self.radius, "indicators": self.indicators}
        held = sv.Records.from_arrays(self.X, self.y, **declared)
        penalty = sv.regularizers.L2(RIDGE)
        return sv.SoftmaxRisk(held, penalty) if self.classes > 2 else sv.Risk(held, self.loss, penalty)

    @cached_property
    def best(self) -> tuple[np.ndarray, float]:
        return minimum(self.risk)

    def judge(self, w: np.ndarray) -> dict[str, float]:
        if self.classes > 2:
            scores = self.held @ w.reshape(self.classes, -1).T
            return {"accuracy": float(np.mean(scores.argmax(axis=1) == self.marks))}
        predicted = self.held @ w
        if self.target is not None:
            return {"error": float(np.mean((predicted - self.marks) ** 2))}
        found = {
            "loss": float(np.logaddexp(0.0, -self.marks * predicted).mean()),
            "accuracy": float(np.mean((predicted > 0.0) == (self.marks > 0))),
        }
        if self.n > 20_000:
            found["excess"] = self.risk.value(w) - self.best[1]
        return found


def fitted(risk: Any) -> np.ndarray:
    """Weights that exact descent from zero ends at, convex or not."""
    start = np.zeros(risk.dim)
    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10}
    return optimize.minimize(risk.value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x


def covertype(chosen: slice = slice(None)) -> Table:
    """All 495,141 rows of two cover types, rows clipped to norm 1, as in the study."""
    table = forest.load().two_classes()
    X, y = clipped(table.standardized()), table.signs()
    return Table("covertype", X[chosen], y[chosen], X[:1000], y[:1000], 1.0 / len(y))


def ijcnn1() -> Table:
    held = records("ijcnn1")
    blocks = [held._rows.block(index) for index in range(held._rows.blocks)]
    X, y = (np.concatenate([getattr(each, part) for each in blocks]) for part in ("features", "targets"))
    return Table("ijcnn1", X, y.astype(int), X[:1000], y[:1000], 1.0 / len(y))


def adult_schema(frame: Any) -> Schema:
    """Declared bounds; the categories as the documentation of the data lists them."""
    bounds = {
        "age": (17, 90),
        "education-num": (1, 16),
        "capital-gain": (0, 99999),
        "capital-loss": (0, 4356),
        "hours-per-week": (1, 99),
    }
    words = [name for name in frame if name not in (*bounds, "fnlwgt", "Y", "education")]
    columns: list[Column] = [Numeric(name, *limits) for name, limits in bounds.items()]
    columns += [Categorical(name, tuple(sorted(set(frame[name]) - {"?"}))) for name in words]
    return Schema(tuple(columns), Target("Y", classes=("<=50K", ">50K")))


def adult_frames() -> list[Any]:
    """Rows to train on and rows held out, spaces trimmed."""
    import pandas as pd

    return [pd.read_csv(FOLDER / f"{name}.csv.gz", skipinitialspace=True) for name in ("adult", "adult-test")]


def adult() -> Table:
    frames = adult_frames()
    encoder = sv.BoundedEncoder(adult_schema(frames[0]))
    X, held = (encoder.transform(frame) for frame in frames)
    y, marks = (np.where(frame["Y"].str.startswith(">50K"), 1, -1) for frame in frames)
    return Table("adult", X, y, held, marks, 1e-6, constant=True)


def small(name: str, seed: int = 2000) -> Table:
    """A subsample, or 5,000 rows of 20 columns of equal scale whose log odds have variance 30 or 2."""
    rng = np.random.default_rng(seed)
    if name.startswith("made"):
        X = rng.standard_normal((25_000, 20))
        w = rng.standard_normal(20)
        t = X @ w * (np.sqrt(float(name[4:])) / np.linalg.norm(w))
        y = np.where(rng.random(t.size) < 1.0 / (1.0 + np.exp(-t)), 1, -1)
        X = clipped(np.column_stack([X / np.sqrt(20.0) / 1.2, np.full(t.size, 0.25)]))
        return Table(name, X[:5000], y[:5000], X[5000:15_000], y[5000:15_000], 1e-5, constant=True)
    n = int(name.lstrip("covertypadul"))
    if name.startswith("adult"):
        whole = adult()
        chosen = rng.permutation(whole.n)[:n]
        return Table(name, whole.X[chosen], whole.y[chosen], whole.held, whole.marks, 1e-5, constant=True)
    whole = covertype()
    chosen = rng.permutation(whole.n)[: n + 10_000]
    X, y = whole.X[chosen], whole.y[chosen]
    return Table(name, X[:n], y[:n], X[n:], y[n:], 1e-5)


def rescaled(column: str | None = None, *, end: bool = False, declared: bool = True) -> Table:
    """Covertype by declared bounds, one column shrunk to a twentieth of its range, in the middle or at the
    end; `declared`: which columns are the indicators of one category each, as a schema says."""
    table = forest.load().two_classes()
    X, y = table.bounded(), table.signs()
    if column is not None:
        place = forest.NUMERIC.index(column)
        X[:, place] = X[:, place] / 20.0 + (0.95 * float(X[0, -1]) if end else 0.0)
    name = "as it is" if column is None else f"{column} {'at the end' if end else 'in a twentieth'}"
    numbers, areas = len(forest.NUMERIC), len(forest.NUMERIC) + forest.WILDERNESS_AREAS
    blocks = ((numbers, areas), (areas, areas + forest.SOIL_TYPES)) if declared else ()
    name += "" if declared else ", indicators not declared"
    return Table(name, X, y, X[:1000], y[:1000], 1.0 / len(y), constant=True, indicators=blocks)


def trap(seed: int = 2000) -> Table:
    """Ten uniform columns and five categories of 0.1 % each among 200,000 rows."""
    rng = np.random.default_rng(seed)
    U, rare = rng.uniform(-1.0, 1.0, (200_000, 10)), rng.random(200_000)
    kinds = np.stack([(rare >= 0.001 * j) & (rare < 0.001 * (j + 1)) for j in range(5)], axis=1).astype(float)
    t = U @ rng.standard_normal(10) + kinds @ (2.0 * rng.standard_normal(5)) + 0.3
    y = np.where(rng.random(t.size) < 1.0 / (1.0 + np.exp(-t)), 1, -1)
    X = clipped(np.column_stack([U, kinds, np.ones(t.size)]) / np.sqrt(12.0))
    return Table("trap", X, y, X[:1000], y[:1000], 1e-6, constant=True)


def strong(seed: int = 2000) -> Table:
    """100,000 rows whose log odds have variance 18."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100_000, 20))
    w = rng.standard_normal(20)
    t = X @ w * (np.sqrt(18.0) / np.linalg.norm(w))
    y = np.where(rng.random(t.size) < 1.0 / (1.0 + np.exp(-t)), 1, -1)
    X = clipped(np.column_stack([X / np.sqrt(20.0) / 1.2, np.full(t.size, 0.25)]))
    return Table("strong", X, y, X[:1000], y[:1000], 1e-6, constant=True)


def seven() -> Table:
    """All seven cover types by declared bounds; the fifth that `held_out` names is held out."""
    table = forest.load()
    X, y, held = table.bounded(), (table.cover - 1).astype(int), table.held_out()
    return Table("seven cover types", X[~held], y[~held], X[held], y[held], 1e-6, True, classes=7)


def pixels() -> Table:
    """Fashion-MNIST as Debian's dataset-fashion-mnist holds it, encoded by the declared range of a pixel."""
    folder = Path("/usr/share/datasets/fashion-mnist")
    parts = []
    for name in ("train", "t10k"):
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz") as held:
            images = np.frombuffer(held.read(), dtype=np.uint8, offset=16).reshape(-1, 784)
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz") as held:
            marks = np.frombuffer(held.read(), dtype=np.uint8, offset=8).astype(int)
        scaled = np.column_stack([images.astype(np.float32) / 127.5 - 1.0, np.ones(len(images))])
        parts.append(((scaled / np.sqrt(785.0)).astype(np.float32), marks))
    (X, y), (held_out, marks) = parts
    return Table("pixels", X, y, held_out, marks, 1e-5, True, classes=10)
