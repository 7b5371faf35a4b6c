"""Floating point carries no computed answer farther from the exact one than E, and E stays far below Delta.

Exact means rational or 60-digit arithmetic on the same stored floats."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import losses
from sottovoce.arrays import Matrix, Vector
from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.losses import Kind
from sottovoce.models.linear import Risk
from sottovoce.privacy.rounding import Arithmetic, gamma
from sottovoce.regularizers import Tukey
from tests import charges
from tests.accuracy import ULPS, Accuracy
from tests.exact import Exact, derivatives
from tests.strategies import ALL_LOSSES, LABELS, TARGET, attack

SEEDS = st.integers(0, 2**32 - 1)
TARGET_REACH = max(map(abs, TARGET))
DIGITS = 60


def distance(computed: Matrix, exact: list[Fraction]) -> float:
    """Euclidean distance of floats from exact numbers, itself exact but for the root."""
    squares = ((Fraction(float(a)) - b) ** 2 for a, b in zip(np.ravel(computed), exact, strict=True))
    return math.sqrt(sum(squares))


def exact_mean(factors: Vector, rows: Matrix) -> list[Fraction]:
    weights = [Fraction(float(c)) for c in factors]
    return [
        sum((c * Fraction(float(x)) for c, x in zip(weights, column, strict=True)), Fraction(0))
        / len(weights)
        for column in rows.T
    ]


def blocked_mean(factors: Vector, rows: Matrix, length: int, one_by_one: bool) -> Vector:
    """As a kernel sums: each block by itself, by a product or term by term, then the blocks in order."""
    total = np.zeros(rows.shape[1])
    for start in range(0, len(factors), length):
        c, x = factors[start : start + length], rows[start : start + length]
        if one_by_one:
            block = np.zeros(rows.shape[1])
            for factor, row in zip(c, x, strict=True):
                block += factor * row
        else:
            block = c @ x
        total += block
    return total / len(factors)


def hostile_factors(shape: str, n: int, rng: np.random.Generator) -> Vector:
    """Factors within [-1, 1] whose sums lose bits: growing, cancelling, falling, swamped by the first."""
    match shape:
        case "equal":
            return np.full(n, 1.0 / 3.0)
        case "cancelling":
            return np.tile([1.0, -1.0 + 2.0**-30], n)[:n]
        case "falling":
            return np.sort(2.0 ** rng.uniform(-60.0, 0.0, n))[::-1].copy()
        case "swamped":
            return np.concatenate([[1.0], np.full(n - 1, 2.0**-53 * 0.999)])
        case "tiny":
            return rng.uniform(-1.0, 1.0, n) * 1e-300
        case _:
            return rng.uniform(-1.0, 1.0, n)


SHAPES = ["equal", "cancelling", "falling", "swamped", "tiny", "random"]


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_order_and_no_magnitudes_push_a_blocked_sum_past_its_bound(shape, one_by_one):
    rng = np.random.default_rng(7)
    for n, length in ((1, 4), (37, 8), (300, 64), (300, 300)):
        factors = hostile_factors(shape, n, rng)
        rows = rng.normal(size=(n, 3))
        rows = (rows / np.linalg.norm(rows, axis=1)[:, None]).astype(np.float32).astype(np.float64)
        radius = float(np.linalg.norm(rows, axis=1).max()) * (1 + 1e-15)
        computed = blocked_mean(factors, rows, length, one_by_one)
        error = Arithmetic(n=n, dim=3, block_length=length, radius=radius).vectors(1.0)
        assert distance(computed, exact_mean(factors, rows)) <= error


def test_a_sum_of_swamped_terms_comes_close_to_gamma():
    """1 and m terms of half a unit, each of them lost: the bound cannot count fewer roundings."""
    m = 2000
    terms = np.concatenate([[1.0], np.full(m, 2.0**-53)])
    total = 0.0
    for term in terms:
        total += term
    lost = float(sum(map(Fraction, terms.tolist())) - Fraction(total))
    assert 0.9 * gamma(m) <= lost <= gamma(m + 1) * float(np.sum(terms))


@attack
@given(SEEDS, st.integers(1, 40), st.floats(-3.0, 6.0))
def test_no_margin_is_off_by_more_than_its_bound(seed, dim, power):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, dim))
    rows /= np.linalg.norm(rows, axis=1)[:, None] * 1.001
    w = rng.normal(size=dim) * 10.0**power
    w[rng.integers(dim)] *= -1e3
    targets = rng.uniform(*TARGET, size=20)
    arithmetic = Arithmetic(n=20, dim=dim, block_length=8, radius=1.0, target_reach=TARGET_REACH)
    bound = arithmetic.margin_error(float(np.linalg.norm(w)))
    for x, y, t in zip(rows, targets, rows @ w - targets, strict=True):
        exact = sum(
            Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), w.tolist(), strict=True)
        ) - Fraction(float(y))
        assert abs(float(Fraction(float(t)) - exact)) <= bound


@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_no_loss_is_computed_worse_than_the_allowed_ulps_of_its_range(loss):
    rng = np.random.default_rng(3)
    t = np.concatenate(
        [
            [0.0, 1e-8, -1e-8],
            np.linspace(-6.0, 6.0, 101) + 1e-3 * rng.normal(size=101),
            rng.uniform(-60, 60, 12),
        ]
    )
    computed = loss.value(t), loss.first(t), loss.second(t)
    ranges = (
        [loss.value_within(abs(s)) for s in t.tolist()],
        [loss.slope] * t.size,
        [max(loss.curvature_low, loss.curvature_high)] * t.size,
    )
    with mpmath.workdps(DIGITS):
        for i, s in enumerate(t.tolist()):
            exact = derivatives(loss, mpmath.mpf(s))
            for order in range(3):
                error = abs(mpmath.mpf(float(computed[order][i])) - exact[order])
                # Taylor's step leaves an error of its own, far below a unit roundoff.
                assert error <= ULPS * ranges[order][i] + 1e-18


def far(computed: Matrix, exact: list[mpmath.mpf]) -> float:
    return float(
        mpmath.norm([mpmath.mpf(float(a)) - b for a, b in zip(np.ravel(computed), exact, strict=True)])
    )


@pytest.mark.parametrize("power", [-1.0, 1.0, 4.0])
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_no_answer_of_the_risk_is_farther_from_exact_than_its_bound(loss, power):
    rng = np.random.default_rng(11)
    n, dim = 12, 3
    rows = rng.normal(size=(n, dim)) * rng.choice([0.1, 1.0, 10.0], size=(n, 1))
    if loss.kind is Kind.MARGIN:
        records = Records.from_arrays(rows, rng.choice(LABELS, n), labels=LABELS)
    else:
        records = Records.from_arrays(rows, rng.uniform(*TARGET, n), target=TARGET)
    risk = Risk(records, loss, Tukey(0.3))
    reach = 0.0 if loss.kind is Kind.MARGIN else TARGET_REACH
    accuracy = Accuracy(
        Arithmetic(n=n, dim=dim, block_length=records._rows.block_length, radius=1.0, target_reach=reach)
    )
    w = rng.normal(size=dim) * 10.0**power
    step = rng.normal(size=dim) * 0.01
    norm, length = float(np.linalg.norm(w)), float(np.linalg.norm(step))
    penalty = risk.regularizer
    pull, bend = penalty.gradient(w), penalty.curvature(w)
    curvature = max(loss.curvature_low, loss.curvature_high)
    slopes = {"slope": loss.slope, "curvature": curvature, "weight_norm": norm}
    bends = {"curvature": curvature, "third": loss.third, "weight_norm": norm}
    with mpmath.workdps(DIGITS):
        exact, at = Exact(risk), [mpmath.mpf(float(x)) for x in w]
        there = [mpmath.mpf(float(x)) + mpmath.mpf(float(p)) for x, p in zip(w, step, strict=True)]

        gradient = [a + float(b) for a, b in zip(exact.gradient(at), pull, strict=True)]
        added = float(np.linalg.norm(pull))
        computed = risk.gradient(w)
        assert far(computed, gradient) <= accuracy.gradient(**slopes, added=added)
        size = np.array([np.linalg.norm(computed)])
        assert far(size, [mpmath.norm(gradient)]) <= accuracy.gradient_norm(**slopes, added=added)

        hessian = exact.hessian(at)
        for j in range(dim):
            hessian[j, j] += float(bend[j])
        added = float(np.linalg.norm(bend))
        assert far(risk.hessian(w), list(hessian)) <= accuracy.hessian(**bends, added=added)
        smallest = mpmath.eigsy(hessian, eigvals_only=True)[0]
        computed = np.array([risk.smallest_eigenvalue(w)])
        assert far(computed, [smallest]) <= accuracy.smallest_eigenvalue(**bends, added=added)

        value = exact.value(at)
        bound = accuracy.value(
            highest=loss.value_within(norm + reach),
            slope=loss.slope,
            weight_norm=norm,
            added=penalty.value(w),
        )
        assert far(np.array([risk.value(w)]), [value + penalty.value(w)]) <= bound

        change = penalty.value(w) - penalty.value(w + step)
        gain = value - exact.value(there) + change
        bound = accuracy.difference(
            slope=loss.slope,
            highest=loss.value_within(norm + length + reach),
            weight_norm=norm,
            step_norm=length,
            added=penalty.value(w) + penalty.value(w + step),
        )
        assert far(risk.trials(w, step[None]), [gain]) <= bound
        assert far(np.array([risk.along(w, step).decrease(1.0)]), [gain]) <= bound


def test_the_gram_matrix_lies_within_its_bound_of_the_exact_one():
    rng = np.random.default_rng(5)
    records = Records.from_arrays(rng.normal(size=(600, 3)), rng.choice(LABELS, 600), labels=LABELS)
    rows = np.concatenate([records._rows.block(i).features for i in range(records._rows.blocks)]).astype(
        np.float64
    )
    exact = [entry for column in rows.T for entry in exact_mean(column, rows)]
    computed = Risk(records, losses.Logistic()).gram()
    bound = Arithmetic(n=600, dim=3, block_length=records._rows.block_length, radius=1.0).matrices(1.0)
    assert distance(computed, exact) <= bound


@pytest.mark.parametrize("block_length", [4096, 8192])
def test_on_half_a_million_rows_rounding_is_a_millionth_of_the_sensitivity(block_length):
    n, dim = 500_000, 54
    arithmetic = Arithmetic(n=n, dim=dim, block_length=block_length, radius=1.0)
    error = arithmetic.vectors(1.0)
    delta = 2.0 / n
    assert error < 1e-6 * delta
    assert 1e-8 * delta < error
    assert arithmetic.norm(1.0, 1.0) < 1e-6 * delta
    assert arithmetic.matrices(1.0) < 1e-6 * math.sqrt(2.0) / n
    known = {"weight_norm": 10.0, "radius": 1.0, "n": n}
    assert arithmetic.matrices(0.25) < 1e-6 * charges.hessian_at(losses.Logistic(), **known)
    smallest = arithmetic.smallest_eigenvalue(0.25, 0.0)
    assert smallest < 1e-5 * charges.eigenvalue_at(losses.Logistic(), **known)
    assert arithmetic.drop(1.0, 0.1) < 1e-6 * 2.0 * 0.1 / n


def test_every_source_of_error_is_counted_in_full():
    """Rows, solver and public parts: each alone can reach its share, so none may be left out."""
    norm, step, public = 1e5, 1e-3, 1e4
    one = Arithmetic(n=10, dim=30, block_length=4, radius=2.0, target_reach=3.0)
    assert one.margin_error(norm) >= gamma(30 + 1) * (2.0 * norm + 3.0)
    sums = gamma(4 + 3)
    assert one.mean(0.7) >= 0.7 * sums
    assert one.vectors(0.7) >= 1.4 * sums
    assert one.norm(0.7, public) >= one.vectors(0.7) + gamma(30) * (1.4 + public)
    assert one.matrices(0.3) >= 1.2 * sums
    assert one.smallest_eigenvalue(0.3, public) >= one.matrices(0.3) + gamma(16 * 30**2) * (1.2 + public)
    assert one.drop(0.7, step) >= 0.7 * sums * (2.0 * step + one.margin_error(step))
    assert one.moments(5.0) >= one.vectors(1.0) + 5.0 * (one.matrices(1.0) + gamma(30) * 4.0)
    turned = replace(one, stretch=3.0)
    assert turned.margin_error(norm) >= one.margin_error(2.0 * 3.0 * norm)
    assert turned.vectors(0.7) >= 3.0 * (one.vectors(0.7) + gamma(60) * 1.4)
    assert turned.matrices(0.3) >= 9.0 * (one.matrices(0.3) + gamma(60) * 1.2)
    assert turned.norm(0.7, public) >= turned.vectors(0.7) + gamma(30) * (3.0 * 1.4 + public)
    assert turned.drop(0.7, step) >= one.drop(0.7, 3.0 * step)
    heavy = replace(one, weight=5.0, records=40)
    assert heavy.mean(0.7) >= 5.0 * 4.0 * 0.7 * gamma(4 + 10)
    assert heavy.norm(0.7, 0.0) >= heavy.vectors(0.7) + gamma(30) * 20.0 * 1.4
    assert replace(one, terms=400).mean(0.7) >= 0.7 * gamma(4 + 100)


def test_more_roundings_than_digits_are_refused():
    assert gamma(0) == 0.0
    with pytest.raises(ParameterError, match="accuracy"):
        gamma(2.0**53)


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"dim": 0}, {"block_length": 0}, {"radius": math.nan}, {"target_reach": -1.0}]
)
def test_impossible_passes_are_refused(wrong):
    facts = {"n": 10, "dim": 2, "block_length": 4, "radius": 1.0}
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Arithmetic(**{**facts, **wrong})
