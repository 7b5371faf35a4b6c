"""`descent-b` under zero-out makes the promise of DP-SGD libraries: others count its charges as it does."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant

import sottovoce as sv
from sottovoce.accounting.events import Draw, GaussianEvent, SubsampledGaussianEvent
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.training import account_for, goal_for
from tests.covering import covering

N, DIM, DELTA = 4000, 3, 1e-5
ADDED = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (N, DIM))
    return X, np.where(X @ [3.0, -1.0, 0.0] + rng.logistic(size=N) > 0, 1.0, -1.0)


def linear() -> Any:
    X, y = data()
    return sv.Risk(sv.Records.from_arrays(X, y, labels=(-1, 1)), sv.losses.Logistic())


def module() -> Any:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from tests.autodiff import models

    return sv.autodiff.TorchRisk(
        models.Linear(DIM), models.logistic, data(), gradient_clip=1.0, curvature_clip=0.25
    )


@pytest.mark.parametrize(("epsilon", "made"), covering(product([0.5, 2.0], [linear, module]), together=1))
def test_dp_accounting_counts_a_run_on_poisson_batches_as_the_ledger_does(made: Any, epsilon: float) -> None:
    """Noise multipliers, rates and steps of one run, read by RDP under add or remove: what was claimed."""
    risk, method = made(), replace(BatchDescent(), steps=60)
    budget = sv.Budget(epsilon, DELTA, "zero-out")
    goal = goal_for(method, risk.problem, budget, None, 0.99, "tight")
    ledger = account_for(method, risk.problem, risk.start, goal, budget)
    sv.minimize(risk, budget=budget, method=method, ledger=ledger, simulate=1)
    theirs = RdpAccountant([ledger.order], ADDED)
    batches = 0
    for grant in ledger.history:
        event: Any = grant.event
        noise = dp_accounting.GaussianDpEvent(event.scale / event.sensitivity)
        if isinstance(event, SubsampledGaussianEvent):
            assert event.draw is Draw.POISSON
            batches += event.batch == method.batch(N)
            theirs.compose(dp_accounting.PoissonSampledDpEvent(event.batch / N, noise))
        else:
            assert isinstance(event, GaussianEvent)
            theirs.compose(noise)
    assert batches >= 60
    assert 0.97 * epsilon <= theirs.get_epsilon(DELTA) <= epsilon


@pytest.mark.parametrize("made", [linear, module])
def test_a_batch_gradient_is_charged_for_one_term_over_the_expected_size(made: Any) -> None:
    """The clip, or sup |phi'| R, over the size of a batch: half of what a replaced record moves it by, or
    hardly more where no two records are quite as far apart."""
    risk, method = made(), BatchDescent()
    far = 50.0 * np.eye(DIM)[0]
    moves = {}
    for relation in ("zero-out", "replace-one"):
        budget = sv.Budget(1.0, DELTA, relation)
        goal = goal_for(method, risk.problem, budget, None, 0.99, "tight")
        run = account_for(method, risk.problem, risk.start, goal, budget).run(budget)
        asked = sv.privacy.oracle.Oracle(risk, run, sv.privacy.noise.noise_for(0)).batched(500)
        moves[relation] = 500 * asked._batch_bounds.gradient(far)
    assert moves["zero-out"] == pytest.approx(1.0, rel=1e-6)
    assert moves["replace-one"] == pytest.approx(2.0, rel=0.02)
