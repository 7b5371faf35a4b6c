"""Records.from_arrays: dense and sparse features, arrays and lists of labels and of targets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import sottovoce as sv
from tests.attacks.doors import hostile
from tests.attacks.doors.engine import Door, Draw, Pair, Reading
from tests.attacks.doors.probes import answers_of, risk_of, rows_of
from tests.attacks.doors.tables import numbers

ANSWERED = 0.1
"""Part of the cases in which every exact answer is compared too: they cost more than reading does."""


def reading(records: sv.Records, answered: bool) -> Reading:
    return Reading(
        rows=rows_of(records),
        answers=answers_of(risk_of(records)) if answered else {},
        public=repr(records),
    )


def _dense(draw: Draw) -> Pair:
    arrays = numbers(draw)
    options: dict[str, Any] = {"labels": (-1, 1), "invalid": "zero", "intercept": bool(draw.integers(2))}
    answered = bool(draw.random() < ANSWERED)

    def read(X: Any, y: Any) -> Reading:
        return reading(sv.Records.from_arrays(X, y, **options), answered)

    return Pair(lambda: read(*arrays.here), lambda: read(*arrays.there), arrays.place, arrays.note)


_SPARSE: dict[str, Callable[[np.ndarray], Any]] = {
    "csr": sparse.csr_array,
    "csr matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "lil": sparse.lil_array,
    "unsorted": lambda X: _unsorted(sparse.csr_array(X)),
    "float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


def _unsorted(rows: Any) -> Any:
    """Every row's entries from right to left, the last one in two halves."""
    starts, data, indices = [0], [], []
    for first, last in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        held = [*zip(rows.data[first:last], rows.indices[first:last], strict=True)][::-1]
        data += [value for value, _ in held[1:]] + [value / 2 for value, _ in held[:1]] * 2
        indices += [column for _, column in held[1:]] + [column for _, column in held[:1]] * 2
        starts.append(len(data))
    return sparse.csr_array((data, indices, starts), shape=rows.shape)


def _sparse(draw: Draw) -> Pair:
    arrays = numbers(draw)
    kind = list(_SPARSE)[draw.integers(len(_SPARSE))]
    keep = draw.random(arrays.here[0].shape) < 0.6
    hidden = bool(draw.integers(2))
    answered = bool(draw.random() < ANSWERED)

    def read(X: Any, y: Any) -> Reading:
        with np.errstate(all="ignore"):
            thin = np.where(keep, np.asarray(X, dtype=np.float64), 0.0)
            if hidden:
                thin[arrays.place] = np.asarray(X, dtype=np.float64)[arrays.place]
            table = _SPARSE[kind](thin)
        return reading(sv.Records.from_arrays(table, y, labels=(-1, 1), invalid="zero"), answered)

    note = f"{arrays.note}, {kind}"
    return Pair(lambda: read(*arrays.here), lambda: read(*arrays.there), arrays.place, note)


_LABELS: dict[str, tuple[Any, ...]] = {
    "whole": (-1, 1),
    "three": (1, 2, 3),
    "floats": (0.5, 1.0),
    "truths": (False, True),
    "words": ("no", "yes"),
    "digits": ("0", "1", "2"),
    "large": (2**53, 2**53 + 1),
    "words for truths": ("False", "True"),
}
_HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "objects": lambda cells: _objects(cells),
    "array": lambda cells: np.array(cells),
    "strided objects": lambda cells: _objects([cell for cell in cells for _ in (0, 1)])[::2],
    "series": lambda cells: pd.Series(cells),
    "object series": lambda cells: pd.Series(cells, dtype=object),
    "column": lambda cells: _objects(cells)[:, None],
    "masked": lambda cells: np.ma.array(_objects(cells), mask=False),
}


def _objects(cells: list[Any]) -> np.ndarray:
    held = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        held[place] = cell
    return held


def held(draw: Draw, cells: list[Any], place: int, among: str) -> tuple[str, Any, Any]:
    """The cells and the same with a hostile one, in a holder that takes both."""
    while True:
        name, value = hostile.cell(draw, among)
        kind = "list" if draw.random() < 0.4 else list(_HOLDERS)[draw.integers(len(_HOLDERS))]
        other = [*cells[:place], value, *cells[place + 1 :]]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                here, there = _HOLDERS[kind](cells), _HOLDERS[kind](other)
        except Exception:  # the owner's own NumPy or pandas refuses it
            continue
        if kind != "array" or here.dtype == there.dtype:
            return f"{name}, {kind}", here, there


def _guise(draw: Draw, label: Any) -> Any:
    """The label, or now and then what equals it."""
    if isinstance(label, str) or draw.random() < 0.9:
        return label
    equals = [
        other for other in (float(label), np.float64(label), Decimal(label), bool(label)) if other == label
    ]
    return equals[draw.integers(len(equals))]


def _labels(draw: Draw) -> Pair:
    """y in any holder. An array whose owner let NumPy retype it is another array, so it keeps its type."""
    n, kind = int(draw.integers(2, 25)), list(_LABELS)[draw.integers(len(_LABELS))]
    labels, place = _LABELS[kind], int(draw.integers(n))
    X = draw.normal(size=(n, 2))
    cells = [_guise(draw, labels[k]) for k in draw.integers(len(labels), size=n)]
    note, here, there = held(draw, cells, place, kind)
    answered = bool(draw.random() < ANSWERED)

    def read(y: Any) -> Reading:
        return reading(sv.Records.from_arrays(X, y, labels=labels, invalid="zero"), answered)

    return Pair(lambda: read(here), lambda: read(there), place, f"{note}, {kind}")


_TARGETS: dict[str, Callable[[Draw, int], list[Any]]] = {
    "floats": lambda draw, n: draw.normal(size=n).tolist(),
    "whole": lambda draw, n: draw.integers(-3, 4, n).tolist(),
    "truths": lambda draw, n: [bool(k) for k in draw.integers(2, size=n)],
    "decimals": lambda draw, n: [Decimal(int(k)) / 10 for k in draw.integers(-30, 30, n)],
}


def _targets(draw: Draw) -> Pair:
    n, kind = int(draw.integers(2, 25)), list(_TARGETS)[draw.integers(len(_TARGETS))]
    place = int(draw.integers(n))
    X = draw.normal(size=(n, 2))
    note, here, there = held(draw, _TARGETS[kind](draw, n), place, kind)

    def read(y: Any) -> Reading:
        return reading(sv.Records.from_arrays(X, y, target=(-2.0, 2.0), invalid="zero"), False)

    return Pair(lambda: read(here), lambda: read(there), place, f"{note}, {kind}")


def _weights(draw: Draw) -> Pair:
    """What records count; one record may count the most allowed, with its label turned."""
    n = int(draw.integers(2, 25))
    X, y, place = draw.normal(size=(n, 2)), draw.choice([-1, 1], n), int(draw.integers(n))
    note, here, there = held(draw, draw.uniform(0.0, 3.0, n).tolist(), place, "float")
    turned = np.where(np.arange(n) == place, -y, y)
    cap, answered = float(draw.choice([0.5, 1.0, 2.0])), bool(draw.random() < 3.0 * ANSWERED)

    def read(y: Any, weights: Any) -> Reading:
        records = sv.Records.from_arrays(
            X, y, labels=(-1, 1), sample_weight=weights, weight_cap=cap, invalid="zero"
        )
        return reading(records, answered)

    return Pair(lambda: read(y, here), lambda: read(turned, there), place, f"{note}, cap {cap}")


_TABLES: dict[str, Callable[[list[list[Any]]], Any]] = {
    "lists": list,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "objects": lambda rows: np.array([_objects(row) for row in rows]),
    "frame": lambda rows: pd.DataFrame(rows),
    "object frame": lambda rows: pd.DataFrame(rows, dtype=object),
    "masked": lambda rows: np.ma.array(np.array([_objects(row) for row in rows]), mask=False),
}


def _cells(draw: Draw) -> Pair:
    """X as lists, objects or a frame, one cell hostile, with labels in an array."""
    n = int(draw.integers(2, 15))
    rows = draw.integers(-9, 10, (n, 2)).tolist() if draw.integers(2) else draw.normal(size=(n, 2)).tolist()
    y, place = draw.choice([-1, 1], n), int(draw.integers(n))
    while True:
        name, value = hostile.cell(draw, "float")
        kind = list(_TABLES)[draw.integers(len(_TABLES))]
        other = [*rows[:place], [value, rows[place][1]], *rows[place + 1 :]]
        try:
            here, there = _TABLES[kind](rows), _TABLES[kind](other)
            break
        except Exception:  # the owner's own pandas refuses it
            continue

    def read(X: Any) -> Reading:
        return reading(sv.Records.from_arrays(X, y, labels=(-1, 1), invalid="zero"), False)

    return Pair(lambda: read(here), lambda: read(there), place, f"{name}, {kind}")


DOORS = (
    Door("arrays: dense", _dense, 150),
    Door("arrays: sparse", _sparse, 100),
    Door("arrays: labels", _labels, 150),
    Door("arrays: targets", _targets, 100),
    Door("arrays: weights", _weights, 80),
    Door("arrays: cells", _cells, 100),
)
