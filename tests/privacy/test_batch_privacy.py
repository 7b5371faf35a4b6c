"""Answers from batches: paid for first, from a batch nobody has seen, at the sensitivity of the batch."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Draw, Ledger, SubsampledGaussianEvent
from sottovoce.accounting.events import QueryKind
from sottovoce.accounting.relations import Relation
from sottovoce.losses import Logistic
from sottovoce.privacy import sampling
from sottovoce.privacy.batches import BatchOracle
from sottovoce.privacy.noise import Noise, SimulatedNoise, entropy_for
from sottovoce.privacy.oracle import Oracle
from sottovoce.privacy.sampling import draw
from tests import problems
from tests.doubles import Recorder

BUDGET = sv.Budget(epsilon=2.0, delta=1e-5)
SIZE, N = 40, 400
W = np.ones(5)


class Lottery:
    """A risk that remembers which rows were drawn from it."""

    def __init__(self) -> None:
        self._risk = problems.logistic(n=N)
        self.batches: list[tuple[int, ...]] = []
        self._whole = self._risk.sums.subset
        self._risk.sums.__dict__["subset"] = self._drawn

    def __getattr__(self, name: str) -> object:
        return getattr(self._risk, name)

    def _drawn(self, indices: np.ndarray, n: int | None = None) -> object:
        self.batches.append(tuple(indices.tolist()))
        return self._whole(indices, n)


def ask(*, noise: object = None) -> tuple[BatchOracle, Lottery, Ledger]:
    risk, ledger = Lottery(), Ledger(BUDGET, currency="renyi", order=16.0)
    oracle = Oracle(risk, ledger.run(BUDGET), noise or SimulatedNoise(0))  # type: ignore[arg-type]
    return oracle.batched(SIZE), risk, ledger


QUERIES: dict[QueryKind, Callable[[BatchOracle, int], object]] = {
    QueryKind.GRADIENT: lambda oracle, units: oracle.gradient(W, units),
    QueryKind.HESSIAN: lambda oracle, units: oracle.hessian(W, units),
}


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_is_charged_once_with_its_batch_and_its_bound(query: QueryKind) -> None:
    oracle, risk, ledger = ask()
    units = oracle.units_left // 3
    QUERIES[query](oracle, units)
    (grant,) = ledger.history
    assert isinstance(grant.event, SubsampledGaussianEvent)
    assert (grant.event.query, grant.event.batch, grant.event.population) == (query, SIZE, N)
    assert 0.5 * units <= grant.units <= units
    batch = risk._risk.subset(draw(N, SIZE)).bounds
    bound = batch.gradient(W) if query is QueryKind.GRADIENT else batch.hessian(W)
    assert grant.event.sensitivity >= bound


@pytest.mark.parametrize("query", QUERIES)
def test_a_refused_query_draws_no_batch(query: QueryKind, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle, risk, _ = ask()
    for units in (0, -1, oracle.units_left + 1):
        with pytest.raises(sv.errors.BudgetExceeded):
            QUERIES[query](oracle, units)

    def refuse(self: object, event: object) -> None:
        raise sv.errors.BudgetExceeded("refused")

    monkeypatch.setattr(type(oracle._run), "charge", refuse)
    with pytest.raises(sv.errors.BudgetExceeded):
        QUERIES[query](oracle, oracle.units_left)
    assert risk.batches == []


def test_every_query_gets_a_batch_of_its_own() -> None:
    """Two equal batches of 40 out of 400 have probability below 1e-50."""
    oracle, risk, _ = ask()
    for query in (*QUERIES.values(), *QUERIES.values()):
        query(oracle, oracle.units_left // 8)
    assert len(set(risk.batches)) == 4
    for batch in risk.batches:
        assert len(set(batch)) == SIZE


def test_private_batches_come_from_the_operating_system_and_simulated_ones_apart_from_their_noise() -> None:
    assert entropy_for(None) is os.urandom
    assert entropy_for(3)(16) == entropy_for(3)(16) != np.random.default_rng(3).bytes(16)


def test_two_private_oracles_share_no_batch() -> None:
    batches = set()
    for _ in range(3):
        oracle, risk, _ = ask()
        oracle.gradient(W, oracle.units_left)
        batches |= set(risk.batches)
    assert len(batches) == 3


def test_the_noise_of_a_batch_has_the_scale_that_was_charged() -> None:
    """4,000 and more normal variables: their deviation is within 6 % of the truth but for 1e-7."""
    recorder = Recorder(SimulatedNoise(3))
    oracle, _, ledger = ask(noise=recorder)
    units = oracle.units_left // 1000
    for _ in range(800):
        oracle.gradient(W, units)
    errors = np.concatenate([a - b for a, b in zip(recorder.tape, recorder.exact, strict=True)])
    event = ledger.history[0].event
    assert np.std(errors) == pytest.approx(event.scale, rel=0.06)  # type: ignore[union-attr]


def batches_under_zero_out(*, size: int = SIZE, noise: Noise | None = None):
    budget = replace(BUDGET, relation=Relation.ZERO_OUT)
    risk, ledger = problems.logistic(n=N), Ledger(budget, currency="renyi", order=16.0)
    oracle = Oracle(risk, ledger.run(budget), noise or SimulatedNoise(0), entropy=entropy_for(5))
    return oracle.batched(size), risk, ledger


def test_a_poisson_batch_is_charged_for_one_record_over_its_expected_size() -> None:
    oracle, risk, ledger = batches_under_zero_out()
    oracle.gradient(W, oracle.units_left // 4)
    (grant,) = ledger.history
    longest = Logistic().slope_within(risk.problem.radius * float(np.linalg.norm(W))) * risk.problem.radius
    assert isinstance(grant.event, SubsampledGaussianEvent)
    assert grant.event.draw is Draw.POISSON
    assert longest / SIZE <= grant.event.sensitivity <= longest / SIZE * (1 + 1e-5)


def test_a_poisson_batch_is_a_sum_over_its_expected_size_however_many_it_holds() -> None:
    """Also where it holds nobody: a mean over those drawn would move by more than one record."""
    recorder = Recorder(SimulatedNoise(3))
    oracle, risk, _ = batches_under_zero_out(size=2, noise=recorder)
    entropy = entropy_for(5)
    seen = set()
    for _ in range(12):
        chosen = sampling.poisson(N, 2, entropy)
        seen.add(chosen.size)
        oracle.gradient(W, 1)
        alone = [risk.subset(np.array([i])).gradient(W) - risk.regularizer.gradient(W) for i in chosen]
        due = np.sum(alone, axis=0) / 2
        np.testing.assert_allclose(recorder.exact[-1], due, atol=1e-12)
    assert 0 in seen
    assert max(seen) > 2


def test_a_batch_oracle_is_neither_pickled_nor_copied() -> None:
    oracle, _, _ = ask()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(sv.errors.SottovoceError):
            attempt(oracle)
