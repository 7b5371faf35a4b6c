"""Nonsense at every door: only documented exceptions, no data value in any of them.

40 inputs at each in every run, 2,000 when slow; `python -m tests.attacks.fuzz` tries 20,000."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from tests.attacks.fuzz.doors import DOORS
from tests.attacks.fuzz.watch import SECRET_NUMBER, LeakError, guarded


@pytest.mark.parametrize("inputs", [40, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DOORS)
def test_nonsense_is_refused_in_a_documented_way_and_never_quoted(
    name: str, inputs: int, tmp_path: Path
) -> None:
    place = list(DOORS).index(name)
    for trial in range(inputs):
        DOORS[name](np.random.default_rng([place, trial]), tmp_path)


def _quotes_the_message() -> None:
    raise sv.errors.DataError(f"bad value {SECRET_NUMBER}")


def _quotes_the_context() -> None:
    try:
        raise ValueError(str(SECRET_NUMBER))
    except ValueError:
        raise sv.errors.DataError("bad value") from None


@pytest.mark.parametrize("leaky", [_quotes_the_message, _quotes_the_context])
def test_the_watch_notices_a_leak(leaky: object) -> None:
    with pytest.raises(LeakError):
        guarded(leaky)  # type: ignore[arg-type]


def test_the_watch_notices_an_undocumented_exception() -> None:
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: 1 / 0)
