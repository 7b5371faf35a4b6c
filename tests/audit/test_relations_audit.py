"""Audits under both relations: one gradient at zero, where the canary moves it as far as is charged for."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.audit.attack import Audit, audit_mechanism
from sottovoce.audit.canary import CanaryShape, Tap
from sottovoce.privacy.oracle import Oracle

pytestmark = pytest.mark.slow


def audited(relation: str, factor: float, runs: int) -> Audit:
    budget, shape = sv.Budget(1.0, 1e-5, relation), CanaryShape(n=5, dim=2)
    pair = shape.pair(budget.relation)
    exact = [risk.gradient(np.zeros(2)) for risk in pair]

    def attack(second: bool, number: int) -> float:
        tap = Tap.seeded(2 * number + second, factor)
        oracle = Oracle(pair[second], sv.Ledger(budget).run(budget), tap)
        released = oracle.gradient(np.zeros(2), oracle.units_left).value
        return float((exact[1] - exact[0]) @ released)

    broken = "" if factor == 1.0 else f", noise times {factor:g}"
    return audit_mechanism(attack, budget, runs=runs, subject=f"a gradient under {relation}{broken}")


@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
def test_a_gradient_loses_no_more_than_it_claims_and_a_fifth_less_noise_is_noticed(relation: str) -> None:
    honest, broken = (audited(relation, factor, 40_000) for factor in (1.0, 0.8))
    assert not honest.flagged
    assert honest.mu_at_least > 0.6 * (honest.mu or 0.0)
    assert broken.flagged
