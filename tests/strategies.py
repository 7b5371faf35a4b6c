"""Hypothesis strategies: neighbouring data sets built to move a query as far as it can go.

A record is placed by its margin along the weights and by its direction across them, because these decide its
loss and derivatives; the replacement is unrelated, equal, opposite, mirrored, orthogonal, flipped or zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from sottovoce import losses
from sottovoce.arrays import Matrix, Vector
from sottovoce.losses import Kind, Loss

attack = settings(max_examples=60, deadline=None, derandomize=True)

TARGET = (-3.0, 3.0)
LABELS = (-1, 1)

_WITH_PARAMETERS: tuple[Loss, ...] = (
    losses.SoftplusHinge(sharpness=2.0),
    losses.SoftplusHinge(sharpness=7.0),
    losses.PseudoHuber(1.0),
    losses.PseudoHuber(0.4),
    losses.GemanMcClure(1.5),
    losses.Welsch(0.8),
)


def _losses(kind: Kind) -> tuple[Loss, ...]:
    """Every loss of the package of this kind: with the parameters above, or else its defaults."""
    listed = {type(loss) for loss in _WITH_PARAMETERS}
    plain = [loss() for loss in losses.BY_NAME.values() if loss not in listed and loss.kind is kind]
    return (*plain, *(loss for loss in _WITH_PARAMETERS if loss.kind is kind))


MARGIN_LOSSES, RESIDUAL_LOSSES = _losses(Kind.MARGIN), _losses(Kind.RESIDUAL)
ALL_LOSSES = MARGIN_LOSSES + RESIDUAL_LOSSES
"""A loss that joins `losses.BY_NAME` is attacked by every test that is over these."""


@dataclass(frozen=True)
class Neighbours:
    """Two data sets that differ in the record at `place`, and public weights at which to compare them."""

    features: Matrix
    targets: Vector
    other_features: Matrix
    other_targets: Vector
    place: int
    weights: Vector
    radius: float

    @property
    def n(self) -> int:
        return len(self.targets)

    @property
    def weight_norm(self) -> float:
        return float(np.linalg.norm(self.weights))

    @property
    def sides(self) -> tuple[tuple[Matrix, Vector], tuple[Matrix, Vector]]:
        """(X, y) of each data set."""
        return (self.features, self.targets), (self.other_features, self.other_targets)

    @property
    def pair(self) -> tuple[tuple[Vector, float], tuple[Vector, float]]:
        """The record that goes and the one that comes."""
        (a, b), (c, d) = ((X[self.place], float(y[self.place])) for X, y in self.sides)
        return (a, b), (c, d)


def weight_norms() -> st.SearchStrategy[float]:
    """From zero to where every margin is extreme."""
    return st.one_of(
        st.sampled_from([0.0, 1e-9, 1.0, 4.0, 30.0, 1e4, 1e6]),
        st.floats(-3.0, 3.0).map(lambda power: 10.0**power),
    )


@st.composite
def weights(draw: st.DrawFn, dim: int) -> Vector:
    """Along an axis or anywhere."""
    return draw(weight_norms()) * draw(_directions(dim))


@st.composite
def neighbours(
    draw: st.DrawFn, *, kind: Kind = Kind.MARGIN, most: int = 5, most_columns: int = 4
) -> Neighbours:
    """A pair of data sets with labels -1, +1 or targets within TARGET."""
    dim = draw(st.integers(1, most_columns))
    n = draw(st.integers(1, most))
    radius = draw(st.sampled_from([1.0, 0.1, 3.0]))
    w = draw(weights(dim))
    features = np.array([draw(_row(w, radius)) for _ in range(n)])
    targets = np.array([draw(_target(kind)) for _ in range(n)])
    place = draw(st.integers(0, n - 1))
    other_features, other_targets = features.copy(), targets.copy()
    other_features[place] = draw(_replacement(features[place], w, radius))
    other_targets[place] = draw(st.one_of(_target(kind), st.just(-targets[place])))
    return Neighbours(features, targets, other_features, other_targets, place, w, radius)


@st.composite
def _directions(draw: st.DrawFn, dim: int) -> Vector:
    if draw(st.booleans()):
        axis = np.zeros(dim)
        axis[draw(st.integers(0, dim - 1))] = draw(st.sampled_from([-1.0, 1.0]))
        return axis
    return _unit(_normal(draw(_seeds()), dim))


@st.composite
def _row(draw: st.DrawFn, w: Vector, radius: float) -> Vector:
    """Zero, short, or on the sphere with a margin of choice."""
    shape = draw(st.sampled_from(["zero", "short", "margin", "margin", "margin", "along", "across"]))
    if shape == "zero":
        return np.zeros_like(w)
    direction = draw(_directions(len(w)))
    if shape == "short":
        return draw(st.floats(0.0, 1.0)) * radius * direction
    norm = float(np.linalg.norm(w))
    if norm == 0.0:
        return radius * direction
    along = w / norm
    across = _unit(direction - (direction @ along) * along)
    share = {"along": draw(st.sampled_from([-1.0, 1.0])), "across": 0.0}.get(
        shape, draw(st.floats(-8.0, 8.0)) / (radius * norm)
    )
    share = min(1.0, max(-1.0, share))
    return radius * (share * along + math.sqrt(1.0 - share * share) * across)


@st.composite
def _replacement(draw: st.DrawFn, row: Vector, w: Vector, radius: float) -> Vector:
    other = draw(_row(w, radius))
    norm = float(np.linalg.norm(w))
    along = w / norm if norm > 0.0 else w
    length = float(np.linalg.norm(row))
    choices: dict[str, Any] = {
        "unrelated": other,
        "equal": row,
        "opposite": -row,
        "mirrored": 2.0 * (row @ along) * along - row,
        "orthogonal": length * _unit(other - (other @ row) / max(length**2, 1e-300) * row),
        "zero": np.zeros_like(row),
    }
    return np.asarray(choices[draw(st.sampled_from(sorted(choices)))])


def _target(kind: Kind) -> st.SearchStrategy[float]:
    if kind is Kind.MARGIN:
        return st.sampled_from([-1.0, 1.0])
    return st.one_of(st.sampled_from([TARGET[0], 0.0, TARGET[1]]), st.floats(*TARGET))


def _seeds() -> st.SearchStrategy[int]:
    return st.integers(0, 2**32 - 1)


def _normal(seed: int, dim: int) -> Vector:
    return np.random.default_rng(seed).normal(size=dim)


def _unit(v: Vector) -> Vector:
    """Zero stays zero, and what is zero but for rounding becomes zero."""
    norm = float(np.linalg.norm(v))
    return v / norm if norm > 1e-12 else np.zeros_like(v)
