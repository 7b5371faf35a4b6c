from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import GaussianEvent, PureEvent, QueryKind
from sottovoce.methods.base import Evidence, State
from sottovoce.methods.paper.constants import Curve
from sottovoce.methods.paper.line_search import AboveThreshold, Backtracking, GridRelease, Release
from sottovoce.planning.dry_run import Planned
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.problem import Calibration
from sottovoce.results.certificate import Levels
from tests import problems
from tests.doubles import WatchedRisk

GENEROUS = sv.Budget(epsilon=20.0, delta=0.1)
RELEASES = [AboveThreshold(), GridRelease()]


def stand(
    risk: sv.Risk, w: np.ndarray, budget: sv.Budget = GENEROUS, seed: int = 0
) -> tuple[State, sv.Ledger]:
    ledger = sv.Ledger(budget)
    ask = Oracle(risk, ledger.run(budget), SimulatedNoise(seed))
    levels = Levels(confidence=0.99, gradient_tests=1, curvature_tested=True)
    return State(ask=ask, levels=levels, w=w, watch=lambda row: None), ledger


def exact_evidence(risk: sv.Risk, w: np.ndarray, units: int) -> Evidence:
    return Evidence(w=w, gradient=Planned(risk.gradient(w), 1e-9, units))


@pytest.mark.parametrize("release", RELEASES)
def test_the_longest_step_with_enough_decrease_is_taken(release: Release) -> None:
    """The noise is 1e-5 of the decreases compared, none of which is that close to what is asked."""
    risk = problems.logistic(n=200_000)
    w = 3.0 * np.ones(5)
    state, _ = stand(risk, w)
    curve = Curve.of(risk.problem)
    here = exact_evidence(risk, w, state.ask.units_left // 4)
    step = Backtracking(curve=curve, release=release).gradient_step(state, here)
    gradient = risk.gradient(w)
    squared = float(gradient @ gradient)
    lengths = 20.0 * (0.6 / curve.smoothness) * 0.6 ** np.arange(6)
    enough = [risk.value(w) - risk.value(w - a * gradient) >= 0.6 * a * squared for a in lengths]
    expected = lengths[enough.index(True)] if any(enough) else 0.6 / curve.smoothness
    assert step.vector == pytest.approx(-expected * gradient, rel=1e-9)


@pytest.mark.parametrize("release", RELEASES)
def test_uphill_the_fallback_is_taken_and_the_search_is_paid(release: Release) -> None:
    risk = problems.logistic(n=200_000)
    w = 3.0 * np.ones(5)
    state, ledger = stand(risk, w)
    units = state.ask.units_left // 4
    uphill = Evidence(w=w, gradient=Planned(-risk.gradient(w), 1e-9, units))
    curve = Curve.of(risk.problem)
    step = Backtracking(curve=curve, release=release).gradient_step(state, uphill)
    assert step.vector == pytest.approx(0.6 / curve.smoothness * risk.gradient(w), rel=1e-9)
    (grant,) = ledger.history
    assert grant.units == step.units
    assert 0.99 * units <= grant.units <= units
    assert grant.event.query is QueryKind.LINE_SEARCH
    assert isinstance(grant.event, PureEvent if isinstance(release, AboveThreshold) else GaussianEvent)


@pytest.mark.parametrize("release", RELEASES)
def test_negative_curvature_is_followed_as_far_as_it_pays(release: Release) -> None:
    X = np.ones((100_000, 1))
    y = np.tile([1.0, -1.0], 50_000)
    risk = sv.Risk(
        sv.Records.from_arrays(X, y, target=(-1.0, 1.0)), sv.losses.GemanMcClure(), sv.regularizers.L2(0.0)
    )
    state, _ = stand(risk, np.zeros(1))
    eigenvalue = risk.smallest_eigenvalue(np.zeros(1))
    curve = Curve.of(risk.problem)
    here = exact_evidence(risk, np.zeros(1), state.ask.units_left // 4)
    rule = Backtracking(curve=curve, release=release)
    step = rule.curvature_step(state, here, np.ones(1), eigenvalue)
    fallback = rule.share.curvature_fallback(rule.noise, curve, eigenvalue)
    lengths = 20.0 * fallback * 0.5 ** np.arange(5)
    enough = [
        -risk.value(np.array([a])) + risk.value(np.zeros(1)) >= 0.125 * abs(eigenvalue) * a * a
        for a in lengths
    ]
    assert step.vector[0] == pytest.approx(lengths[enough.index(True)], rel=1e-9)


def test_a_search_that_cannot_be_paid_takes_the_fallback_and_touches_nothing() -> None:
    watched = WatchedRisk(problems.logistic())
    state, ledger = stand(watched, np.ones(5))  # type: ignore[arg-type]
    here = Evidence(w=state.w, gradient=Planned(np.ones(5), 1.0, state.ask.units_left + 1))
    step = Backtracking(curve=Curve(1.0, 1.0)).gradient_step(state, here)
    assert step.vector == pytest.approx(-0.6 * np.ones(5))
    assert step.units == 0
    assert watched.touched == 0
    assert not ledger.history


def test_a_noisy_direction_of_any_length_stays_within_the_public_limit() -> None:
    risk = problems.logistic()
    for release in RELEASES:
        state, _ = stand(risk, np.ones(5))
        here = Evidence(w=state.w, gradient=Planned(np.full(5, 1e9), 1e9, state.ask.units_left // 2))
        step = Backtracking(curve=Curve(1.0, 1.0), release=release).gradient_step(state, here)
        assert np.linalg.norm(step.vector) <= risk.problem.weight_limit * (1 + 1e-9)
    with pytest.raises(sv.errors.ParameterError, match="limit"):
        state.ask.grid(state.w, np.full(5, 1e9), 1.0, 0.5, 3, 1000)


def test_the_grids_noise_is_what_was_charged() -> None:
    """4,000 trial values: their deviation is within 6 % of the scale but for 1e-7."""
    risk = problems.logistic()
    w, direction = np.ones(5), -np.ones(5)
    ledger = sv.Ledger(GENEROUS)
    ask = Oracle(risk, ledger.run(GENEROUS), SimulatedNoise(1))
    units = ask.units_left // 2000
    exact = np.array([risk.value(w) - risk.value(w + 2.0 * 0.6**i * direction) for i in range(4)])
    errors = np.array([ask.grid(w, direction, 2.0, 0.6, 4, units).value - exact for _ in range(1000)])
    event = ledger.history[0].event
    assert isinstance(event, GaussianEvent)
    spread = 2.0 * risk.problem.slope * np.linalg.norm(direction) * 2.0 / risk.n
    assert event.sensitivity >= spread * np.sqrt(sum(0.36**i for i in range(4)))
    assert np.std(errors) == pytest.approx(event.scale, rel=0.06)


def test_the_published_search_has_the_papers_sensitivity_and_privacy() -> None:
    risk = problems.logistic()
    ledger = sv.Ledger(GENEROUS)
    ask = Oracle(risk, ledger.run(GENEROUS), SimulatedNoise(1), Calibration.PUBLISHED)
    units = ask.search_price(0.25)
    ask.backtrack(np.ones(5), -np.ones(5), np.array([2.0, 1.0]), np.zeros(2), units)
    (grant,) = ledger.history
    assert isinstance(grant.event, PureEvent)
    assert grant.event.epsilon == pytest.approx(0.25, rel=1e-5)
    assert grant.event.epsilon >= 0.25
