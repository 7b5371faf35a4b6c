"""Base tables of plausible columns, and the same with one record replaced by hostile cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from tests.attacks.doors import hostile
from tests.attacks.doors.engine import Draw

Columns = dict[str, list[Any]]

WORDS = ("no", "yes", "maybe")
WHOLES = (1, 2, 3)
TRUTHS = (False, True)
DIGITS = ("0", "1", "2.50")

_SPELLED = (
    " 3 ",
    "+5",
    "1e0",
    "0x3",
    "1_0",
    "\uff15",
    "",
    "nan",
    "2.50",
    "-0",
    "1e-400",
    "1e400",
    "-inf",
    "1,5",
    "x",
)
_SPELLED_WHOLES = ("1", "1.0", "01", "+2", "2.", "3e0", " 3", "one", "1_", "\uff101", "")
_SPELLED_TRUTHS = ("true", "FALSE", "True", "yes", "1", "0", "1.0", " false ", "t", "")
_SPELLED_WORDS = ("no", "yes", "no ", "No", "", "maybe", "\u00e9", "e\u0301", "nan", "None")

_NUMERIC: dict[str, Callable[[Draw, int], list[Any]]] = {
    "integers": lambda draw, n: draw.integers(-9, 10, n).tolist(),
    "floats": lambda draw, n: (draw.integers(-36, 37, n) / 4.0).tolist(),
    "fine floats": lambda draw, n: draw.uniform(-9, 9, n).tolist(),
    "decimals": lambda draw, n: [Decimal(int(k)) / 100 for k in draw.integers(-900, 901, n)],
    "booleans": lambda draw, n: [bool(k) for k in draw.integers(2, size=n)],
    "numpy booleans": lambda draw, n: [np.bool_(k) for k in draw.integers(2, size=n)],
    "numbers in text": lambda draw, n: [str(k) for k in draw.integers(-9, 10, n)],
    "spelled numbers in text": lambda draw, n: _chosen(draw, _SPELLED, n),
}
_CATEGORICAL: dict[str, tuple[tuple[Any, ...], Callable[[Draw, int], list[Any]]]] = {
    "words": (WORDS, lambda draw, n: [WORDS[k] for k in draw.integers(3, size=n)]),
    "whole numbers": (WHOLES, lambda draw, n: draw.integers(1, 5, n).tolist()),
    "whole floats": (WHOLES, lambda draw, n: draw.integers(1, 5, n).astype(float).tolist()),
    "whole decimals": (WHOLES, lambda draw, n: [Decimal(int(k)) for k in draw.integers(1, 5, n)]),
    "whole numbers in text": (WHOLES, lambda draw, n: [str(k) for k in draw.integers(1, 5, n)]),
    "truths": (TRUTHS, lambda draw, n: [bool(k) for k in draw.integers(2, size=n)]),
    "numpy truths": (TRUTHS, lambda draw, n: [np.bool_(k) for k in draw.integers(2, size=n)]),
    "truths as numbers": (TRUTHS, lambda draw, n: draw.integers(2, size=n).tolist()),
    "digits": (DIGITS, lambda draw, n: _chosen(draw, DIGITS, n)),
    "digits as numbers": (DIGITS, lambda draw, n: draw.integers(4, size=n).tolist()),
    "spelled words": (WORDS, lambda draw, n: _chosen(draw, _SPELLED_WORDS, n)),
    "spelled whole numbers in text": (WHOLES, lambda draw, n: _chosen(draw, _SPELLED_WHOLES, n)),
    "spelled truths in text": (TRUTHS, lambda draw, n: _chosen(draw, _SPELLED_TRUTHS, n)),
    "truths in text": (TRUTHS, lambda draw, n: [str(bool(k)) for k in draw.integers(2, size=n)]),
}


def _chosen(draw: Draw, cells: tuple[Any, ...], n: int) -> list[Any]:
    return [cells[k] for k in draw.integers(len(cells), size=n)]


@dataclass(frozen=True)
class Tables:
    """Two tables of one schema that differ in the record at `place`."""

    schema: Schema
    here: Columns
    there: Columns
    place: int
    note: str

    @property
    def n(self) -> int:
        return len(next(iter(self.here.values())))


def declared(draw: Draw, *, target: bool = False, longest: int = 20) -> Tables:
    """One to three declared columns, and a target if wanted; one or two cells of a record are hostile."""
    n = int(draw.integers(2, longest))
    columns: Columns = {}
    schema, kinds = [], []
    for number in range(int(draw.integers(1, 4))):
        name = f"c{number}"
        declaration, kind, columns[name] = _column(draw, name, n)
        schema.append(declaration)
        kinds.append(kind)
    aim = None
    if target:
        aim, kind, columns["y"] = _target(draw, n)
        kinds.append(kind)
    place = int(draw.integers(n))
    there = {name: list(cells) for name, cells in columns.items()}
    spoilt = []
    most = min(len(columns), 1 + int(draw.random() < 0.3))
    for name in draw.choice(list(columns), size=most, replace=False):
        kind = kinds[list(columns).index(name)]
        label, there[name][place] = hostile.cell(draw, kind)
        spoilt.append(f"{label} in {kind}")
    return Tables(Schema(tuple(schema), aim), columns, there, place, " and ".join(spoilt))


def _column(draw: Draw, name: str, n: int) -> tuple[Any, str, list[Any]]:
    if draw.random() < 0.5:
        kind = list(_NUMERIC)[draw.integers(len(_NUMERIC))]
        return Numeric(name, -10.0, 10.0), kind, _gaps(draw, _NUMERIC[kind](draw, n))
    kind = list(_CATEGORICAL)[draw.integers(len(_CATEGORICAL))]
    categories, cells = _CATEGORICAL[kind]
    return Categorical(name, categories), kind, _gaps(draw, cells(draw, n))


def _target(draw: Draw, n: int) -> tuple[Target, str, list[Any]]:
    if draw.random() < 0.3:
        kind = list(_NUMERIC)[draw.integers(len(_NUMERIC))]
        return Target("y", low=-5.0, high=5.0), kind, _NUMERIC[kind](draw, n)
    kind = list(_CATEGORICAL)[draw.integers(len(_CATEGORICAL))]
    categories, cells = _CATEGORICAL[kind]
    return Target("y", classes=categories), kind, cells(draw, n)


def _gaps(draw: Draw, cells: list[Any]) -> list[Any]:
    """Some cells missing, in some tables."""
    if draw.random() < 0.8:
        return cells
    return [None if draw.random() < 0.2 else cell for cell in cells]


@dataclass(frozen=True)
class Arrays:
    """X and y of two neighbours, in memory laid out alike."""

    here: tuple[Any, Any]
    there: tuple[Any, Any]
    place: int
    note: str


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "as it is": lambda X: X,
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X: _read_only(X.copy()),
    "float32": lambda X: X.astype(np.float32),
    "big-endian": lambda X: X.astype(">f8"),
    "longdouble": lambda X: X.astype(np.longdouble),
    "part of a record array": lambda X: np.ascontiguousarray(np.column_stack([X, X]))[:, : X.shape[1]],
}


def _read_only(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


def numbers(draw: Draw, most: int = 30, width: int = 4) -> Arrays:
    """Rows of floats, within the unit ball or not, one of them hostile, in any layout; y holds -1 and 1."""
    n, dim = int(draw.integers(2, most)), int(draw.integers(1, width + 1))
    X = draw.normal(size=(n, dim))
    if draw.random() < 0.5:
        X /= np.linalg.norm(X, axis=1).max() * 1.001
    y = draw.choice([-1, 1], n)
    place = int(draw.integers(n))
    other = X.copy()
    name, value = hostile.number(draw)
    columns = draw.random(dim) < 0.6
    other[place, columns] = value
    other[place, ~columns] = draw.normal(size=int((~columns).sum()))
    labels = y.copy()
    labels[place] = draw.choice([-1, 1])
    layout = list(LAYOUTS)[draw.integers(len(LAYOUTS))]
    laid = LAYOUTS[layout]
    with np.errstate(all="ignore"):
        return Arrays((laid(X), y), (laid(other), labels), place, f"{name}, {layout}")
