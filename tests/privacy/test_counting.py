"""Whatever is proposed for each row, no record or person moves a count past what is charged for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.data.persons import Persons
from sottovoce.errors import DataError, ParameterError
from sottovoce.privacy.counting import STEPS, Counted, CountOracle, scores
from tests.doubles import counting

HOSTILE = np.array([0.0, 1.0, 0.3, -7.0, 1e300, np.nan, np.inf, -np.inf])
ROWS = 12
PEOPLE = {
    "records": None,
    "persons": Persons.of(np.repeat([0, 1, 2, 3], 3), ROWS, None, lenient=False),
    "declared": Persons.of(np.repeat([0, 1, 2, 3], 3), ROWS, 6, lenient=False),
}
SHAPES = ("total", "steps", "cells", "pairs")


def charged(shape: str, people: Persons | None, merits: Any, codes: Any, budget: sv.Budget) -> Any:
    """The exact numbers of one shape and what they are charged for."""
    kept: list[tuple[np.ndarray, float]] = []

    def noisy(compute: Any, moves: float, entries: int, *_: Any) -> tuple[np.ndarray, float]:
        kept.append((compute(), moves))
        assert kept[0][0].shape == (entries,)
        return kept[0][0], 1.0

    oracle, counted = counting(noisy, budget), Counted(ROWS, people)
    match shape:
        case "total":
            oracle.total(counted, lambda: merits, 1, 1)
        case "steps":
            oracle.total(counted, lambda: merits, STEPS, 1)
        case "cells":
            oracle.cells(counted, lambda: codes, 3, 1)
        case "pairs":
            oracle.pairs(counted, lambda: merits, codes, 1)
    return kept[0]


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("shape", SHAPES)
def test_nobody_moves_a_count_past_its_charge_whatever_is_proposed(shape: str, people: str) -> None:
    rng, worst, budget = np.random.default_rng(0), 0.0, sv.Budget(1.0, 1e-6)
    mine = slice(0, 1 if PEOPLE[people] is None else 3)
    for _ in range(300):
        merits, codes = rng.choice(HOSTILE, ROWS), rng.integers(-2, 9, ROWS)
        here, moves = charged(shape, PEOPLE[people], merits, codes, budget)
        assert np.isfinite(here).all()
        merits[mine], codes[mine] = rng.choice(HOSTILE, mine.stop), rng.integers(-2, 9, mine.stop)
        there, same = charged(shape, PEOPLE[people], merits, codes, budget)
        assert moves == same
        worst = max(worst, float(np.linalg.norm(there - here)) / moves)
    assert worst <= 1.0
    assert worst > 0.4 or (shape == "total" and people != "records"), "a mean of rows is no whole record"


def test_scores_are_whole_and_no_record_or_person_has_more_than_one_part() -> None:
    for people in PEOPLE.values():
        counted = Counted(ROWS, people)
        low, high = scores(counted, [np.full(ROWS, -1e9), np.full(ROWS, 1e9)])
        assert low == 0
        assert 0.99 * STEPS * len({None} if people else range(ROWS)) <= high
        assert high <= STEPS * (ROWS if people is None else 4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [ROWS - 1, ROWS + 1])
def test_numbers_of_other_rows_are_not_counted(shape: str, rows: int) -> None:
    with pytest.raises(DataError):
        charged(shape, None, np.zeros(rows), np.zeros(rows, dtype=int), sv.Budget(1.0, 1e-6))


@pytest.mark.parametrize("steps", [0, -1, STEPS + 1])
def test_steps_that_no_float_counts_exactly_are_refused(steps: int) -> None:
    oracle: CountOracle = counting(lambda *_: pytest.fail("data was touched"))
    with pytest.raises(ParameterError):
        oracle.total(Counted(1, None), lambda: np.zeros(1), steps, 1)
