"""Refuse numbers that would make a privacy price meaningless: NaN, infinities, zeros, negatives."""

from __future__ import annotations

import math
from numbers import Integral, Real

from sottovoce.errors import ParameterError


def positive(name: str, value: object) -> float:
    """`value` as a finite float above zero, or ParameterError."""
    number = nonnegative(name, value)
    if number == 0.0:
        raise ParameterError(
            f"{name} must be above 0, got {value!r}. Pass a finite positive number.", argument=name
        )
    return number


def nonnegative(name: str, value: object) -> float:
    """`value` as a finite float at or above zero, or ParameterError."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(
            f"{name} must be a number, got {type(value).__name__}. Pass a float.", argument=name
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0.0:
        raise ParameterError(f"{name} must be finite and not negative, got {number!r}.", argument=name)
    return number


def writable(name: str, value: object) -> str:
    """`value` as text that files and pages can hold, or ParameterError: a byte that is no UTF-8 cannot."""
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be text, got {type(value).__name__}.", argument=name)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError(
            f"{name} holds a byte that is no UTF-8, so that no file could hold it. Write it anew.",
            argument=name,
        ) from None
    return value


def whole(name: str, value: object) -> int:
    """`value` as an int of at least one, or ParameterError."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterError(
            f"{name} must be a whole number, got {type(value).__name__}. Pass an int.", argument=name
        )
    number = int(value)
    if number < 1:
        raise ParameterError(f"{name} must be at least 1, got {number}.", argument=name)
    return number
