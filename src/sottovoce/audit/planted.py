"""Canaries for an audit by one run: made-up records, alone or planted among the rows of a table.

Each has a column of its own, which no other record touches, so that no other record hides its coin. Among
the rows of a table they carry the same constant and are zero in the table's columns: then the audit is of a
fit of these very rows, whose records are as private as in any other."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.accounting.relations import Relation
from sottovoce.data import files
from sottovoce.data.options import ReadOptions
from sottovoce.data.records import Records
from sottovoce.data.schema import Schema
from sottovoce.errors import ParameterError
from sottovoce.losses import Logistic
from sottovoce.models.linear import Risk
from sottovoce.regularizers import L2

Coins = NDArray[np.bool_]


@final
@dataclass(frozen=True, repr=False, eq=False)
class Planted:
    """A risk over canaries and other records; the canaries' weights start at `first`."""

    risk: Risk
    first: int
    others: int


def alone(tossed: Coins, relation: Relation) -> Planted:
    """Heads: label 1, or counted; tails: label -1, or not counted."""
    rows = np.eye(len(tossed), dtype=np.float32)
    return Planted(_risk(rows, tossed, np.empty(0), (-1, 1), relation, constant=False), 0, 0)


def among(
    table: Any, schema: Schema | str | os.PathLike[str], tossed: Coins, relation: Relation, how: ReadOptions
) -> Planted:
    """Canaries after the rows of a table of two classes, read as `fit` reads it."""
    declared = schema if isinstance(schema, Schema) else Schema.load(schema)
    classes = None if declared.target is None else declared.target.classes
    if classes is None or len(classes) != 2:
        raise ParameterError("canaries are planted in a table whose schema declares a target of two classes.")
    if declared.person is not None or declared.is_weighted:
        raise ParameterError(
            "canaries are records that count 1: leave persons and weights out of the schema."
        )
    held = files.read(table, declared, how)
    assert held.target is not None
    (n, dim), canaries = held.features.shape, len(tossed)
    rows = np.zeros((n + canaries, dim + canaries), dtype=np.float32)
    rows[:n, : dim - 1], rows[:n, -1] = held.features[:, :-1], held.features[:, -1]
    # Their entry leaves room for the constant, and for rounding.
    entry = math.sqrt(1.0 - declared.unit**2) * (1.0 - 1e-6)
    rows[n:, dim - 1 : -1], rows[n:, -1] = entry * np.eye(canaries), declared.unit
    labels = tuple(sorted(classes))
    return Planted(_risk(rows, tossed, held.target, labels, relation, constant=True), dim - 1, n)


def _risk(
    rows: NDArray[np.float32],
    tossed: Coins,
    before: NDArray[Any],
    labels: tuple[Any, ...],
    relation: Relation,
    constant: bool,
) -> Risk:
    """Labels of the other records stand before those of the canaries."""
    weighed: dict[str, Any] = {}
    heads = tossed
    if relation is Relation.ZERO_OUT:
        heads = np.ones(len(tossed), dtype=bool)
        weighed = {"sample_weight": np.concatenate([np.ones(len(before)), tossed.astype(float)])}
    own = np.array(labels)[heads.astype(int)]
    targets = np.concatenate([before.astype(own.dtype), own]) if len(before) else own
    records = Records.from_arrays(rows, targets, labels=labels, constant=constant, **weighed)
    return Risk(records, Logistic(), L2(1e-6))
