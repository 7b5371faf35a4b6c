"""A fixed sample of many cases: every pair of values meets in the default run, the whole under `slow`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest


def covering(cases: Iterable[tuple[Any, ...]], together: int = 2) -> list[Any]:
    """The cases as parameters, those marked `slow` that show no new combination of `together` values.

    Chosen greedily, values seen least before others, so that the same cases always give the same sample."""
    whole = list(cases)
    shown = [set(combinations(_values(case), together)) for case in whole]
    wanted, used, chosen = set[Any]().union(*shown), Counter[Any](), set[int]()

    def worth(number: int) -> tuple[int, int]:
        return len(shown[number] & wanted), -sum(used[value] for value in _values(whole[number]))

    while wanted:
        best = max(range(len(whole)), key=worth)
        chosen.add(best)
        wanted -= shown[best]
        used.update(_values(whole[best]))
    return [
        pytest.param(*case, marks=() if number in chosen else pytest.mark.slow)
        for number, case in enumerate(whole)
    ]


def _values(case: tuple[Any, ...]) -> list[tuple[int, str]]:
    return [(place, str(value)) for place, value in enumerate(case)]
