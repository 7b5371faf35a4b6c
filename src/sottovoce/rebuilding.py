"""Records of plain values rebuilt from a file, each field of the type its class declares."""

from __future__ import annotations

import math
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

T = TypeVar("T")


def rebuilt(kind: type[T], raw: Any) -> T:
    """An instance of a dataclass of numbers, texts and truths; TypeError where a field is of another type.

    Numbers must be finite: a file written by this library holds no others."""
    hints = get_type_hints(kind)
    if not isinstance(raw, dict) or not all(fits(value, hints.get(name)) for name, value in raw.items()):
        raise TypeError(f"these are not the fields of a {kind.__name__}")
    return kind(**raw)


def finite(value: Any) -> float:
    """A finite number, or TypeError."""
    if not fits(value, float):
        raise TypeError("this is no finite number")
    return float(value)


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of a plain type, or of one of several; whole numbers serve as floats."""
    return any(_is(value, kind) for kind in get_args(hint) or (hint,))


def _is(value: object, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return kind in (bool, str, NoneType) and isinstance(value, kind)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
