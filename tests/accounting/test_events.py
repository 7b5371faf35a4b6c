"""Budgets and events hold only meaningful, frozen, public numbers."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from sottovoce.accounting import (
    Budget,
    GaussianEvent,
    PureEvent,
    QueryKind,
    SubsampledGaussianEvent,
)
from sottovoce.errors import ParameterError

PART = GaussianEvent(QueryKind.GRADIENT, 1.0, 2.0, 3, 0.0)
BAD = [math.nan, math.inf, -math.inf, -1.0, "1.0", None, 1j, True, 10**400, np.float64("nan"), [1.0]]

NUMBERS: list[Callable[[object], object]] = [
    lambda bad: Budget(bad, 1e-6),
    lambda bad: Budget(1.0, bad),
    lambda bad: GaussianEvent(QueryKind.VALUE, bad, 1.0, 1, 0.0),
    lambda bad: GaussianEvent(QueryKind.VALUE, 1.0, bad, 1, 0.0),
    lambda bad: GaussianEvent(QueryKind.VALUE, 1.0, 1.0, 1, bad),
    lambda bad: PureEvent(QueryKind.LINE_SEARCH, bad),
    lambda bad: SubsampledGaussianEvent(QueryKind.VALUE, bad, 1.0, 1, 0.0, 1, 2),
    lambda bad: SubsampledGaussianEvent(QueryKind.VALUE, 1.0, bad, 1, 0.0, 1, 2),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: type(bad).__name__)
@pytest.mark.parametrize("build", NUMBERS)
def test_numbers_that_are_not_finite_and_positive_are_refused(
    build: Callable[[object], object], bad: object
) -> None:
    with pytest.raises(ParameterError):
        build(bad)


def test_zero_is_refused_except_as_a_lattice_step() -> None:
    for build in NUMBERS:
        if build is not NUMBERS[4]:
            with pytest.raises(ParameterError):
                build(0.0)
    assert PART.step == 0.0


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, True, None, "3"])
def test_counts_are_whole_and_positive(bad: int) -> None:
    for build in (
        lambda: GaussianEvent(QueryKind.VALUE, 1.0, 1.0, bad, 0.0),
        lambda: SubsampledGaussianEvent(QueryKind.VALUE, 1.0, 1.0, 1, 0.0, bad, 5),
        lambda: SubsampledGaussianEvent(QueryKind.VALUE, 1.0, 1.0, 1, 0.0, 1, bad),
    ):
        with pytest.raises(ParameterError):
            build()


def test_a_batch_larger_than_its_population_is_refused() -> None:
    with pytest.raises(ParameterError, match="exceeds"):
        SubsampledGaussianEvent(QueryKind.VALUE, 1.0, 1.0, 1, 0.0, 6, 5)


@pytest.mark.parametrize("query", ["nonsense", None, 3])
def test_an_unknown_query_is_refused(query: QueryKind) -> None:
    with pytest.raises(ParameterError, match="GRADIENT"):
        PureEvent(query, 1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(1000.1, 1e-6), (1.0, 1.0), (1.0, 2.0)])
def test_budgets_that_promise_nothing_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        Budget(epsilon, delta)


def test_numpy_numbers_become_plain_ones() -> None:
    event = GaussianEvent(QueryKind.VALUE, np.float32(0.5), np.float64(2.0), np.int64(3), 0)
    assert [type(value) for value in dataclasses.astuple(event)] == [QueryKind, float, float, int, float]
    assert type(Budget(np.float32(1.0), 1e-6).epsilon) is float


@pytest.mark.parametrize("value", [Budget(1.0, 1e-6), PART])
def test_values_cannot_be_changed_and_compare_by_content(value: object) -> None:
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, 1)
    assert hash(value) == hash(dataclasses.replace(value))  # type: ignore[type-var]


def test_importing_accounting_is_light() -> None:
    heavy = "('dp_accounting', 'sklearn', 'opendp', 'pyarrow', 'scipy.stats', 'scipy.optimize')"
    code = f"import sys, sottovoce.accounting; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
