"""Refuse numbers that would make a privacy price meaningless: NaN, infinities, zeros, negatives."""

from __future__ import annotations

import math
from numbers import Integral, Real

from sottovoce.errors import ParameterError


def positive(name: str, value: object) -> float:
    """`value` as a finite float above zero, or ParameterError."""
    number = nonnegative(name, value)
    if number == 0.0:
        raise ParameterError(f"{name} must be above 0, got {value!r}. Pass a finite positive number.")
    return number


def nonnegative(name: str, value: object) -> float:
    """`value` as a finite float at or above zero, or ParameterError."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(f"{name} must be a number, got {type(value).__name__}. Pass a float.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0.0:
        raise ParameterError(f"{name} must be finite and not negative, got {number!r}.")
    return number


def whole(name: str, value: object) -> int:
    """`value` as an int of at least one, or ParameterError."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterError(f"{name} must be a whole number, got {type(value).__name__}. Pass an int.")
    number = int(value)
    if number < 1:
        raise ParameterError(f"{name} must be at least 1, got {number}.")
    return number
