"""Made-up rows of a declared table, to forecast with: no record enters, a schema has always the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sottovoce.arrays import Mask, Matrix, Vector
from sottovoce.data.columns import Column
from sottovoce.data.numbers import Spline
from sottovoce.data.schema import Schema

_RAREST = 0.05
"""Least frequency of a category, in units of the commonest."""


@final
@dataclass(frozen=True)
class Custom:
    """How tables are: the standard deviation of a number, in halves of its declared range, the correlation of
    any two columns, of categories that of the number whose bins they are, how frequent a category is in units
    of the one before it, and the share of cells that are missing or hold what is not declared."""

    spread: float
    correlation: float
    rarer: float
    absent: float


def made_up_rows(schema: Schema, custom: Custom, n: int = 2000) -> Matrix:
    """Encoded rows as a schema leads to expect them.

    Numbers are about normal around the middle of their range."""
    rng = np.random.default_rng(2026)
    shared = rng.normal(size=n)
    blocks = {}
    for column in schema.columns:
        own = rng.normal(size=n)
        scores = math.sqrt(custom.correlation) * shared + math.sqrt(1.0 - custom.correlation) * own
        blocks[column.name] = _block(column, scores, rng.random(n) < custom.absent, custom)
    pairs = [
        (blocks[first][:, :, None] * blocks[second][:, None, :]).reshape(n, -1)
        for first, second in schema.interactions
    ]
    return np.asarray(schema.unit * np.column_stack([*blocks.values(), *pairs, np.ones(n)]))


def _block(column: Column, scores: Vector, absent: Mask, custom: Custom) -> NDArray[np.float64]:
    """The encoded column of a record whose standard normal score is high or low."""
    n, size = len(scores), len(column.features)
    found = np.zeros((n, size))
    levels = size - column.indicator
    if column.one_hot:
        shares = np.maximum(custom.rarer ** np.arange(levels), _RAREST)
        ends = np.cumsum(shares / shares.sum())[:-1]
        found[np.arange(n), np.searchsorted(ends, ndtr(scores))] = 1.0
    else:
        numbers = np.clip(custom.spread * scores, -1.0, 1.0)
        if isinstance(column, Spline):
            found[:, :levels] = column.basis(column.at((1.0 + numbers) / 2.0))
        else:
            found[:, 0] = numbers
    found[absent] = 0.0
    if column.indicator:
        found[absent, -1] = 1.0
    return found
