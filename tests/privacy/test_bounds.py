"""What the oracle charges for holds the mathematical movement and twice the rounding error of an answer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.privacy.sensitivity import norm_above, sensitivity
from tests import charges, problems

W = np.array([3.0, -1.0, 0.5, 2.0, -4.0])
STEPS = np.array([[0.1, 0, 0, 0, 0], [0, 2.0, 0, 0, 1.0]])
RISKS = {"logistic": problems.logistic(n=50), "sigmoid": problems.sigmoid(n=50)}


@pytest.mark.parametrize("name", RISKS)
def test_each_bound_is_the_movement_plus_twice_what_summing_adds(name: str) -> None:
    risk = RISKS[name]
    bounds, problem, arithmetic = risk.bounds, risk.problem, risk.bounds.arithmetic
    norm = norm_above(W)
    public = {"radius": problem.radius, "n": problem.n, "weight_norm": norm}
    pulled, bent = norm_above(problem.penalty_gradient(W)), norm_above(problem.penalty_curvature(W).ravel())
    steepest = bounds.vector_sum(W).band.largest
    bend = bounds.matrix_sum(W).span.largest
    errors = {
        "gradient": arithmetic.vectors(steepest),
        "gradient_norm": arithmetic.norm(steepest, pulled),
        "hessian": arithmetic.matrices(bend),
        "smallest_eigenvalue": arithmetic.smallest_eigenvalue(bend, bent),
    }
    moves = {
        "gradient": charges.gradient_at(risk.loss, **public),
        "gradient_norm": charges.gradient_at(risk.loss, **public),
        "hessian": charges.hessian_at(risk.loss, **public),
        "smallest_eigenvalue": charges.eigenvalue_at(risk.loss, **public),
    }
    for query, error in errors.items():
        assert error > 0.0
        charged = getattr(bounds, query)(W)
        assert moves[query] * (1.0 - 1e-8) + 2.0 * error <= charged
        assert charged <= (moves[query] + 2.0 * error) * (1.0 + 1e-8)
    gram = math.sqrt(2.0) * problem.radius**2 / problem.n
    assert bounds.gram() >= gram + 2.0 * arithmetic.matrices(1.0)


@pytest.mark.parametrize("name", RISKS)
def test_bounds_on_differences_hold_movement_and_rounding(name: str) -> None:
    risk = RISKS[name]
    bounds, problem, arithmetic = risk.bounds, risk.problem, risk.bounds.arithmetic
    public = {"radius": problem.radius, "n": problem.n}
    step = STEPS[1]
    error = arithmetic.drop(problem.slope, norm_above(step))
    length = float(np.linalg.norm(step))
    movement = charges.line(risk.loss, length, np.ones(1), **public) * (1.0 - 1e-11)
    assert bounds.difference(W, step) >= movement + 2.0 * error
    grid = charges.line(risk.loss, length, 0.5 ** np.arange(4), **public) * (1.0 - 1e-11)
    assert bounds.grid(W, step, 1.0, 0.5, 4) >= grid + 2.0 * 2.0 * error
    trials = charges.drops(risk.loss, STEPS, **public) * (1.0 - 1e-11)
    assert bounds.trials(W, STEPS) >= trials + 2.0 * error / norm_above(step)


class Coarse:
    """Arithmetic whose every sum is off by 1, so that what rounding is charged shows."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **facts: 1.0


def test_an_error_of_each_sum_is_charged_on_both_sides() -> None:
    risk = RISKS["logistic"]
    bounds, exact = risk.bounds, risk.sums.facts
    coarse = replace(exact, arithmetic=Coarse())
    requests = {
        "gradient": bounds.vector_sum(W),
        "change": bounds.vector_change(W, STEPS[1]),
        "Hessian": bounds.matrix_sum(W),
        "trials": bounds.step_drops(W, STEPS, np.linalg.norm(STEPS, axis=1)),
        "line": bounds.line_drops(W, STEPS[1], np.ones(1)),
    }
    added = {
        name: sensitivity(asked, coarse, Relation.REPLACE_ONE)
        - sensitivity(asked, exact, Relation.REPLACE_ONE)
        for name, asked in requests.items()
    }
    assert min(added.values()) >= 2.0 * (1.0 - 1e-6), added


def test_steps_that_are_orthogonal_move_together_no_further_than_one() -> None:
    bounds, steps = RISKS["logistic"].bounds, np.eye(5)[:3]
    assert bounds.trials(W, steps) <= bounds.trials(W, steps[:1]) * (1.0 + 1e-6)
    assert bounds.trials(W, np.repeat(steps[:1], 3, axis=0)) >= math.sqrt(3.0) * bounds.trials(
        W, steps[:1]
    ) * (1.0 - 1e-6)


def test_published_sensitivities_below_the_true_ones_are_refused() -> None:
    from dataclasses import replace

    from sottovoce.problem import Calibration

    steep = sv.Risk(problems.classification(n=50, radius=3.0), sv.losses.Logistic(), sv.regularizers.L2(1e-3))
    published = replace(steep.bounds, calibration=Calibration.PUBLISHED)
    with pytest.raises(sv.errors.ParameterError, match="would not be private"):
        published.gradient(W)
    usual = replace(problems.logistic(n=50).bounds, calibration=Calibration.PUBLISHED)
    assert usual.gradient(W) >= 2.0 / 50


def test_no_number_is_clamped_into_its_band() -> None:
    band = RISKS["logistic"].bounds.vector_sum(W).band
    held = band.clamped(np.array([-1.0, 0.0, np.nan]), np.full(3, np.nan))
    assert np.all(np.abs(held) <= band.largest)
