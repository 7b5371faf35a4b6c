"""What a plan says of standard errors before data is read is near what runs then find."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from tests.inference.populations import overlapping

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
    assert "no ends" in str(few)


def test_an_effect_without_inference_is_refused() -> None:
    with pytest.raises(ParameterError, match="effect"):
        plan(1000, effect=0.1)
    assert plan(1000).errors is None
