"""Places in calls: every row once, where its own number says, whoever else is there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.data.persons import Persons
from sottovoce.data.places import calls, even_length, spread_length

numbers = st.lists(st.integers(0, 2**40), min_size=0, max_size=200)


@settings(max_examples=200, deadline=None)
@given(numbers, st.integers(1, 64))
def test_every_row_stands_once_at_its_number_modulo_the_length(found: list[int], length: int) -> None:
    held = np.array(found, dtype=np.int64)
    seen: list[int] = []
    for rows, places in calls(held, length):
        assert len(rows) == len(set(places.tolist())) > 0
        assert (places == held[rows] % length).all()
        seen += rows.tolist()
    assert sorted(seen) == list(range(len(found)))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_lengths_stay_within_what_memory_allows_and_fill_the_calls(n: int, longest: int) -> None:
    even = even_length(n, longest)
    assert 1 <= even <= min(n, longest)
    assert -(-n // even) == -(-n // min(n, longest))
    assert 1 <= spread_length(n, longest) <= longest
    if n < 10**4:
        assert len(list(calls(np.arange(n), even))) == -(-n // even)


def test_a_row_of_a_person_keeps_its_number_whoever_else_comes_or_goes() -> None:
    rng = np.random.default_rng(0)
    keys = [f"p{number}" for number in rng.integers(20, size=100)]

    def numbered(groups: list[str | None]) -> dict[str, list[int]]:
        people = Persons.of(groups, len(groups), 30, lenient=True)
        found: dict[str, list[int]] = {}
        for key, number in zip(groups, people.row_numbers().tolist(), strict=True):
            found.setdefault(str(key), []).append(number)
        return found

    before = numbered(keys)
    for mine in ([], ["me"], ["me"] * 40, [None] * 3):
        after = numbered([*mine, *keys])
        assert {key: after[key] for key in before} == before
    assert all(np.diff(found).tolist() == [1] * (len(found) - 1) for found in before.values())
    assert len({found[0] % 64 for found in before.values()}) > 10


@pytest.mark.parametrize("expected", [1, 5, 64, 512, 20_000])
def test_calls_of_a_batch_are_few(expected: int) -> None:
    """At most three times as many places as rows, where there are some: what the rule costs."""
    rng = np.random.default_rng(expected)
    length = spread_length(expected, 8192)
    held = rng.choice(20 * expected, expected, replace=False)
    made = len(list(calls(held, length))) * length
    assert made <= 3 * expected + 8
