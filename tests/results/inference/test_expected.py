"""What a plan says of standard errors before data is read is near what runs then find."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from tests.results.inference.populations import overlapping

BUDGET = sv.Budget(epsilon=4.0, delta=1e-6)


def plan(n: int, **more: object) -> sv.Plan:
    return sv.plan(n=n, dim=4, loss=sv.losses.Logistic(), budget=BUDGET, timed=False, **more)  # type: ignore[arg-type]


def test_expected_errors_are_within_half_of_those_found() -> None:
    expected = plan(8000, inference=0.4).errors
    assert expected is not None
    assert expected.resolved
    lines = sv.minimize(overlapping(n=8000), budget=BUDGET, inference=0.4, simulate=0).summary().lines
    deviation = 1.0 / np.sqrt(4.0 * 3.0)
    found = np.median([line.error for line in lines]) * deviation
    assert expected.error / 1.5 < found < 1.5 * expected.error


@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
def test_the_noises_part_of_an_error_is_that_of_the_relation(relation: str) -> None:
    """Within a quarter: its scale is known before data is read; how columns spread and phi'' bends is not."""
    budget = sv.Budget(epsilon=2.0, delta=1e-6, relation=relation)
    rng = np.random.default_rng(5)
    X = np.clip(rng.normal(size=(10_000, 4)), -4.0, 4.0)
    y = rng.random(10_000) < 1.0 / (1.0 + np.exp(-X @ [0.6, -0.3, 0.0, 0.3]))
    records = sv.Records.from_arrays(X, y.astype(int), labels=(0, 1), radius=8.1, intercept=True)
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
    expected = sv.plan(
        n=10_000, dim=5, loss=sv.losses.Logistic(), budget=budget, inference=0.3, timed=False, radius=8.1
    ).errors
    assert expected is not None
    lines = sv.minimize(risk, budget=budget, inference=0.3, simulate=1, method="majorize").summary().lines
    found = np.median([line.error * line.privacy**0.5 for line in lines])
    assert 0.75 < found / expected.privacy < 1.25


def test_the_records_and_the_epsilon_named_for_an_effect_show_it() -> None:
    wanted = 0.5 * plan(8000, inference=0.3).errors.effect  # type: ignore[union-attr]
    found = plan(8000, inference=0.3, effect=wanted).errors
    assert found is not None
    assert found.records is not None
    assert found.records > 8000
    there = plan(found.records, inference=0.3).errors
    assert there is not None
    assert there.effect == pytest.approx(wanted, rel=0.02)
    assert f"{found.records} records" in str(found)
    assert found.epsilon is None
    reachable = plan(8000, inference=0.3, effect=0.99 * found.effect).errors
    assert reachable is not None
    assert reachable.epsilon is not None
    assert reachable.epsilon > BUDGET.epsilon
    few = plan(100, inference=0.3).errors
    assert few is not None
    assert not few.resolved
    assert "not be determined" in str(few)


def test_an_effect_without_inference_is_refused() -> None:
    with pytest.raises(ParameterError, match="effect"):
        plan(1000, effect=0.1)
    assert plan(1000).errors is None
