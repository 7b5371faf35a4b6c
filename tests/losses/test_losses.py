"""Losses: what is computed is the loss, and no constant is too small or too large."""

from __future__ import annotations

import dataclasses
import math
import pickle
import sys
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from sottovoce import losses
from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError
from sottovoce.losses import (
    Cauchy,
    Constants,
    GemanMcClure,
    Kind,
    LeastSquares,
    LogCosh,
    Logistic,
    Loss,
    PseudoHuber,
    Savage,
    Sigmoid,
    SoftplusHinge,
    Welsch,
    by_name,
)
from sottovoce.losses.base import at_least, round_up

# The definitions of the design, written once more in 60 digits; c is the scale or the sharpness.
EXACT: dict[type[Loss], Callable[[mpf, mpf], mpf]] = {
    Logistic: lambda t, c: mpmath.log1p(mpmath.exp(-t)),
    SoftplusHinge: lambda t, c: mpmath.log1p(mpmath.exp(c * (1 - t))) / c,
    Sigmoid: lambda t, c: 1 / (1 + mpmath.exp(t)),
    Savage: lambda t, c: 1 / (1 + mpmath.exp(t)) ** 2,
    PseudoHuber: lambda t, c: c**2 * (mpmath.sqrt(1 + (t / c) ** 2) - 1),
    LeastSquares: lambda t, c: c**2 * (mpmath.sqrt(1 + (t / c) ** 2) - 1),
    LogCosh: lambda t, c: mpmath.log(mpmath.cosh(t)),
    Cauchy: lambda t, c: c**2 / 2 * mpmath.log1p((t / c) ** 2),
    GemanMcClure: lambda t, c: t**2 / 2 / (1 + (t / c) ** 2),
    Welsch: lambda t, c: -(c**2) / 2 * mpmath.expm1(-((t / c) ** 2)),
}
SCALED = (SoftplusHinge, PseudoHuber, LeastSquares, Cauchy, GemanMcClure, Welsch)
UNIT = [kind(1.0) if kind in SCALED else kind() for kind in EXACT]
OTHER = [kind(scale) for kind in SCALED for scale in (1e-6, 0.37, 12.5, 1e6)]
ALL = UNIT + OTHER
BOUNDED = (Sigmoid, Savage, GemanMcClure, Welsch)
METHODS = ("value", "first", "second")


def parameter(loss: Loss) -> float:
    return next(iter(dataclasses.asdict(loss).values()), 1.0)  # type: ignore[call-overload]


def length(loss: Loss) -> float:
    """The distance over which the loss changes its shape."""
    return 1.0 / parameter(loss) if isinstance(loss, SoftplusHinge) else parameter(loss)


def centre(loss: Loss) -> float:
    return 1.0 if isinstance(loss, SoftplusHinge) else 0.0


def exact(loss: Loss, t: float | mpf, order: int = 0) -> mpf:
    """phi or a derivative of it, to about 25 digits however steep or far out."""
    c = mpf(parameter(loss))
    with mp.workdps(60):
        if order == 0:
            return EXACT[type(loss)](mpf(t), c)
        step = mpf(length(loss)) * mpf(10) ** -12
        return mpmath.diff(lambda s: EXACT[type(loss)](s, c), mpf(t), order, h=step, relative=False)


def fourth_order_slope(f: Callable[[Vector], Vector], t: Vector, h: float) -> Vector:
    return (8.0 * (f(t + h) - f(t - h)) - (f(t + 2 * h) - f(t - 2 * h))) / (12.0 * h)


def label(loss: Loss) -> str:
    return repr(loss)


each = pytest.mark.parametrize("loss", ALL, ids=label)
lengths = st.floats(-12.0, 12.0)
drawn = st.one_of(
    st.sampled_from([Logistic(), Sigmoid(), Savage(), LogCosh()]),
    st.builds(lambda kind, scale: kind(scale), st.sampled_from(SCALED), st.floats(0.05, 20.0)),
)


def test_no_loss_of_the_package_goes_without_a_formula_here() -> None:
    """Counts have theirs in test_counts.py."""
    assert {loss for loss in losses.BY_NAME.values() if loss.kind is not Kind.COUNT} == set(EXACT)


@given(drawn, lengths)
def test_each_derivative_is_the_slope_of_the_one_before(loss: Loss, u: float) -> None:
    size = length(loss)
    t = np.array([centre(loss) + u * size])
    h = 2e-3 * size
    rounding = 1e-11 * loss.value_within(14.0 * size + centre(loss)) / size
    slope = fourth_order_slope(loss.value, t, h)
    assert slope == pytest.approx(loss.first(t), abs=1e-9 * loss.slope + rounding)
    curvature = fourth_order_slope(loss.first, t, h)
    assert curvature == pytest.approx(loss.second(t), abs=1e-9 * loss.curvature_high)
    third = fourth_order_slope(loss.second, t, h)
    assert third == pytest.approx(float(exact(loss, t.item(), 3)), abs=1e-9 * loss.third)
    assert abs(third.item()) <= loss.third * (1 + 1e-9)


@given(drawn, lengths, lengths)
def test_the_second_derivative_is_lipschitz_with_the_declared_constant(
    loss: Loss, u: float, v: float
) -> None:
    a, b = (np.array([centre(loss) + s * length(loss)]) for s in (u, v))
    moved = abs((loss.second(a) - loss.second(b)).item())
    assert moved <= loss.third * abs((a - b).item()) + 1e-14 * loss.curvature_high


def grid(loss: Loss) -> Vector:
    near = np.linspace(-40.0, 40.0, 400_001)
    far = np.geomspace(40.0, 1e5, 1000)
    return centre(loss) + length(loss) * np.concatenate([-far[::-1], near, far])


def supremum(loss: Loss, order: int, sign: int) -> mpf:
    """sup of sign * derivative: the best of a dense grid polished in 40 digits, or the limit far out."""
    points = grid(loss)
    if order == 3:
        observed = fourth_order_slope(loss.second, points, 1e-3 * length(loss))
    else:
        observed = getattr(loss, METHODS[order])(points)
    best = points[np.argmax(sign * observed)]
    if abs(best - centre(loss)) > 10.0 * length(loss):
        far = centre(loss) + math.copysign(1e9 * length(loss), best)
        return sign * exact(loss, far, order) * (1 - mpf("1e-20"))

    def slope(u: mpf) -> mpf:
        return exact(loss, centre(loss) + u * length(loss), order + 1)

    with mp.workdps(40):
        start = mpf((best - centre(loss)) / length(loss))
        peak = mpmath.findroot(slope, (start - mpf("1e-4"), start + mpf("1e-4")), tol=1e-30, verify=False)
        assert abs(peak - start) < 1e-2
        return sign * exact(loss, centre(loss) + peak * length(loss), order)


@pytest.mark.parametrize(
    ("constant", "order", "signs"),
    [("slope", 1, (1, -1)), ("curvature_low", 2, (-1,)), ("curvature_high", 2, (1,)), ("third", 3, (1, -1))],
)
@pytest.mark.parametrize("loss", UNIT + [kind(2.3) for kind in SCALED], ids=label)
def test_each_constant_is_the_supremum_itself(
    loss: Loss, constant: str, order: int, signs: tuple[int, ...]
) -> None:
    declared = mpf(getattr(loss, constant))
    if declared == 0:
        assert constant == "curvature_low"
        assert loss.second(grid(loss)).min() >= 0.0
        assert exact(loss, centre(loss) + 30 * length(loss), 2) > 0
        return
    reached = max(supremum(loss, order, sign) for sign in signs)
    assert reached <= declared, "too small: sensitivity would be understated"
    assert declared <= reached * (1 + mpf("1e-6")), "too large: noise would be wasted"


@pytest.mark.parametrize("loss", UNIT, ids=label)
def test_peaked_constants_are_within_a_few_units_in_the_last_place(loss: Loss) -> None:
    assert loss.third <= max(supremum(loss, 3, 1), supremum(loss, 3, -1)) * (1 + mpf("1e-14"))


TABLE = {
    Logistic: (1.0, 0.0, 0.25, 1 / (6 * math.sqrt(3))),
    Sigmoid: (0.25, 1 / (6 * math.sqrt(3)), 1 / (6 * math.sqrt(3)), 0.125),
    Savage: (8 / 27, 0.12020, 0.15406, 0.20202),
    SoftplusHinge: (1.0, 0.0, 0.25, 1 / (6 * math.sqrt(3))),
    PseudoHuber: (1.0, 0.0, 1.0, 0.85865),
    LeastSquares: (1.0, 0.0, 1.0, 0.85865),
    LogCosh: (1.0, 0.0, 1.0, 0.76980),
    Cauchy: (0.5, 0.125, 1.0, 1.45711),
    GemanMcClure: (0.32476, 0.25, 1.0, 2.33428),
    Welsch: (0.42888, 0.44626, 1.0, 1.95178),
}


@each
def test_constants_agree_with_the_printed_table_and_scale_as_it_says(loss: Loss) -> None:
    c = parameter(loss)
    powers = (0, 0, 1, 2) if isinstance(loss, SoftplusHinge) else (1, 0, 0, -1)
    declared = (loss.slope, loss.curvature_low, loss.curvature_high, loss.third)
    for number, printed, power in zip(declared, TABLE[type(loss)], powers, strict=True):
        assert number / c**power == pytest.approx(printed, abs=5.1e-6)


def test_constants_that_are_floats_are_exact() -> None:
    assert (Logistic().slope, Logistic().curvature_high, Sigmoid().third) == (1.0, 0.25, 0.125)
    assert PseudoHuber(0.3).slope == 0.3
    assert Cauchy(0.3).slope == 0.15
    assert Fraction(Savage().slope) >= Fraction(8, 27)


@each
def test_values_match_high_precision_at_moderate_points(loss: Loss) -> None:
    rng = np.random.default_rng(20)
    u = np.concatenate([rng.uniform(-30, 30, 12), rng.normal(size=12), [0.0, 1.0, -1.0]])
    t = centre(loss) + u * length(loss)
    typical = (float(exact(loss, centre(loss) - length(loss))), loss.slope, loss.curvature_high)
    for order, (method, size) in enumerate(zip(METHODS, typical, strict=True)):
        computed = getattr(loss, method)(t)
        for point, number in zip(t.tolist(), computed.tolist(), strict=True):
            truth = exact(loss, point, order)
            assert abs(number - truth) <= 1e-13 * max(abs(truth), size), (method, point)


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.kind is Kind.RESIDUAL], ids=label)
def test_small_residuals_keep_their_digits(loss: Loss) -> None:
    for u in (1e-100, 1e-30, 1e-9, 1e-5, 1e-3, 0.1):
        t = u * length(loss)
        with mp.workdps(300):
            truth = EXACT[type(loss)](mpf(t), mpf(parameter(loss)))
        assert abs(loss.value(np.array([t])).item() / truth - 1) <= 1e-13
        assert abs(loss.first(np.array([-t])).item() / exact(loss, -t, 1) - 1) <= 1e-11


SMALL = (0.0, 5e-324, 1e-308, 1e-300, 1e-160, 1e-8, 1.0, 36.0, 350.0, 709.0, 709.79, 710.0, 745.2, 1e3, 1e10)
LARGE = (1e70, 1e75, 1e76, 1e149, 1e150, 1e151, 1.3e154, 1.4e154, 1e156, 1e200, 1e294, 1e300)
EXTREMES = np.array(SMALL + LARGE)


@each
def test_nothing_overflows_and_far_values_are_right(loss: Loss) -> None:
    t = np.concatenate([EXTREMES, -EXTREMES])
    with np.errstate(all="raise"):
        value, first, second = loss.value(t), loss.first(t), loss.second(t)
    sizes = (float(exact(loss, centre(loss) - length(loss))), loss.slope, loss.curvature_high)
    for index, point in enumerate(t.tolist()):
        with mp.workdps(700):
            truth = EXACT[type(loss)](mpf(point), mpf(parameter(loss)))
        assert abs(value[index] - truth) <= 1e-13 * max(abs(truth), sizes[0]), point
    far = np.abs(t) >= 1e10 * max(1.0, length(loss))
    if loss.kind is Kind.MARGIN:
        limit = np.where(t < 0, -loss.slope if type(loss) in (Logistic, SoftplusHinge) else 0.0, 0.0)
    else:
        limit = np.copysign(loss.slope if type(loss) in (PseudoHuber, LeastSquares, LogCosh) else 0.0, t)
    np.testing.assert_allclose(first[far], limit[far], rtol=0, atol=1e-9 * loss.slope)
    np.testing.assert_allclose(second[far], 0.0, rtol=0, atol=1e-18 * loss.curvature_high)


@each
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_finite_float_gives_finite_numbers_in_range_and_no_warning(
    loss: Loss, points: list[float]
) -> None:
    t = np.array(points)
    kept = t.copy()
    with np.errstate(all="raise"):
        value, first, second = loss.value(t), loss.first(t), loss.second(t)
    assert np.array_equal(t, kept)
    assert np.isfinite(value).all()
    assert (value >= 0.0).all()
    assert (value <= loss.ceiling).all()
    assert (np.abs(first) <= loss.slope).all()
    assert (second >= -loss.curvature_low).all()
    assert (second <= loss.curvature_high).all()


@dataclasses.dataclass(frozen=True)
class Runaway(Loss):
    """A loss whose arithmetic has gone wrong: the clamps must hold it."""

    excess: float

    name = "runaway"
    kind = Kind.MARGIN
    unit = Constants(slope=1.0, curvature_low=0.5, curvature_high=0.25, third=1.0, ceiling=2.0)

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.excess,)

    @staticmethod
    def scalar(t: float, y: float, excess: float) -> tuple[float, float, float]:
        far = excess * 1e308
        return abs(far), far, far


@pytest.mark.parametrize("excess", [9e-308, -9e-308, 9.0, -9.0])
def test_clamps_hold_whatever_the_formula_says(excess: float) -> None:
    loss, t = Runaway(excess), np.zeros(3)
    sign = math.copysign(1.0, excess)
    assert (loss.first(t) == sign).all()
    assert (loss.second(t) == (0.25 if sign > 0 else -0.5)).all()
    assert (loss.value(t) == 2.0).all()


@given(drawn, st.floats(0.0, 40.0), st.floats(-1.0, 1.0))
def test_within_a_reach_nothing_passes_the_bounds_for_it(loss: Loss, reach: float, part: float) -> None:
    t = np.array([part * reach, reach, -reach])
    value, first = loss.value(t), loss.first(t)
    assert np.abs(first).max() <= loss.slope_within(reach) <= loss.slope
    assert value.max() <= loss.value_within(reach) <= loss.ceiling


@each
def test_bounds_within_a_reach_are_the_exact_suprema_rounded_up(loss: Loss) -> None:
    for u in (0.0, 1e-12, 1e-4, 0.3, 0.57, 0.58, 0.69, 0.7, 0.71, 0.999, 1.0, 1.001, 2.0, 5.0, 1e3):
        reach = u * length(loss)
        near = min(reach, 2.0 * length(loss))
        points = np.concatenate([np.linspace(-size, size, 20_001) for size in (near, reach)])
        steepest = points[np.argmax(np.abs(loss.first(points)))]
        peak = abs(exact(loss, steepest, 1))
        bound = loss.slope_within(reach)
        assert peak * (1 - mpf("1e-20")) <= bound <= peak * (1 + mpf("1e-6")) + mpf("1e-30")
        highest = exact(loss, -reach)
        assert highest <= loss.value_within(reach) <= highest * (1 + mpf("1e-14"))


@each
def test_bounds_grow_with_the_reach_up_to_the_global_ones(loss: Loss) -> None:
    reaches = np.concatenate(
        [[0.0], np.geomspace(1e-3, 1e6, 200) * length(loss), [1e300, sys.float_info.max]]
    )
    slopes = [loss.slope_within(float(reach)) for reach in reaches]
    values = [loss.value_within(float(reach)) for reach in reaches]
    assert slopes == sorted(slopes)
    assert values == sorted(values)
    assert slopes[-1] == loss.slope
    assert math.isfinite(values[-1])
    assert (loss.ceiling < math.inf) == (type(loss) in BOUNDED)
    if type(loss) in BOUNDED:
        assert values[-1] == loss.ceiling


def test_a_redescending_loss_is_steepest_where_its_slope_peaks_not_at_the_edge() -> None:
    assert Cauchy(2.0).slope_within(50.0) == 1.0
    assert Cauchy(2.0).slope_within(1.0) == pytest.approx(0.8, rel=1e-12)
    assert Sigmoid().slope_within(0.0) == 0.25
    assert Savage().slope_within(0.5) < Savage().slope == Savage().slope_within(0.7)
    assert Logistic().slope_within(0.0) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.constants.steepest < math.inf], ids=label)
def test_the_slope_is_flat_where_it_is_declared_steepest(loss: Loss) -> None:
    steepest = np.array([-loss.constants.steepest])
    assert abs(loss.second(steepest).item()) <= 1e-15
    assert abs(loss.first(steepest).item()) == pytest.approx(loss.slope, rel=1e-14)


@pytest.mark.parametrize("reach", [-1.0, math.nan, math.inf, "1", None, True])
def test_a_reach_that_is_no_bound_is_refused(reach: float) -> None:
    for bound in (Logistic().slope_within, Logistic().value_within):
        with pytest.raises(ParameterError, match=r"reach.*finite number"):
            bound(reach)


@each
def test_margin_losses_fall_and_residual_losses_are_even(loss: Loss) -> None:
    t = centre(loss) + length(loss) * np.linspace(-50.0, 50.0, 2001)
    if loss.kind is Kind.MARGIN:
        assert (loss.first(t) <= 0.0).all()
        assert (np.diff(loss.value(t)) <= 1e-15 * loss.value(t[:1])).all()
    else:
        assert np.array_equal(loss.value(t), loss.value(-t))
        assert np.array_equal(loss.first(t), -loss.first(-t))
        assert (np.sign(loss.first(t)) * np.sign(t) >= 0.0).all()


@each
def test_any_shape_and_type_of_number_is_taken(loss: Loss) -> None:
    t = np.linspace(-3.0, 3.0, 12)
    for method in METHODS:
        evaluate = getattr(loss, method)
        flat = evaluate(t)
        assert np.array_equal(evaluate(t.reshape(3, 4)), flat.reshape(3, 4))
        assert np.array_equal(evaluate(np.asfortranarray(t.reshape(3, 4))), flat.reshape(3, 4))
        assert np.array_equal(evaluate(np.repeat(t, 2)[::2]), flat)
        assert evaluate(np.array(t[5])).item() == flat[5]
        assert evaluate(np.empty(0)).shape == (0,)
        single = evaluate(t.astype(np.float32))
        assert single.dtype == np.float64
        assert np.array_equal(single, evaluate(t.astype(np.float32).astype(np.float64)))


@pytest.mark.parametrize("kind", SCALED)
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 9.9e-7, 1.1e6, 10**400, True, "1", None])
def test_a_scale_outside_its_domain_is_refused_with_the_rule_and_the_way_out(
    kind: type[Loss], bad: object
) -> None:
    (name,) = (field.name for field in dataclasses.fields(kind))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=rf"{name}.* finite number in \[1e-06, 1e\+06\]\. .*unit"):
        kind(bad)  # type: ignore[call-arg]


def test_an_array_given_as_a_scale_is_not_quoted() -> None:
    with pytest.raises(ParameterError) as refused:
        PseudoHuber(np.array([123.456, 7.0]))  # type: ignore[arg-type]
    assert "123" not in str(refused.value)


@each
def test_a_loss_is_a_value(loss: Loss) -> None:
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss
    assert hash(again) == hash(loss)
    assert again.constants == loss.constants
    assert repr(loss).startswith(type(loss).__name__)
    for field in (*dataclasses.asdict(loss), "slope"):  # type: ignore[call-overload]
        with pytest.raises(AttributeError):
            setattr(loss, field, 2.0)


@pytest.mark.parametrize("kind", EXACT)
def test_every_loss_is_found_by_its_name(kind: type[Loss]) -> None:
    assert by_name(kind.name) == kind()
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        assert by_name(kind.name, **{field.name: 3}) == kind(3.0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "variant"),
    [("hinge", "softplus-hinge"), ("squared-hinge", "softplus-hinge"), ("huber", "pseudo-huber")],
)
def test_a_loss_without_a_lipschitz_hessian_is_refused_and_its_smooth_variant_named(
    name: str, variant: str
) -> None:
    with pytest.raises(ParameterError, match=f"'{name}'.*Lipschitz.*'{variant}'"):
        by_name(name)
    by_name(variant)


def test_unknown_names_and_parameters_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"'perceptron' is unknown.*'logistic'.*'welsch'"):
        by_name("perceptron")
    with pytest.raises(ParameterError, match=r"'cauchy' does not take 'sharpness'.*'scale'"):
        by_name("cauchy", sharpness=1.0)
    with pytest.raises(ParameterError, match=r"'logistic' does not take 'scale'.*no parameter"):
        by_name("logistic", scale=1.0)
    with pytest.raises(ParameterError, match="scale"):
        by_name("cauchy", scale=-1.0)


def test_public_names_exist_and_every_loss_is_among_them() -> None:
    assert all(hasattr(losses, name) for name in losses.__all__)
    assert {kind.__name__ for kind in EXACT} < set(losses.__all__)


@given(st.fractions(min_value=0, max_value=10**9))
def test_rounding_up_never_rounds_down(number: Fraction) -> None:
    assert Fraction(at_least(number)) >= number
    assert Fraction(math.nextafter(at_least(number), -math.inf)) < number
    nearest = float(number)
    assert Fraction(round_up(nearest)) >= number * (1 + Fraction(15, 2**52)) or number == 0
    assert round_up(nearest) <= nearest * (1 + 1e-14)
