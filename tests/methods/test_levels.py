"""The levels of everything a run might certify sum to at most 1 - confidence, whatever the method does."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods import base
from sottovoce.methods.registry import METHODS
from sottovoce.results.certificate import Levels, norm_bound, scalar_margin, spectral_margin
from tests import problems
from tests.covering import covering

CONFIDENCE = 0.99
RISKS = {"convex": problems.logistic(400, 3), "nonconvex": problems.sigmoid(400, 3)}
TOLERANCES = {
    "none": None,
    "loose": sv.Tolerance(gradient=0.2, curvature=0.4),
    "tight": sv.Tolerance(gradient=0.02, curvature=0.01),
}
FREE = ("majorize", "cubic", "descent-b")
CASES = [
    (method, tolerance, risk)
    for method, tolerance, risk in product(METHODS, TOLERANCES, RISKS)
    if tolerance != "none" or method in FREE
]


@dataclass
class Handed:
    gradient: list[float] = field(default_factory=list)
    curvature: list[float] = field(default_factory=list)
    planned: bool = True


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> Handed:
    """The level behind every bound a state could state, read off its answers and margins."""
    found = Handed()
    asked = {name: getattr(base.State, name) for name in ("gradient", "hessian", "smallest_eigenvalue")}

    def gradient(state: Any, units: int, ask: Any = None) -> Any:
        here = asked["gradient"](state, units, ask)
        found.gradient.append(here.level)
        return here

    def hessian(state: Any, here: Any, units: int, ask: Any = None) -> Any:
        answer, seen = asked["hessian"](state, here, units, ask)
        excess = seen.eigenvalue_margin / answer.scale - math.sqrt(2.0 * state.problem.dim)
        found.curvature.append(math.exp(-(excess**2) / 2.0))
        found.planned &= state.levels.curvature_tested or found.curvature[-1] == 0.0
        return answer, seen

    def smallest_eigenvalue(state: Any, here: Any, units: int) -> Any:
        answer = asked["smallest_eigenvalue"](state, here, units)
        excess = state.evidence.eigenvalue_margin / answer.scale
        found.curvature.append(0.5 * math.erfc(excess / math.sqrt(2.0)))
        return answer

    for name, watched in (
        ("gradient", gradient),
        ("hessian", hessian),
        ("smallest_eigenvalue", smallest_eigenvalue),
    ):
        monkeypatch.setattr(base.State, name, watched)
    return found


@pytest.mark.parametrize(("method", "tolerance", "risk"), covering(CASES))
def test_the_levels_of_a_run_sum_to_at_most_its_error(
    method: str, risk: str, tolerance: str, handed: Handed
) -> None:
    sv.minimize(
        RISKS[risk],
        budget=sv.Budget(8.0, 1e-5),
        method=method,
        tolerance=TOLERANCES[tolerance],
        confidence=CONFIDENCE,
        simulate=1,
    )
    error = (1.0 - CONFIDENCE) * (1.0 + 1e-6)
    assert sum(handed.gradient) <= (0.5 * error if any(handed.curvature) else error)
    assert sum(handed.curvature) <= 0.5 * error
    assert handed.planned


@pytest.mark.parametrize("method", ["majorize", "cubic"])
@pytest.mark.parametrize("dim", [3, 300])
def test_every_planned_visit_gets_a_level(method: str, dim: int, handed: Handed) -> None:
    """A plan that counts too few visits would leave the last of them, the measured end, without one."""
    risk = problems.logistic(400, dim)
    result = sv.minimize(risk, budget=sv.Budget(8.0, 1e-5), method=method, simulate=0)
    assert result.stop is sv.Stop.FINISHED
    assert min(handed.gradient + handed.curvature) > 0.0
    assert result.certificate.gradient_norm_at_most < risk.problem.gradient_ceiling(result.weights)


def test_a_test_beyond_the_plan_is_handed_nothing() -> None:
    levels = Levels(confidence=0.9, gradient_tests=3, curvature_tested=True)
    parts = (levels, levels.on_the_way(), levels.at_the_end(), levels.untested())
    rng = np.random.default_rng(0)
    taken = [
        part.take_curvature() if rng.random() < 0.5 else part.take_gradient()
        for part in (parts[rng.integers(4)] for _ in range(400))
    ]
    assert 0.05 < sum(taken) <= 0.1 * (1.0 + 1e-8)
    assert levels.take_gradient() == 0.0
    assert Levels(confidence=0.9, gradient_tests=3, curvature_tested=False).take_curvature() == 0.0


def test_at_level_zero_nothing_is_certified() -> None:
    assert norm_bound(1.0, 0.1, 5, 0.0) == (math.inf, False)
    assert spectral_margin(0.1, 5, 0.0) == scalar_margin(0.1, 0.0) == math.inf
