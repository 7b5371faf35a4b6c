"""The paper's own constants: its noise, its counts, its test."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import PureEvent, QueryKind
from sottovoce.accounting.renyi.exchange import rho_published
from sottovoce.methods.paper.constants import Curve
from sottovoce.methods.paper.opt import TwoPhaseSearch
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.privacy.release import mirrored, packing_for, triangle
from sottovoce.problem import Calibration
from sottovoce.queries import Form
from tests import problems

BUDGET = sv.Budget(epsilon=1.0, delta=1e-5)
NARROW = sv.Tolerance(gradient=0.1, curvature=0.4)


def published(
    method: str, tolerance: sv.Tolerance, n: int = 20_000, seed: int = 0
) -> tuple[sv.Result, sv.Ledger]:
    ledger = sv.Ledger(BUDGET)
    risk = sv.Risk(problems.classification(n=n), sv.losses.Logistic(), sv.regularizers.Tukey(1e-3))
    result = sv.minimize(
        risk,
        budget=BUDGET,
        method=method,
        tolerance=tolerance,
        start=3.0 * np.ones(5),
        ledger=ledger,
        simulate=seed,
        calibration="published",
    )
    return result, ledger


@pytest.mark.parametrize(("method", "queries"), [("opt", 2), ("opt-ls", 3), ("tr", 2)])
def test_noise_is_the_papers_for_its_number_of_visits(method: str, queries: int) -> None:
    _, ledger = published(method, NARROW)
    decrease = {"opt": 0.4, "opt-ls": 0.18}
    if method == "tr":
        visits = math.ceil(6 * 0.5 / 0.1**1.5)
    else:
        visits = math.ceil(0.5 / (decrease[method] * (0.1 / 1.1) ** 2))
    sigma = math.sqrt(queries * visits / (2.0 * rho_published(1.0, 1e-5)))
    scales = {
        QueryKind.GRADIENT: 2.0 / 20_000 * sigma,
        QueryKind.HESSIAN: 2.0 * math.sqrt(5) / 20_000 * sigma,
    }
    seen = set()
    for grant in ledger.history:
        seen.add(grant.event.query)
        if isinstance(grant.event, PureEvent):
            assert grant.event.epsilon == pytest.approx(1.0 / sigma, rel=1e-5)
        else:
            assert grant.event.scale == pytest.approx(scales[grant.event.query], rel=1e-5)
            assert grant.event.scale <= scales[grant.event.query]
    assert QueryKind.GRADIENT in seen


def test_a_run_stops_on_noisy_answers_within_the_tolerances_over_one_point_one() -> None:
    result, _ = published("opt", sv.Tolerance(gradient=0.3, curvature=0.5))
    assert result.stop is sv.Stop.WITHIN_NOISE
    last = result.trace[-1]
    assert last.gradient_norm <= 0.3 / 1.1
    assert last.curvature >= -0.5 / 1.1


def test_the_curvature_tolerance_defaults_to_the_papers_square_root() -> None:
    result, _ = published("opt", sv.Tolerance(gradient=0.25))
    assert result.tolerance.curvature == 0.5


def test_the_second_phase_gets_what_the_first_left() -> None:
    """Phase one ends without a stop; phase two's noise is for rho minus what was charged, not for rho/4."""
    result, ledger = published("2opt-ls", sv.Tolerance(gradient=0.1, curvature=0.3), n=300)
    target = sv.Tolerance(gradient=0.1 / 1.1, curvature=0.3 / 1.1)
    total = TwoPhaseSearch().visits(Curve(1.0, 1.0), target, target, 0.5)
    first = math.ceil(math.sqrt(total))
    assert result.stop in (sv.Stop.STEPS_EXHAUSTED, sv.Stop.OUT_OF_BUDGET)
    gradients = [grant.event for grant in ledger.history if grant.event.query is QueryKind.GRADIENT]
    rho = rho_published(1.0, 1e-5)
    sigma = math.sqrt(3 * first / (2 * 0.75 * rho))
    assert gradients[0].scale == pytest.approx(2.0 / 300 * sigma, rel=1e-5)
    assert gradients[first - 1].scale == pytest.approx(gradients[0].scale, rel=1e-6)
    assert gradients[first].scale > 1.01 * gradients[0].scale
    assert gradients[first].scale <= 2.0 / 300 * math.sqrt(3 * total / (2 * 0.25 * rho))
    assert ledger.units_spent <= ledger.units_cap


def test_published_hessian_noise_is_independent_with_one_deviation_on_and_above_the_diagonal() -> None:
    """1,500 matrices: deviations are within 6 % but for 1e-7."""
    risk = problems.logistic(n=5000)
    budget = sv.Budget(epsilon=20.0, delta=0.1)
    ledger = sv.Ledger(budget)
    ask = Oracle(risk, ledger.run(budget), SimulatedNoise(2), Calibration.PUBLISHED)
    units = ask.units_left // 1600
    w = np.ones(5)
    exact = risk.hessian(w)
    answers = [ask.hessian(w, units) for _ in range(1500)]
    noise = np.array([answer.value - exact for answer in answers])
    event = ledger.history[0].event
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    assert event.sensitivity == pytest.approx(2.0 * math.sqrt(5) / 5000, rel=1e-5)
    assert np.std(noise[:, np.arange(5), np.arange(5)]) == pytest.approx(event.scale, rel=0.06)
    assert np.std(noise[:, *np.triu_indices(5, 1)]) == pytest.approx(event.scale, rel=0.06)
    assert answers[0].scale == pytest.approx(math.sqrt(2.0) * event.scale)


def test_the_plain_triangle_is_no_longer_than_the_matrix_and_comes_back() -> None:
    rng = np.random.default_rng(0)
    for d in (1, 2, 7):
        A = rng.standard_normal((d, d))
        A = A + A.T
        packed = triangle(A)
        assert np.linalg.norm(packed) <= np.linalg.norm(A) * (1 + 1e-12)
        assert np.allclose(packed, A[np.triu_indices(d)], rtol=1e-14)
        assert np.allclose(mirrored(packed), A, rtol=1e-14)
        for choice in (packing_for(Form.SYMMETRIC, published=flag) for flag in (True, False)):
            assert np.allclose(choice.unpack(choice.pack(A)), A, rtol=1e-14)
