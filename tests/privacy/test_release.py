"""The two ways out, and who may ask."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Ledger
from sottovoce.accounting.events import GaussianEvent, PureEvent, QueryKind
from sottovoce.privacy import release
from sottovoce.privacy.noise import ExactNoise, SimulatedNoise, calibrate
from sottovoce.privacy.oracle import Oracle
from sottovoce.privacy.prices import Prices
from sottovoce.queries import Answer, Gradient
from tests import problems
from tests.doubles import Recorder

BUDGET = sv.Budget(epsilon=1.0, delta=1e-6)


def test_a_released_answer_says_what_it_cost_and_reading_it_costs_nothing_more() -> None:
    calibrated = calibrate(1.0, 0.01, 2)
    event = GaussianEvent(QueryKind.GRADIENT, calibrated.sensitivity, calibrated.scale, 2, calibrated.step)
    ledger = Ledger(BUDGET)
    released = release.gaussian(ledger.run(BUDGET), SimulatedNoise(0), event, calibrated, lambda: np.zeros(2))
    assert [grant.units for grant in ledger.history] == [released.units]
    assert released.value.shape == (2,)
    assert released.scale == calibrated.scale
    doubled = released.read(lambda noisy: 2.0 * noisy, widening=2.0)
    assert (doubled.units, doubled.scale) == (released.units, 2.0 * released.scale)
    assert len(ledger.history) == 1


def test_nobody_else_makes_an_answer() -> None:
    """Nor changes, copies or pickles a released one."""
    oracle = Oracle(problems.logistic(n=50), Ledger(BUDGET).run(BUDGET), SimulatedNoise(0))
    released = oracle.gradient(np.zeros(5), oracle.units_left // 2)
    assert type(released) is release.Released
    for attempt in (
        lambda: Answer(np.zeros(5), 1.0, 1),
        lambda: release.Released(np.zeros(5), 1.0, 1),
        lambda: release.Released(),
        lambda: type("Own", (Answer,), {}),
        lambda: setattr(released, "value", np.zeros(5)),
        lambda: setattr(released, "scale", 0.0),
        lambda: pickle.dumps(released),
        lambda: copy.copy(released),
        lambda: replace(released, value=np.zeros(5)),
    ):
        with pytest.raises((TypeError, AttributeError, sv.errors.LedgerError)):
            attempt()


def test_an_answer_of_another_length_than_charged_is_not_released() -> None:
    calibrated = calibrate(1.0, 0.01, 2)
    event = GaussianEvent(QueryKind.GRADIENT, calibrated.sensitivity, calibrated.scale, 2, calibrated.step)
    recorder = Recorder(SimulatedNoise(0))
    with pytest.raises(sv.errors.LedgerError, match="length"):
        release.gaussian(Ledger(BUDGET).run(BUDGET), recorder, event, calibrated, lambda: np.zeros(3))
    assert not recorder.tape


def test_a_method_cannot_bring_a_query_with_a_bound_of_its_own() -> None:
    class Cheap(Gradient):  # type: ignore[misc]  # queries are final: this is the attack
        def sensitivity(self, bounds: object) -> float:
            return 1e-12

    ledger = Ledger(BUDGET)
    ask = Oracle(problems.logistic(), ledger.run(BUDGET), SimulatedNoise(0))
    with pytest.raises(sv.errors.ParameterError, match="no others"):
        ask.ask(Cheap(np.zeros(5)), 1000)
    with pytest.raises(sv.errors.ParameterError, match="no others"):
        ask.batched(10).ask(Cheap(np.zeros(5)), 1000)
    with pytest.raises(sv.errors.ParameterError, match="no others"):
        ask.search(_CheapSearch(), 10**9)  # type: ignore[arg-type]  # the attack
    assert not ledger.history


class _CheapSearch:
    """Compares an exact gradient, at a sensitivity of next to nothing."""

    kind = QueryKind.LINE_SEARCH

    def admitted(self, problem: object) -> _CheapSearch:
        return self

    def sensitivity(self, bounds: object) -> float:
        return 1e-12


def test_prices_answer_nothing_and_agree_with_the_oracle() -> None:
    risk, ledger = problems.logistic(), Ledger(BUDGET)
    prices = Prices(risk.bounds, ledger.run(BUDGET))
    ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
    query = Gradient(np.ones(5))
    assert prices.price(query, 0.01) == ask.price(query, 0.01)
    assert prices.calibrated(query, 10**9).scale == ask.ask(query, 10**9).scale
    with pytest.raises(sv.errors.ParameterError, match="oracle"):
        prices.gradient(np.ones(5), 10**9)
    assert len(ledger.history) == 1


def test_every_entry_of_a_matrix_is_charged_for() -> None:
    """Exact noise refuses an answer longer than its charge."""
    ledger = Ledger(BUDGET)
    ask = Oracle(problems.logistic(), ledger.run(BUDGET), ExactNoise())
    assert ask.hessian(np.zeros(5), ask.units_left // 2).value.shape == (5, 5)
    assert ledger.history[0].event.entries == 15


@pytest.mark.parametrize("delta", [0.0, 1.0, 2.0, -0.1])
def test_a_delta_that_promises_nothing_is_refused(delta: float) -> None:
    with pytest.raises(sv.errors.ParameterError, match="delta"):
        sv.Budget(epsilon=1.0, delta=delta)


@pytest.mark.parametrize("failure", [ValueError, KeyError, ZeroDivisionError, FloatingPointError])
def test_what_other_code_says_of_records_is_withheld(failure: type[Exception]) -> None:
    """A loss that fails on a margin may quote it: on 984a9f2 its words went to whoever reads the log."""

    def compute() -> np.ndarray:
        raise failure("margin 0.73 of a patient")

    calibrated = calibrate(1.0, 0.01, 2)
    event = GaussianEvent(QueryKind.GRADIENT, calibrated.sensitivity, calibrated.scale, 2, calibrated.step)
    ledger = Ledger(BUDGET)
    run = ledger.run(BUDGET)
    with pytest.raises(sv.errors.DataError) as first:
        release.gaussian(run, SimulatedNoise(0), event, calibrated, compute)
    with pytest.raises(sv.errors.DataError) as second:
        release.pure(run, PureEvent(QueryKind.SELECTION, 1e-3), compute)
    for refused in (first, second):
        assert "0.73" not in str(refused.value)
        assert refused.value.__cause__ is refused.value.__context__ is None
    assert len(ledger.history) == 2
