"""The ledger is a filter: nothing gets past the cap, by arithmetic, by haste, by copies or by force."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import random
import threading
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.accounting import (
    Budget,
    GaussianEvent,
    Grant,
    Ledger,
    MemoryStore,
    PureEvent,
    QueryKind,
    Run,
    SubsampledGaussianEvent,
    Totals,
)
from sottovoce.accounting.currency import UNITS_PER_ONE
from sottovoce.errors import BudgetExceeded, LedgerError, ParameterError, UnsupportedEvent

BUDGET = Budget(1.0, 1e-6)


def gaussian(sensitivity: float, scale: float) -> GaussianEvent:
    return GaussianEvent(QueryKind.GRADIENT, sensitivity, scale, 3, 0.0)


def calibrated(run: Run, units: int, sensitivity: float = 0.37) -> GaussianEvent:
    return gaussian(sensitivity, sensitivity / run.currency.mu_squared(units) ** 0.5)


@pytest.mark.parametrize("currency", ["gdp", "renyi"])
def test_equal_shares_allow_exactly_that_many_queries(currency: str) -> None:
    order = 32 if currency == "renyi" else None
    for parts in (*range(1, 41), 64, 99, 100, 256, 333, 500, 777, 999, 1000):
        run = Ledger(BUDGET, currency=currency, order=order).run(BUDGET)
        event = calibrated(run, run.share(parts))
        for _ in range(parts):
            run.charge(event)
        with pytest.raises(BudgetExceeded):
            run.charge(event)


def test_shares_of_every_count_to_a_thousand_fit_in_exact_arithmetic() -> None:
    run = Ledger(BUDGET).run(BUDGET)
    for parts in range(1, 1001):
        units = run.ledger.price(calibrated(run, run.share(parts)))
        assert parts * units <= run.units_cap < (parts + 1) * units


def test_a_share_of_what_is_left_fits_at_every_step() -> None:
    run = Ledger(BUDGET).run(BUDGET)
    for remaining in range(50, 0, -1):
        run.charge(calibrated(run, run.share(remaining)))
    assert run.units_left < run.units_cap / 10**6


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-6, 10.0), st.floats(0.5, 50.0)), max_size=60))
def test_the_exact_sum_of_what_was_granted_never_exceeds_the_cap(queries: list[tuple[float, float]]) -> None:
    ledger = Ledger(BUDGET)
    exact = Fraction(0)
    for sensitivity, scale in queries:
        try:
            ledger.charge(gaussian(sensitivity, scale))
        except BudgetExceeded:
            continue
        exact += (Fraction(sensitivity) / Fraction(scale)) ** 2
    assert exact * UNITS_PER_ONE <= ledger.units_spent <= ledger.units_cap
    assert ledger.units_spent == sum(grant.units for grant in ledger.history)


def test_queries_that_look_free_are_not() -> None:
    """Attack: a charge that rounds to nothing could be repeated for ever."""
    ledger = Ledger(BUDGET)
    before = ledger.units_left
    for _ in range(1000):
        ledger.charge(gaussian(1e-200, 1e200))
    assert ledger.units_left == before - 1000


def test_the_last_unit_can_be_spent_and_no_more() -> None:
    ledger = Ledger(BUDGET)
    ledger.charge(gaussian(ledger.currency.mu_squared(ledger.units_left) ** 0.5, 1.0))
    while ledger.units_left:
        ledger.charge(gaussian(1e-200, 1.0))
    assert ledger.units_spent == ledger.units_cap
    with pytest.raises(BudgetExceeded):
        ledger.charge(gaussian(1e-200, 1.0))
    with pytest.raises(BudgetExceeded):
        ledger.share(1)


def test_a_refused_query_costs_nothing_and_the_message_says_what_to_do() -> None:
    ledger = Ledger(BUDGET)
    with pytest.raises(BudgetExceeded, match=r"costs mu\^2=1, 0\.056\d* is left.*Nothing was released.*Ask"):
        ledger.charge(gaussian(1.0, 1.0))
    assert ledger.units_spent == 0
    assert ledger.history == ()
    with pytest.raises(BudgetExceeded, match=r"1\.00000e\+608"):
        ledger.charge(gaussian(1e152, 1e-152))
    with pytest.raises(BudgetExceeded, match=r"order 32\)=16, 0\.69"):
        Ledger(BUDGET, currency="renyi", order=32).charge(gaussian(1.0, 1.0))


def test_unpriceable_events_are_refused_before_anything_is_charged() -> None:
    ledger = Ledger(BUDGET)
    sampled = SubsampledGaussianEvent(QueryKind.GRADIENT, 1.0, 9.0, 1, 0.0, 10, 100)
    for event in (sampled, None, 0.0):
        with pytest.raises(UnsupportedEvent):
            ledger.charge(event)  # type: ignore[arg-type]
    assert ledger.history == ()


def test_a_run_as_large_as_a_fresh_ledger_fits_exactly_and_a_larger_one_does_not() -> None:
    ledger = Ledger(BUDGET)
    assert ledger.run(BUDGET).units_cap == ledger.units_cap
    with pytest.raises(BudgetExceeded, match=r"is left in the ledger: .* Nothing was released\. Give"):
        ledger.run(Budget(1.0 + 1e-6, 1e-6))
    ledger.charge(gaussian(1e-200, 1.0))
    with pytest.raises(BudgetExceeded):
        ledger.run(BUDGET)


def test_a_run_stops_at_its_own_budget_and_the_rest_stays_available() -> None:
    ledger = Ledger(BUDGET)
    run = ledger.run(Budget(0.5, 1e-6), "first")
    run.charge(calibrated(run, run.share(1)))
    with pytest.raises(BudgetExceeded, match="left in the run"):
        run.charge(calibrated(run, ledger.units_left // 2))
    assert ledger.units_left > 0
    assert ledger.units_spent == run.units_spent
    ledger.run(Budget(0.5, 1e-6), "second")


def test_what_a_run_did_not_charge_serves_the_next() -> None:
    ledger = Ledger(BUDGET)
    ledger.run(BUDGET, "idle")
    assert ledger.run(BUDGET, "busy").units_left == ledger.units_cap


def test_a_rival_that_empties_the_ledger_stops_the_run() -> None:
    ledger = Ledger(BUDGET)
    run, rival = ledger.run(BUDGET), ledger.run(BUDGET)
    half = calibrated(run, run.share(2))
    run.charge(half)
    rival.charge(half)
    with pytest.raises(BudgetExceeded, match="left in the ledger"):
        run.charge(half)
    assert run.units_spent == ledger.price(half)
    assert run.units_left == ledger.units_left


def test_a_store_that_fails_leaves_the_run_charged() -> None:
    class Broken:
        def append(self, grant: Grant, cap: Totals) -> Totals | None:
            raise LedgerError("disk full")

        def totals(self) -> Totals:
            return Totals(0, 0)

        def held(self) -> dict[str, Totals]:
            return {}

        def taken(self, run: str, cap: Totals) -> Totals:
            return Totals(0, 0)

        def waits(self, run: str, units: int) -> bool:
            return False

        def history(self) -> tuple[Grant, ...]:
            return ()

    run = Ledger(BUDGET, store=Broken()).run(BUDGET)
    event = calibrated(run, run.share(2))
    with pytest.raises(LedgerError, match="disk full"):
        run.charge(event)
    assert run.units_spent == run.ledger.price(event)


def test_charging_through_the_ledger_counts_against_the_run() -> None:
    ledger = Ledger(BUDGET)
    run = ledger.run(BUDGET)
    grant = ledger.charge(gaussian(0.01, 1.0), run=run)
    assert run.units_spent == ledger.units_spent == grant.units
    with pytest.raises(LedgerError, match="another ledger"):
        Ledger(BUDGET).charge(gaussian(0.01, 1.0), run=run)


@pytest.mark.parametrize("through_runs", [False, True])
def test_racing_threads_never_overspend(through_runs: bool) -> None:
    """Eight threads choose charges as they go, until each has been refused often."""
    ledger = Ledger(BUDGET)
    granted: list[Grant] = []
    gate = threading.Barrier(8)

    def spend(seed: int) -> None:
        chance = random.Random(seed)
        charge = ledger.run(BUDGET).charge if through_runs else ledger.charge
        gate.wait()
        refusals = 0
        while refusals < 30:
            left = max(ledger.units_left, 64)
            sensitivity = ledger.currency.mu_squared(chance.randint(left // 64, left)) ** 0.5
            try:
                granted.append(charge(gaussian(sensitivity, 1.0)))
            except BudgetExceeded:
                refusals += 1

    threads = [threading.Thread(target=spend, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(grant.units for grant in granted) == ledger.units_spent <= ledger.units_cap
    assert sorted(grant.id for grant in granted) == sorted(grant.id for grant in ledger.history)
    assert len({grant.id for grant in granted}) == len(granted)
    assert sum((Fraction(g.event.sensitivity) ** 2 for g in granted), Fraction(0)) * UNITS_PER_ONE <= (
        ledger.units_cap
    )


def test_threads_sharing_one_run_never_overspend_it() -> None:
    run = Ledger(Budget(2.0, 1e-6)).run(BUDGET)
    event = calibrated(run, run.share(100))
    outcomes: list[bool] = []

    def spend() -> None:
        for _ in range(50):
            try:
                run.charge(event)
                outcomes.append(True)
            except BudgetExceeded:
                outcomes.append(False)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(outcomes) == 100


def test_copies_share_one_purse() -> None:
    ledger = Ledger(BUDGET)
    run = ledger.run(BUDGET)
    for thing in (ledger, run):
        assert copy.copy(thing) is thing
        assert copy.deepcopy(thing) is thing
        assert copy.deepcopy({"kept": [thing]})["kept"][0] is thing


def test_pickling_is_refused_and_names_the_ledger_on_disk() -> None:
    ledger = Ledger(BUDGET)
    for thing in (ledger, ledger.run(BUDGET)):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(LedgerError, match=r"Ledger\.open"):
                pickle.dumps(thing, protocol)


def test_a_forked_process_cannot_spend_a_ledger_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(BUDGET)
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(LedgerError, match=r"Ledger\.create"):
        ledger.charge(gaussian(0.01, 1.0))


def test_nothing_about_a_ledger_can_be_set_back() -> None:
    ledger = Ledger(BUDGET)
    run = ledger.run(BUDGET)
    grant = run.charge(gaussian(0.01, 1.0))
    for thing in (ledger, run):
        for name in ("units_spent", "units_cap", "units_left", "currency", "lattice_left", "anything_else"):
            with pytest.raises(AttributeError):
                setattr(thing, name, 0)
    for field in dataclasses.fields(grant):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(grant, field.name, 0)
    assert ledger.history == (grant,)
    assert isinstance(ledger.history, tuple)
    assert not hasattr(ledger, "refund")


def test_the_history_tells_what_was_paid_for() -> None:
    ledger = Ledger(BUDGET)
    events = [gaussian(0.01, 1.0), PureEvent(QueryKind.LINE_SEARCH, 0.05)]
    grants = [ledger.charge(event) for event in events]
    assert [grant.event for grant in ledger.history] == events
    assert ledger.history == tuple(grants)
    assert all(len(bytes.fromhex(grant.id)) == 16 for grant in grants)


def test_representations_show_public_facts() -> None:
    ledger = Ledger(BUDGET, currency="renyi", order=32)
    assert repr(ledger).startswith("Ledger(cap=Budget(epsilon=1.0, delta=1e-06), currency='renyi', order=32")
    assert repr(ledger.run(BUDGET, "first")).startswith(
        "Run('first', Budget(epsilon=1.0, delta=1e-06), spent 0 of"
    )
    assert "order" not in repr(Ledger(BUDGET))


@pytest.mark.parametrize("parts", [0, -1, 1.5, float("nan"), True, None])
def test_parts_must_be_a_positive_whole_number(parts: int) -> None:
    ledger = Ledger(BUDGET)
    for thing in (ledger, ledger.run(BUDGET)):
        with pytest.raises(ParameterError):
            thing.share(parts)


def test_more_parts_than_units_are_refused() -> None:
    ledger = Ledger(BUDGET)
    with pytest.raises(BudgetExceeded, match="fewer steps"):
        ledger.share(ledger.units_cap + 1)


def test_ledgers_that_make_no_sense_are_refused() -> None:
    for attempt in (
        lambda: Ledger((1.0, 1e-6)),  # type: ignore[arg-type]
        lambda: Ledger(BUDGET, currency="euro"),
        lambda: Ledger(BUDGET, currency="gdp", order=8),
        lambda: Ledger(BUDGET, currency="renyi"),
        lambda: Ledger(BUDGET, currency="renyi", order=2),
        lambda: Ledger(BUDGET).run(1.0),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError):
            attempt()


def test_what_is_left_is_told_in_public_numbers() -> None:
    ledger = Ledger(BUDGET)
    run = ledger.run(BUDGET)
    assert ledger.cap == run.budget == BUDGET
    assert run.ledger is ledger
    assert run.name == "run"
    assert ledger.order is None
    assert run.mu_squared_left == pytest.approx(run.units_left / UNITS_PER_ONE)
    while run.units_left:
        run.charge(calibrated(run, run.units_left))
    assert run.mu_squared_left == 0.0


def test_a_store_of_ones_own_sees_every_grant() -> None:
    store = MemoryStore()
    first, second = (Ledger(BUDGET, store=store) for _ in range(2))
    grant = first.charge(gaussian(0.01, 1.0))
    assert second.history == (grant,)
    assert second.units_left == first.units_left < first.units_cap
