"""A law depends on one record's numbers alone: whatever could mix records or fail by data is refused."""

from __future__ import annotations

import math
import pickle
import random
from dataclasses import dataclass

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.losses.unbiased import UnbiasedLimited
from sottovoce.trusted import compiling, laws
from sottovoce.trusted.laws import Law, Placing
from sottovoce.trusted.vocabulary import decay
from tests.strategies import ALL_LOSSES

SHIPPED = [*ALL_LOSSES, sv.losses.Poisson(20.0), UnbiasedLimited(0.7)]
SEEN = [0.0]
ARRAY = np.zeros(3)
HALF = 0.5


def remembers(t, y):
    SEEN[0] = t
    return t, t, t


def reads(t, y):
    return ARRAY[0] + t, t, t


def draws(t, y):
    return t + random.random(), t, t


def seeds(t, y):
    return t + np.random.normal(), t, t


def appends(t, y):
    SEEN.append(t)
    return SEEN[0], t, t


def undefined(t, y):
    if t > 0.0:
        before = t
    return before, t, t


def raises(t, y):
    if t > 3.0:
        raise ValueError
    return t, t, t


def prints(t, y):
    print(t)  # noqa: T201
    return t, t, t


def arrays(t, y):
    held = np.empty(4)
    return held[1], t, t


def casts(t, y):
    return float(int(t / 0.0)), t, t


def loops(t, y):
    while t > 1e-9:
        t = t * HALF
    return t, t, t


def defaults(t, y, held=[0.0]):  # noqa: B006
    return t, t, t


def calls_another(t, y):
    return helper(t), t, t


def helper(t):
    return t


def attribute(t, y):
    return np.pi * t, t, t


def generator(t, y):
    yield t


def asserts(t, y):
    assert t < 3.0
    return t, t, t


def divides_whole_numbers(t, y):
    return t // 2.0, t % 2.0, t


def adds_an_array(t, y):
    return ARRAY + t, t, t


def names_an_argument(t, y):
    return max(t, HALF, key=abs), t, t


def calls_a_number(t, y):
    return HALF(t), t, t


def raises_without_a_name(t, y):
    if t > 3.0:
        raise
    return t, t, t


REFUSED = [
    *(remembers, reads, draws, seeds, appends, undefined, raises, prints, arrays, casts, loops, defaults),
    *(calls_another, attribute, generator, asserts, divides_whole_numbers),
    *(adds_an_array, names_an_argument, calls_a_number, raises_without_a_name),
    *(np.sin, "a name", len, lambda t: t, lambda t, y, *rest: (t, t, t), lambda t, y, *, z: (t, t, t)),
]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: getattr(f, "__name__", str(f)))
def test_what_could_mix_records_or_fail_by_data_is_refused(function) -> None:
    with pytest.raises(ParameterError, match="law"):
        Law(function, Placing.MARGIN)


def outside(t, y):
    z = math.exp(-abs(t)) if t > 0.0 else HALF * math.pi
    if y > 0.0:
        return z + decay(t), -z, max(z, 0.0)
    return z, -z, z


def test_arithmetic_branches_and_the_vocabulary_are_taken() -> None:
    law, t = Law(outside, Placing.RESIDUAL), np.array([-1.0, 2.0])
    value, slope = law.tangents(t, np.array([1.0, -1.0]))
    np.testing.assert_allclose(value, [HALF * math.pi + math.exp(-1.0), math.exp(-2.0)])
    np.testing.assert_allclose(slope, [-HALF * math.pi, -math.exp(-2.0)])


@pytest.mark.parametrize("loss", SHIPPED, ids=repr)
def test_every_loss_of_the_package_is_elementwise(loss: sv.losses.Loss) -> None:
    laws.require_elementwise(type(loss).scalar)
    again = pickle.loads(pickle.dumps(loss.law))
    assert again == loss.law


@pytest.mark.parametrize("loss", SHIPPED, ids=repr)
def test_one_by_one_and_compiled_a_record_gets_the_same_numbers(
    loss: sv.losses.Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, among others and in Python: no other record, and no place, changes a bit."""
    t = np.concatenate([np.linspace(-30.0, 30.0, 61), [0.0, -0.0, 1e-300, 1e150, -1e150, 800.0, -800.0]])
    y = np.full(t.size, 0.25 if loss.kind is sv.losses.Kind.COUNT else 1.0)
    together = [*loss.law.tangents(t, y), loss.law.curvatures(t, y)]
    for i in range(0, t.size, 7):
        alone = [*loss.law.tangents(t[i : i + 1], y[:1]), loss.law.curvatures(t[i : i + 1], y[:1])]
        for among, by_itself in zip(together, alone, strict=True):
            assert abs(among[i] - by_itself[0]) <= 4e-16 * abs(by_itself[0])
    monkeypatch.setattr(laws, "compiles", lambda: False)
    plain = [*loss.law.tangents(t, y), loss.law.curvatures(t, y)]
    for compiled, in_python in zip(together, plain, strict=True):
        np.testing.assert_allclose(compiled, in_python, rtol=4e-13, atol=1e-15)


def test_without_numba_only_losses_of_the_package_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "compiles", lambda: False)
    with pytest.raises(ParameterError, match="numba"):
        Law(outside, Placing.MARGIN)
    assert Law(sv.losses.Logistic.scalar, Placing.MARGIN).values(np.zeros(1), np.ones(1))[0] == pytest.approx(
        math.log(2.0)
    )
    assert compiling.compiles()


def rooted(t: float, y: float) -> tuple[float, float, float]:
    return (1.0 - t) ** 0.5, (1.0 - t) ** 0.5, (1.0 - t) ** 0.5


rooted.__module__ = "sottovoce.losses.planted"


def test_a_root_of_a_negative_number_is_no_number_in_python_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """There it is complex, which no array of floats takes: that failure would tell of one record to all."""
    law, t = Law(rooted, Placing.MARGIN), np.array([0.0, 5.0, -3.0])
    compiled = law.slopes(t, np.ones(3))
    monkeypatch.setattr(laws, "compiles", lambda: False)
    np.testing.assert_array_equal(law.slopes(t, np.ones(3)), [1.0, math.nan, 2.0])
    np.testing.assert_array_equal(compiled, [1.0, math.nan, 2.0])


@dataclass(frozen=True)
class Fails(sv.losses.Loss):
    """Divides by 0 at 0: in Python that is an error, compiled it is infinite."""

    name = "fails"
    kind = sv.losses.Kind.MARGIN
    unit = sv.losses.Logistic.unit

    @staticmethod
    def scalar(t, y):
        return 1.0 / t, 1.0 / t, 1.0 / t


def test_a_law_that_fails_for_some_record_is_clamped_there() -> None:
    records = sv.Records.from_arrays(np.zeros((3, 1)), np.ones(3), labels=(-1, 1))
    risk = sv.Risk(records, Fails())
    assert np.isfinite(risk.value(np.ones(1)))
    assert np.isfinite(risk.gradient(np.ones(1))).all()
    assert np.isfinite(risk.hessian(np.ones(1))).all()


def test_numbers_of_a_law_are_finite_and_few() -> None:
    scalar = sv.losses.PseudoHuber.scalar
    for numbers in ((math.inf,), (math.nan,), (1.0,) * 4):
        with pytest.raises(ParameterError):
            Law(scalar, Placing.RESIDUAL, numbers)
    with pytest.raises(ParameterError, match="labels"):
        Law(scalar, Placing.RESIDUAL, (1.0,), negative=2.0)
