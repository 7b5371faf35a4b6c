from __future__ import annotations

import copy
import math
import pickle

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sottovoce as sv
from sottovoce.accounting.events import (
    GaussianEvent,
    PureEvent,
    SubsampledGaussianEvent,
)
from sottovoce.methods.paper.opt import OptBatch, TwoPhaseBatch
from sottovoce.methods.paper.phases import Batch
from sottovoce.methods.paper.trust_region import TrBatch
from sottovoce.methods.registry import METHODS, by_name
from sottovoce.privacy.noise import SimulatedNoise, entropy_for
from sottovoce.privacy.oracle import Oracle
from sottovoce.problem import Calibration
from sottovoce.queries import Gradient, Hessian
from tests import problems
from tests.doubles import Recorder

ORDER = 12
BUDGET = sv.Budget(epsilon=6.0, delta=1e-3)
ONE = 2**50
SLACK = 1e-9
"""What the ledger adds to an amplified price for its own rounding."""


def renyi(budget: sv.Budget = BUDGET) -> sv.Ledger:
    return sv.Ledger(budget, currency="renyi", order=ORDER)


def rounded_up(mu_squared: float) -> float:
    """To 24 bits, as the ledger does before it prices amplification."""
    mantissa, exponent = math.frexp(mu_squared)
    return math.ldexp(math.ceil(mantissa * 2**24), exponent - 24)


def raw_price(event: object) -> float:
    """What dp-accounting itself says the event costs, or the plain Gaussian price where that is less."""
    match event:
        case GaussianEvent():
            return ORDER * (event.sensitivity / event.scale) ** 2 / 2.0
        case PureEvent():
            return min(event.epsilon, ORDER * event.epsilon**2 / 2.0)
        case SubsampledGaussianEvent():
            mu_squared = (event.sensitivity / event.scale) ** 2
    accountant = RdpAccountant([ORDER], dp_accounting.NeighboringRelation.REPLACE_ONE)
    gaussian = dp_accounting.GaussianDpEvent(rounded_up(mu_squared) ** -0.5)
    accountant.compose(
        dp_accounting.SampledWithoutReplacementDpEvent(event.population, event.batch, gaussian)
    )
    return min(float(accountant.rdp[0]) * (1.0 + SLACK), ORDER * mu_squared / 2.0)


@pytest.mark.parametrize("calibration", ["tight", "published"])
@pytest.mark.parametrize("kind", [OptBatch, TwoPhaseBatch, TrBatch])
def test_what_mini_batches_spent_is_what_dp_accounting_says(kind, calibration: str) -> None:  # type: ignore[no-untyped-def]
    ledger = renyi()
    sv.minimize(
        problems.sigmoid(n=3000, dim=3),
        budget=BUDGET,
        method=kind(batch=Batch(fraction=0.1)),
        tolerance=sv.Tolerance(gradient=0.08, curvature=0.3),
        start=np.full(3, 0.5),
        ledger=ledger,
        simulate=1,
        calibration=calibration,
    )
    events = [grant.event for grant in ledger.history]
    assert any(isinstance(event, SubsampledGaussianEvent) for event in events)
    assert ledger.units_spent <= ledger.units_cap
    assert ledger.units_spent / ONE == pytest.approx(sum(map(raw_price, events)), abs=1e-9)


def oracle(risk: sv.Risk, ledger: sv.Ledger, seed: int = 0) -> tuple[Oracle, Recorder]:
    noise = Recorder(SimulatedNoise(seed))
    return Oracle(risk, ledger.run(BUDGET), noise, Calibration.TIGHT, entropy_for(seed)), noise


def test_fresh_batches_differ_and_are_charged_one_by_one() -> None:
    risk, ledger = problems.sigmoid(n=2000), renyi()
    ask, noise = oracle(risk, ledger)
    batched = ask.batched(100)
    units = ask.units_left // 10
    for query in (batched.gradient, batched.gradient, batched.hessian, batched.hessian):
        answer = query(np.ones(5), units)
        assert 0.999 * units <= answer.units <= units
        assert answer.sampling > 0.0
    assert not np.array_equal(noise.exact[0], noise.exact[1])
    assert not np.array_equal(noise.exact[2], noise.exact[3])
    for grant in ledger.history:
        assert isinstance(grant.event, SubsampledGaussianEvent)
        assert (grant.event.batch, grant.event.population) == (100, 2000)
    gradient = ledger.history[0].event
    assert gradient.sensitivity >= 19.9 * risk.bounds.gradient(np.ones(5))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_batch_is_charged_by_the_bounds_of_the_risk_it_is(kind: str) -> None:
    """Rounding allowances included: what is computed on a batch is what its own Risk would compute."""
    X, y = problems.arrays(n=3000)
    table = sparse.csr_array(X) if kind == "sparse" else X
    risk = sv.Risk(sv.Records.from_arrays(table, y, labels=(-1, 1)), sv.losses.Savage())
    batched = oracle(risk, renyi())[0].batched(150)
    alone = risk.subset(np.arange(150)).bounds
    for w in (np.zeros(5), np.ones(5)):
        assert batched._batch_bounds.gradient(w) == alone.gradient(w)
        assert batched._batch_bounds.hessian(w) == alone.hessian(w)


@pytest.mark.parametrize("query", [Gradient(np.ones(5)), Hessian(np.ones(5))])
def test_a_quoted_price_buys_the_noise_it_was_quoted_for(query: Gradient | Hessian) -> None:
    ask, _ = oracle(problems.sigmoid(n=2000), renyi())
    for source in (ask, ask.batched(200)):
        price = source.price(query, 0.05)
        gradient = source.gradient(np.ones(5), price)
        answer = gradient if isinstance(query, Gradient) else source.hessian(np.ones(5), price)
        assert 0.98 * 0.05 <= answer.scale <= 0.05


def test_a_refused_batch_query_draws_no_batch() -> None:
    risk, ledger = problems.sigmoid(n=2000), renyi()
    drawn: list[int] = []

    def entropy(count: int) -> bytes:
        drawn.append(count)
        return bytes(count)

    ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0), Calibration.TIGHT, entropy).batched(100)
    for units in (0, -1, ask.units_left + 1):
        with pytest.raises(sv.errors.BudgetExceeded):
            ask.gradient(np.ones(5), units)
        with pytest.raises(sv.errors.BudgetExceeded):
            ask.hessian(np.ones(5), units)
    assert not drawn
    assert not ledger.history


def test_a_batch_oracle_is_neither_pickled_nor_copied_and_shows_no_indices() -> None:
    ask = oracle(problems.sigmoid(n=2000), renyi())[0].batched(100)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(sv.errors.SottovoceError):
            attempt(ask)
    assert "100 of 2000" in repr(ask)
    with pytest.raises(sv.errors.ParameterError):
        oracle(problems.sigmoid(n=2000), renyi())[0].batched(2001)


def test_batch_answers_never_certify() -> None:
    """Published mini-batches stop on answers of batches: the certificate promises what is public only."""
    risk = problems.sigmoid(n=4000)
    result = sv.minimize(
        risk,
        budget=BUDGET,
        method="opt-b",
        tolerance=sv.Tolerance(gradient=0.5, curvature=0.6),
        simulate=0,
        calibration="published",
    )
    assert result.stop is sv.Stop.WITHIN_NOISE
    assert result.certificate.gradient_norm_at_most == risk.problem.gradient_ceiling(result.weights)
    assert result.certificate.curvature_at_least == risk.problem.curvature_floor


def test_a_private_run_without_a_ledger_opens_a_renyi_one() -> None:
    result = sv.minimize(
        problems.sigmoid(n=3000, dim=3),
        budget=BUDGET,
        method="2opt-b",
        tolerance=sv.Tolerance(gradient=0.1, curvature=0.3),
    )
    assert not result.simulated
    assert len(result.trace) >= 1


@settings(max_examples=25, deadline=None)
@given(
    method=st.sampled_from(sorted(METHODS)),
    epsilon=st.floats(0.3, 10.0),
    n=st.integers(20, 400),
    gradient=st.floats(0.02, 0.5),
    seed=st.integers(0, 1000),
    calibration=st.sampled_from(["tight", "published"]),
)
def test_no_run_ever_exceeds_its_budget(
    method: str, epsilon: float, n: int, gradient: float, seed: int, calibration: str
) -> None:
    budget = sv.Budget(epsilon, 1e-2)
    published = calibration == "published" and METHODS[method].published
    ledger = renyi(sv.Budget(epsilon, 1e-2)) if method.endswith("-b") else sv.Ledger(budget)
    options = (
        {"calibration": "published", "tolerance": sv.Tolerance(gradient=max(gradient, 0.2))}
        if published
        else {}
    )
    result = sv.minimize(
        problems.sigmoid(n=n, dim=2, seed=seed % 3),
        **{
            "budget": budget,
            "method": by_name(method),
            "tolerance": sv.Tolerance(gradient=gradient, curvature=gradient),
            "ledger": ledger,
            "simulate": seed,
            **options,
        },  # type: ignore[arg-type]
    )
    assert sum(grant.units for grant in ledger.history) == ledger.units_spent <= ledger.units_cap
    whole = ledger.currency.mu_squared(ledger.units_cap)
    assert sum(row.mu_squared for row in result.trace) <= whole * (1 + 1e-9)
