"""What the oracle charges for holds the mathematical movement and twice the rounding error of an answer."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.privacy import sensitivity
from sottovoce.privacy.bounds import norm_above
from tests import problems

W = np.array([3.0, -1.0, 0.5, 2.0, -4.0])
STEPS = np.array([[0.1, 0, 0, 0, 0], [0, 2.0, 0, 0, 1.0]])
RISKS = {"logistic": problems.logistic(n=50), "sigmoid": problems.sigmoid(n=50)}


@pytest.mark.parametrize("name", RISKS)
def test_each_bound_is_the_movement_plus_twice_the_rounding_error(name: str) -> None:
    risk = RISKS[name]
    bounds, problem, arithmetic = risk.bounds, risk.problem, risk.bounds.arithmetic
    norm = norm_above(W)
    curvature = max(problem.curvature_low, problem.curvature_high)
    pulled = norm_above(problem.regularizer.gradient(W))
    bent = norm_above(problem.regularizer.curvature(W))
    public = {"radius": problem.radius, "n": problem.n}
    signs = {"curvature_low": problem.curvature_low, "curvature_high": problem.curvature_high}
    steep = {"slope": problem.slope, "weight_norm": norm}
    errors = {
        "gradient": arithmetic.gradient(curvature=curvature, added=pulled, **steep),
        "gradient_norm": arithmetic.gradient_norm(curvature=curvature, added=pulled, **steep),
        "hessian": arithmetic.hessian(curvature=curvature, third=problem.third, weight_norm=norm, added=bent),
        "smallest_eigenvalue": arithmetic.smallest_eigenvalue(
            curvature=curvature, third=problem.third, weight_norm=norm, added=bent
        ),
    }
    moves = {
        "gradient": sensitivity.gradient_at(risk.loss, weight_norm=norm, **public),
        "gradient_norm": sensitivity.gradient_at(risk.loss, weight_norm=norm, **public),
        "hessian": sensitivity.hessian(**signs, **public),
        "smallest_eigenvalue": sensitivity.smallest_eigenvalue(**signs, **public),
    }
    for query, error in errors.items():
        assert error > 0.0
        charged = getattr(bounds, query)(W)
        assert moves[query] + 2.0 * error * (1.0 - 1e-6) <= charged <= (moves[query] + 2.0 * error) * 1.01
    assert bounds.gram() >= sensitivity.gram(**public) + 2.0 * arithmetic.gram()


@pytest.mark.parametrize("name", RISKS)
def test_bounds_on_differences_hold_movement_and_rounding(name: str) -> None:
    risk = RISKS[name]
    bounds, problem, arithmetic = risk.bounds, risk.problem, risk.bounds.arithmetic
    public = {"slope": problem.slope, "radius": problem.radius, "n": problem.n}
    lengths = np.linalg.norm(STEPS, axis=1)
    reach = norm_above(W) + float(lengths.max())
    highest = bounds.highest(reach)
    error = arithmetic.normalized_trials(
        slope=problem.slope, highest=highest, weight_norm=norm_above(W), step_norms=list(map(float, lengths))
    )
    assert bounds.trials(W, STEPS) >= sensitivity.normalized_trials(**public, count=2) + 2.0 * error
    step = STEPS[1]
    error = arithmetic.difference(
        slope=problem.slope, highest=highest, weight_norm=norm_above(W), step_norm=norm_above(step)
    )
    movement = sensitivity.value_difference(**public, step_norm=norm_above(step))
    assert bounds.difference(W, step) >= movement + 2.0 * error
    grid = sensitivity.trial_grid(**public, direction_norm=norm_above(step), longest=1.0, shrink=0.5, count=4)
    assert bounds.grid(W, step, 1.0, 0.5, 4) >= grid + 2.0 * 2.0 * error


def test_published_sensitivities_below_the_true_ones_are_refused() -> None:
    from dataclasses import replace

    from sottovoce.problem import Calibration

    steep = sv.Risk(problems.classification(n=50, radius=3.0), sv.losses.Logistic(), sv.regularizers.L2(1e-3))
    published = replace(steep.bounds, calibration=Calibration.PUBLISHED)
    with pytest.raises(sv.errors.ParameterError, match="would not be private"):
        published.gradient(W)
    usual = replace(problems.logistic(n=50).bounds, calibration=Calibration.PUBLISHED)
    assert usual.gradient(W) >= 2.0 / 50
