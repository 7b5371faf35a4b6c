"""Every door holds against hostile records: the whole class "one record changes how another is read".

`python -m tests.attacks.doors --cases N --seed S --door NAME` tries more and shows what it finds."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

from tests.attacks.doors.catalogue import CASES, DOORS, MANY, cases_of
from tests.attacks.doors.engine import Answer, Door, Pair, Reading, attack

REFUSING = (
    "encoder: lists",
    "oracle: hostile queries",
    "evaluation: shapes",
    "torch: modules and examples",
    "product: torch",
    "torch: types of cells",
)
"""Most of what is tried at these doors is refused, by public facts."""
LONG = "fits: smooth"
"""A case takes seconds: tried in the slow run alone."""


@pytest.mark.parametrize(
    ("door", "cases"),
    cases_of(tuple(door for door in DOORS if not door.name.startswith(LONG)), CASES),
    ids=lambda value: getattr(value, "name", ""),
)
def test_no_record_changes_how_another_is_read(door: Door, cases: int) -> None:
    tried = [attack(door, 0, number) for number in range(cases)]
    found = [str(violation) for case in tried for violation in case.violations]
    assert not found, "\n".join(found[:20])
    assert door.name in REFUSING or sum(case.refused for case in tried) < 0.5 * cases


@pytest.mark.slow
@pytest.mark.parametrize(
    ("door", "cases"), cases_of(DOORS, MANY), ids=lambda value: getattr(value, "name", "")
)
def test_no_record_changes_how_another_is_read_in_many_cases(
    door: Door, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # polars, handed a cell that cannot be printed, prints it in vain on its way to the frame that we are
    # handed, and pytest's own hook cannot print it either.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    found = [str(violation) for number in range(cases) for violation in attack(door, 1, number).violations]
    assert not found, f"{len(found)} violations\n" + "\n".join(found[:20])


def _found(here: Reading, there: Reading | None = None, *, lenient: bool = True) -> list[str]:
    pair = Pair(lambda: here, lambda: here if there is None else there, 1, "control", lenient)
    return [violation.text for violation in attack(Door("control", lambda draw: pair, 1), 0, 0).violations]


def _answer(exact: object, sensitivity: float) -> Reading:
    return Reading(answers={"sum": Answer(np.array(exact), sensitivity)})


ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (Reading({"rows": ROWS}), Reading({"rows": np.nextafter(ROWS, 9.0)})),
        (Reading({"rows": ROWS}), Reading({"rows": ROWS.astype(np.float32)})),
        (Reading({"rows": ROWS * 0.0}), Reading({"rows": ROWS * -0.0})),
        (Reading({"rows": ROWS}), Reading({"rows": ROWS[:2]})),
        (Reading({"rows": ROWS}), Reading()),
        (Reading({"rows": [1, 2, 3]}), Reading({"rows": [1, 2, "3"]})),
        (Reading(public="scale 0.1"), Reading(public="scale 0.2")),
        (Reading(charged=1), Reading(charged=2)),
        (_answer(0.0, 1.0), _answer(1.1, 1.0)),
        (_answer(0.0, 1.0), _answer(0.0, 2.0)),
        (_answer(0.0, 1.0), _answer(np.nan, 1.0)),
        (_answer(np.zeros(2), 1.0), _answer(np.zeros((2, 2)), 1.0)),
        (_answer(np.zeros(2), 1.0), Reading()),
    ],
)
def test_the_engine_notices(here: Reading, there: Reading) -> None:
    """Controls: one thing differs that must not."""
    assert _found(here, there)
    assert not _found(here)


def test_the_engine_lets_the_replaced_record_and_its_bound_be() -> None:
    other = ROWS.copy()
    other[1] = np.nan
    answers = [
        Reading({"rows": rows}, {"sum": Answer(np.array(s), 1.0)}) for rows, s in ((ROWS, 0.0), (other, 1.0))
    ]
    assert not _found(*answers)


def test_the_engine_notices_refusals_warnings_and_charges_before_a_refusal() -> None:
    def refuse() -> Reading:
        raise ValueError("this record")

    def charge_and_refuse() -> Reading:
        error = ValueError("public facts")
        error.charges = 1  # type: ignore[attr-defined]
        raise error

    def warn() -> Reading:
        warnings.warn("this record", UserWarning, stacklevel=1)
        return Reading()

    def found(here: object, there: object, lenient: bool) -> int:
        pair = Pair(here, there, 0, "", lenient)  # type: ignore[arg-type]
        return len(attack(Door("control", lambda draw: pair, 1), 0, 0).violations)

    assert found(Reading, refuse, True) == 1
    assert found(Reading, refuse, False) == 0
    assert found(Reading, warn, True) == 1
    assert found(refuse, Reading, False) == 1
    assert found(charge_and_refuse, charge_and_refuse, True) == 1
    assert found(refuse, refuse, True) == 0
