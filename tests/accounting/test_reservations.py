"""Reservations: a run that began has its budget to itself, and one that died gives it up."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, Run, verify
from sottovoce.accounting.store import Totals
from sottovoce.errors import BudgetExceeded, ParameterError
from tests.attacks.crash.kills import in_child

CAP, WHOLE, HALF = Budget(2.0, 1e-6), Budget(1.9, 1e-6), Budget(1.0, 1e-6)


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    if request.param == "memory":
        return Ledger(CAP)
    return Ledger.create(tmp_path / "budget.db", dataset="d", cap=CAP)


def charge(run: Run, units: int) -> None:
    run.charge(GaussianEvent(QueryKind.GRADIENT, run.currency.mu_squared(units) ** 0.5, 1.0, 3, 0.0))


def test_of_two_runs_that_do_not_fit_together_the_second_is_refused(
    ledger: Ledger,
) -> None:
    first = ledger.start(WHOLE, "first")
    with pytest.raises(BudgetExceeded):
        ledger.start(WHOLE, "second")
    with pytest.raises(BudgetExceeded):
        ledger.run(WHOLE, "second")
    assert ledger.history == ()
    charge(first, first.units_cap)
    assert first.units_spent <= first.units_cap


def test_what_a_run_reserved_nobody_else_is_charged(ledger: Ledger) -> None:
    rival = ledger.run(HALF, "rival")
    run = ledger.start(WHOLE, "run")
    with pytest.raises(BudgetExceeded):
        charge(rival, rival.units_cap)
    assert rival.cut_short
    assert run.units_left == run.units_cap
    for _ in range(4):
        charge(run, run.units_cap // 4)
    assert ledger.units_spent <= ledger.units_cap


def test_the_end_of_a_run_gives_free_what_it_did_not_spend(ledger: Ledger) -> None:
    with ledger.start(WHOLE, "run") as run:
        charge(run, run.units_cap // 4)
        assert ledger.units_left == ledger.units_cap - run.units_cap
    assert ledger.units_left == ledger.units_cap - ledger.units_spent
    ledger.start(HALF, "next")


def test_the_allowance_of_the_lattice_is_set_aside_too(ledger: Ledger) -> None:
    ledger.start(HALF, "run", entries=10)
    with pytest.raises(BudgetExceeded):
        ledger.start(Budget(0.1, 1e-6), "too many numbers", entries=10**15)
    assert ledger.history == ()


def test_a_reservation_never_lets_charges_pass_the_cap(ledger: Ledger) -> None:
    """Even one that is larger than the cap, which no store grants, and one that was spent already."""
    run = ledger.start(CAP, "run")
    charge(run, run.units_cap)
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            run.charge(GaussianEvent(QueryKind.GRADIENT, 0.1, 1.0, 3, 0.0))
    assert ledger._store.reserve("x", "x", Totals(1, 0), Totals(ledger.units_spent, 10**40)) is not None
    assert ledger.units_spent <= ledger.units_cap


def test_a_run_whose_process_was_killed_gives_up_what_it_reserved(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = Ledger.create(path, dataset="d", cap=CAP)

    def hold() -> None:
        run = Ledger.open(path, dataset="d").start(WHOLE, "held")
        charge(run, run.units_cap // 10)
        time.sleep(600.0)

    child = in_child(hold)
    try:
        while not ledger.history:
            time.sleep(0.01)
        with pytest.raises(BudgetExceeded):
            ledger.start(HALF, "rival")
        assert [run.reserved > 0 for run in verify(path).runs] == [True]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with ledger.start(HALF, "rival") as rival:
        charge(rival, rival.units_cap)
    held, _ = verify(path).runs
    assert held.end == "its process was gone"
    assert held.reserved == 0


@pytest.mark.parametrize("epsilon", [30.0, 40.0])
def test_a_cap_that_no_run_could_use_is_refused_at_once(epsilon: float, tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        Ledger.create(tmp_path / "budget.db", dataset="d", cap=Budget(epsilon, 1e-6))
    assert list(tmp_path.iterdir()) == []


def test_a_journal_is_its_owners_alone(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "budget.db", dataset="d", cap=CAP)
    with ledger.start(HALF, "run") as run:
        assert run.journal is not None
        assert os.stat(run.journal.path).st_mode & 0o777 == 0o600
        assert os.stat(os.path.dirname(run.journal.path)).st_mode & 0o777 == 0o700
