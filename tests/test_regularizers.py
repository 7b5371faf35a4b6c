"""Regularizers: separable penalties whose declared curvature is the supremum itself."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError
from sottovoce.regularizers import L2, Regularizer, Tukey, by_name

drawn = st.builds(
    lambda kind, strength: kind(strength),
    st.sampled_from([L2, Tukey]),
    st.floats(0.0, 10.0, allow_subnormal=False),
)
weights = st.lists(st.floats(-8.0, 8.0), min_size=1, max_size=6).map(np.array)


def directly(regularizer: Regularizer, w: Vector) -> float:
    square = np.square(w)
    penalty = square / 2 if isinstance(regularizer, L2) else square / (1 + square)
    return regularizer.strength * float(penalty.sum())


def tukey_third(w: float) -> float:
    return 24.0 * w * (w * w - 1.0) / (1.0 + w * w) ** 4


@given(drawn, weights)
def test_value_is_the_written_formula(regularizer: Regularizer, w: Vector) -> None:
    assert regularizer.value(w) == pytest.approx(directly(regularizer, w), rel=1e-13, abs=1e-300)


@given(drawn, weights)
def test_gradient_and_curvature_are_finite_differences(regularizer: Regularizer, w: Vector) -> None:
    h = 1e-4
    gradient, curvature = regularizer.gradient(w), regularizer.curvature(w)
    assert gradient.shape == curvature.shape == w.shape
    for i in range(w.size):
        step = np.zeros_like(w)
        step[i] = h
        up, down = w + step, w - step
        allowed = 1e-6 * (1.0 + regularizer.strength)
        assert (regularizer.value(up) - regularizer.value(down)) / (2 * h) == pytest.approx(
            gradient[i], abs=allowed
        )
        column = (regularizer.gradient(up) - regularizer.gradient(down)) / (2 * h)
        assert column == pytest.approx(np.where(np.arange(w.size) == i, curvature, 0.0), abs=allowed)


@given(drawn, weights, weights)
def test_curvature_stays_in_its_range_and_moves_no_faster_than_third(
    regularizer: Regularizer, a: Vector, b: Vector
) -> None:
    for w in (a, b):
        curvature = regularizer.curvature(w)
        assert (curvature >= regularizer.curvature_low).all()
        assert (curvature <= regularizer.curvature_high).all()
    moved = abs(regularizer.curvature(a)[0] - regularizer.curvature(b)[0])
    assert moved <= regularizer.third * abs(a[0] - b[0]) + 1e-14 * regularizer.strength


@pytest.mark.parametrize("strength", [1.0, 1e-3, 0.3, 7.0])
def test_the_tukey_constants_are_attained(strength: float) -> None:
    tukey = Tukey(strength)
    assert (tukey.curvature_low, tukey.curvature_high) == (-strength / 2, 2 * strength)
    attained = tukey.curvature(np.array([1.0, -1.0, 0.0]))
    assert attained == pytest.approx(strength * np.array([-0.5, -0.5, 2.0]), rel=1e-15)
    grid = np.linspace(-20.0, 20.0, 400_001)
    steepest = grid[np.argmax(np.abs(tukey_third(grid)))]  # type: ignore[arg-type]
    peak = minimize_scalar(
        lambda w: -abs(tukey_third(w)), bounds=(steepest - 1e-3, steepest + 1e-3), options={"xatol": 1e-12}
    )
    assert -peak.fun * strength <= tukey.third <= -peak.fun * strength * (1 + 1e-12)
    assert tukey.third / strength == pytest.approx(4.6686, abs=5e-5)


def test_the_third_derivative_written_in_this_test_is_the_slope_of_the_curvature() -> None:
    grid = np.linspace(-5.0, 5.0, 1001)
    slope = (Tukey(1.0).curvature(grid + 1e-5) - Tukey(1.0).curvature(grid - 1e-5)) / 2e-5
    assert slope == pytest.approx(tukey_third(grid), abs=1e-8)  # type: ignore[arg-type]


def test_l2_is_a_plain_quadratic() -> None:
    l2 = L2(0.5)
    w = np.array([3.0, -4.0])
    assert l2.value(w) == 6.25
    assert l2.gradient(w).tolist() == [1.5, -2.0]
    assert l2.curvature(w).tolist() == [0.5, 0.5]
    assert (l2.curvature_low, l2.curvature_high, l2.third) == (0.5, 0.5, 0.0)


def test_no_strength_is_no_penalty_however_large_the_weights() -> None:
    w = np.array([1e200, -1e300, 0.0])
    for regularizer in (L2(0.0), Tukey(0.0)):
        assert regularizer.value(w) == 0.0
        assert (regularizer.gradient(w) == 0.0).all()
        assert (regularizer.curvature(w) == 0.0).all()
        assert regularizer.curvature_low == regularizer.curvature_high == regularizer.third == 0.0


def test_tukey_does_not_overflow() -> None:
    w = np.array([1e-300, 1e155, -1e300])
    with np.errstate(all="raise"):
        assert Tukey(1.0).value(w) == pytest.approx(2.0, rel=1e-15)
        assert Tukey(1.0).gradient(w) == pytest.approx(0.0, abs=1e-100)
        assert Tukey(1.0).curvature(w) == pytest.approx([2.0, 0.0, 0.0], abs=1e-100)


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf, 1.1e6, True, "1", None, np.array([123.4])])
@pytest.mark.parametrize("kind", [L2, Tukey])
def test_a_strength_outside_its_domain_is_refused_with_the_rule(kind: type[Regularizer], bad: object) -> None:
    with pytest.raises(ParameterError, match=r"strength.* finite number in \[0, 1e\+06\]") as refused:
        kind(bad)  # type: ignore[arg-type]
    assert "123" not in str(refused.value)


def test_regularizers_are_values_found_by_name() -> None:
    assert by_name("l2", 0.1) == L2(0.1)
    assert by_name("tukey", 1) == Tukey(1.0)
    assert L2(0.1) != Tukey(0.1)
    assert pickle.loads(pickle.dumps(Tukey(0.2))) == Tukey(0.2)
    with pytest.raises(AttributeError):
        L2(0.1).strength = 1.0  # type: ignore[misc]
    with pytest.raises(ParameterError, match=r"'l1' is unknown.*'l2', 'tukey'"):
        by_name("l1", 0.1)
