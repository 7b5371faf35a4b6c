"""Compiled products: the numbers of the reference to within the allowance, and no row but its own is read."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numba
import numpy as np
import pytest
from scipy import sparse

from sottovoce.data import blocks
from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.kernels import block_sums, products, reference_sums
from sottovoce.kernels import passes as kernels
from sottovoce.kernels.compiled import block_sums as compiled_kernels
from sottovoce.kernels.compiled import contributions, sparse_sums
from sottovoce.kernels.compiled import gram as outer_compiled
from sottovoce.kernels.compiled import products as products_compiled
from sottovoce.losses import (
    Cauchy,
    GemanMcClure,
    Kind,
    LogCosh,
    Logistic,
    PseudoHuber,
    Savage,
    Sigmoid,
    SoftplusHinge,
    Welsch,
    by_name,
)
from sottovoce.losses.weighted import class_weighted
from sottovoce.models.linear import Risk
from sottovoce.privacy.rounding import UNIT_ROUNDOFF, Arithmetic, gamma
from sottovoce.regularizers import L2
from sottovoce.trusted import compiling as choosing
from sottovoce.trusted import jit as compiling
from sottovoce.trusted.bands import Band, Span
from tests.accuracy import Accuracy
from tests.exact import derivatives, exact_loss
from tests.kernels.test_kernels import every_pass, gradient_of, rows_of
from tests.privacy import test_rounding
from tests.strategies import ALL_LOSSES, LABELS, TARGET

TWINNED = [Logistic(), SoftplusHinge(4.0), SoftplusHinge(1e-6), Sigmoid(), Savage(), PseudoHuber(0.5)]
TWINNED += [LogCosh(), Cauchy(0.7), Cauchy(1e-6), GemanMcClure(1.3), Welsch(0.3), Welsch(1e6)]


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "dense_block_length", lambda dim: 16)
    monkeypatch.setattr(blocks, "SPARSE_BLOCK_LENGTH", 16)


def risk_of(loss, *, csr, n=700, dim=9, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dim)) * (rng.random((n, dim)) < 0.6)
    X = sparse.csr_array(X) if csr else X
    if loss.kind is Kind.MARGIN:
        records = Records.from_arrays(X, rng.choice(LABELS, n), labels=LABELS)
    else:
        records = Records.from_arrays(X, rng.uniform(*TARGET, n), target=TARGET)
    return Risk(records, loss, L2(0.01))


def answers(risk, w, steps):
    value, gradient = risk.value_and_gradient(w)
    return {
        "value": risk.value(w),
        "both value": value,
        "gradient": risk.gradient(w),
        "both gradient": gradient,
        "hessian": risk.hessian(w),
        "gram": risk.gram(),
        "gram diagonal": risk.gram_diagonal(),
        "trials": risk.trials(w, steps),
        "line": risk.along(w, steps[0]).decrease(1.0),
    }


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
@pytest.mark.usefixtures("short_blocks")
def test_the_allowance_covers_the_difference_between_compiled_and_reference(loss, csr, monkeypatch):
    risk = risk_of(loss, csr=csr)
    rng = np.random.default_rng(1)
    w, steps = 3.0 * rng.normal(size=risk.dim), rng.normal(size=(2, risk.dim))
    found = []
    for path in ("reference", "compiled"):
        monkeypatch.setenv("SOTTOVOCE_KERNELS", path)
        found.append(answers(risk, w, steps))
    one, other = found
    accuracy, norm = Accuracy(risk.bounds.arithmetic), float(np.linalg.norm(w))
    curvature = max(loss.curvature_low, loss.curvature_high)
    highest = loss.value_within(norm + float(np.linalg.norm(steps[0])) + max(map(abs, TARGET)))
    added = {"weight_norm": norm, "added": 1.0}
    moves = {"slope": loss.slope, "highest": highest, **added}
    allowed = {
        "value": accuracy.value(highest=highest, slope=loss.slope, **added),
        "gradient": accuracy.gradient(slope=loss.slope, curvature=curvature, **added),
        "hessian": accuracy.hessian(curvature=curvature, third=loss.third, **added),
        "gram": accuracy.of.matrices(1.0),
        "gram diagonal": accuracy.of.matrices(1.0),
        "trials": accuracy.difference(step_norm=float(np.linalg.norm(steps, axis=1).max()), **moves) * 2,
        "line": accuracy.difference(step_norm=float(np.linalg.norm(steps[0])), **moves),
    }
    for name, bound in allowed.items():
        assert np.linalg.norm(np.subtract(one[name], other[name])) <= 2.0 * bound, name
    for path in found:
        assert path["value"] == pytest.approx(path["both value"], rel=1e-13)
        np.testing.assert_allclose(path["gradient"], path["both gradient"], rtol=1e-12, atol=1e-14)
    assert np.array_equal(other["hessian"], other["hessian"].T)


@pytest.mark.parametrize("power", [-1.0, 1.0, 4.0])
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
@pytest.mark.usefixtures("compiled")
def test_no_compiled_answer_is_farther_from_exact_than_its_bound(loss, power):
    test_rounding.test_no_answer_of_the_risk_is_farther_from_exact_than_its_bound(loss, power)


NO_WEIGHTS = np.empty(0)


def run_of(loss, t, labels, weights=NO_WEIGHTS):
    """Sum of values, slopes and curvatures of a run, clamped to the constants of the loss."""
    slopes, bends, law = np.empty_like(t), np.empty_like(t), loss.law
    steepest, heaviest = loss.slope / law.heaviest, law.heaviest
    band = Band(-1.0, 1.0, np.array([-steepest]), np.array([steepest]))
    highest = min(loss.ceiling / heaviest, 1e59)
    clamps = contributions.Clamps.of(band, Span(-highest, highest))
    call = contributions.Call.of(law, "tangents")
    rooms = np.empty_like(t), np.empty(t.size, np.int32)
    total = contributions.tangent(call, clamps, t, labels, weights, slopes, *rooms, True, True)
    bent = contributions.Clamps.of(None, Span(-loss.curvature_low / heaviest, loss.curvature_high / heaviest))
    contributions.curvatures(contributions.Call.of(law, "curvatures"), bent, t, labels, bends)
    return total, slopes, bends


def drop_of(loss, length, t, moves, labels, weights):
    """Sum of differences of a run, steep enough that none is cut."""
    marks, rooms, call = np.empty_like(t), np.empty((2, t.size)), contributions.Call.of(loss.law, "values")
    contributions.mark(call, t, labels, marks)
    steepest = 1.01 * loss.slope / loss.law.heaviest
    return contributions.drop(call, steepest, length, t, moves, marks, labels, weights, rooms)


def hostile_arguments(seed=9):
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [
            [0.0, -0.0, 1e-300, 1e100, -1e100, 709.8, -709.8, 745.2],
            np.linspace(-800.0, 800.0, 1001),
            rng.normal(size=2000) * 5.0,
            2.0 ** rng.uniform(-60.0, 9.0, 500) * rng.choice([-1, 1], 500),
        ]
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", TWINNED, ids=repr)
def test_a_compiled_loss_is_the_loss_to_a_few_ulps_and_never_past_its_bounds(loss, weighted):
    t = hostile_arguments()
    allowed = 32 * UNIT_ROUNDOFF
    for run in np.array_split(t, 40):
        _, slopes, bends = run_of(loss, run, np.ones(run.size), np.ones(run.size * weighted))
        assert np.all(np.abs(slopes) <= loss.slope)
        assert np.all((-loss.curvature_low <= bends) & (bends <= loss.curvature_high))
        assert np.abs(slopes - loss.first(run)).max() <= 2 * allowed * loss.slope
        assert np.abs(bends - loss.second(run)).max() <= 2 * allowed * loss.curvature_high
    with mpmath.workdps(100):
        for s in t[1::50].tolist():
            _, slopes, bends = run_of(loss, np.array([s]), np.ones(1), np.ones(int(weighted)))
            _, first, second = derivatives(loss, mpmath.mpf(s))
            assert abs(mpmath.mpf(slopes.item()) - first) <= allowed * loss.slope
            assert abs(mpmath.mpf(bends.item()) - second) <= allowed * loss.curvature_high
        for s in t[::9].tolist():
            value, _, _ = run_of(loss, np.array([s]), np.ones(1), np.ones(int(weighted)))
            highest = loss.value_within(abs(s))
            assert 0.0 <= value <= highest
            if abs(s) <= 800.0:
                exact = exact_loss(loss, mpmath.mpf(s))
                assert abs(mpmath.mpf(float(value)) - exact) <= allowed * highest


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", TWINNED, ids=repr)
def test_a_whole_run_is_no_farther_off_than_its_rows_may_be(loss, weighted):
    """A full run of margins near 0, where differences are small."""
    rng = np.random.default_rng(4)
    for reach in (0.0, 1e-9, 1.0, 30.0):
        t = rng.uniform(-reach, reach, contributions.RUN)
        moves = rng.normal(size=t.size) * 0.1
        ones = np.ones_like(t)
        counts = ones[: t.size * weighted]
        total, _, _ = run_of(loss, t, ones, counts)
        gain = drop_of(loss, 0.5, t, moves, ones, counts)
        with mpmath.workdps(80):
            exact = [exact_loss(loss, mpmath.mpf(float(s))) for s in t]
            ends = [
                exact_loss(loss, mpmath.mpf(float(s)) + mpmath.mpf(float(u)) / 2)
                for s, u in zip(t, moves, strict=True)
            ]
            row = 64 * UNIT_ROUNDOFF * loss.value_within(reach)
            sums = gamma(t.size) * float(mpmath.fsum(exact))
            assert abs(mpmath.mpf(float(total)) - mpmath.fsum(exact)) <= t.size * row + sums
            changes = [a - b for a, b in zip(exact, ends, strict=True)]
            row = 2 * 64 * UNIT_ROUNDOFF * loss.value_within(reach + 0.5)
            sums = gamma(t.size) * float(mpmath.fsum(map(abs, changes)))
            assert abs(mpmath.mpf(float(gain)) - mpmath.fsum(changes)) <= t.size * row + sums


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_records_count_by_their_class_and_weight(weighted):
    rng = np.random.default_rng(6)
    t, labels = rng.normal(size=100) * 3.0, rng.choice([-1.0, 1.0], 100)
    weights = rng.uniform(0.0, 1.5, 100 * weighted)
    for base in (Logistic(), SoftplusHinge(3.0), Sigmoid(), Savage()):
        loss = class_weighted(base, (-1, 1), {-1: 0.5, 1: 2.0})
        by_class = np.where(labels > 0.0, 1.0, 0.25)
        counts = by_class * weights if weighted else by_class
        total, slopes, bends = run_of(loss, t, labels, weights)
        assert total == pytest.approx((counts * loss.value(t)).sum(), rel=1e-14)
        np.testing.assert_allclose(slopes, counts * loss.first(t), rtol=1e-14)
        np.testing.assert_allclose(bends, by_class * loss.second(t), rtol=1e-12, atol=1e-15)
        moves = rng.normal(size=100)
        gain = drop_of(loss, 0.5, t, moves, labels, weights)
        wanted = (counts * (loss.value(t) - loss.value(t + 0.5 * moves))).sum()
        assert gain == pytest.approx(wanted, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(
    "name", ["log-cosh", "cauchy", "geman-mcclure", "welsch", "pseudo-huber", "least-squares"]
)
def test_compiled_residual_losses_stay_finite_and_even_out_to_the_largest_float(name):
    scales = [{}] if name == "log-cosh" else [{"scale": 1e-6}, {"scale": 1e6}]
    t = np.array([0.0, 1e-320, 1e-160, 1e3, 1e50])
    far = np.array([1e149, 1e151, 1e200, 1e299, -1e299])
    for scale in scales:
        loss = by_name(name, **scale)
        assert np.isfinite(loss.law.values(far, np.ones(far.size))).all()
        for weights in (NO_WEIGHTS, np.full(1, 0.5)):
            for s in t:
                args = (np.ones(1), weights)
                one, other = (run_of(loss, np.array([end]), *args) for end in (s, -s))
                count = weights.item() if weights.size else 1.0
                assert one[0] == other[0]
                assert np.array_equal(one[1], -other[1])
                assert one[0] == pytest.approx(count * loss.value(s).item(), rel=1e-13)
                assert one[1].item() == pytest.approx(
                    count * loss.first(s).item(), rel=1e-13, abs=1e-14 * loss.slope
                )


def test_the_setting_decides_who_sums(monkeypatch):
    held, law = rows_of(20), Logistic().law
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    assert isinstance(block_sums.block_kernel(held, law), compiled_kernels.DenseBlockKernel)
    assert isinstance(block_sums.block_kernel(rows_of(20, csr=True), law), sparse_sums.SparseBlockKernel)
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    assert isinstance(block_sums.block_kernel(held, law), reference_sums.PlainBlockKernel)


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("shape", test_rounding.SHAPES)
def test_no_magnitudes_push_a_compiled_sum_past_its_bound(shape, csr):
    rng = np.random.default_rng(7)
    for n, dim in ((1, 3), (7, 1), (37, 5), (300, 33)):
        factors = test_rounding.hostile_factors(shape, n, rng)
        X = rng.normal(size=(n, dim))
        X = (X / np.linalg.norm(X, axis=1)[:, None]).astype(np.float32)
        view = sparse_sums.CompiledSparseView(sparse.csr_array(X)) if csr else products_compiled.DenseView(X)
        exact = test_rounding.exact_mean(factors, X.astype(np.float64))
        computed = view.gather(factors) / n
        error = Arithmetic(n=n, dim=dim, block_length=n, radius=1.001).vectors(1.0)
        assert test_rounding.distance(computed, exact) <= error


@pytest.mark.parametrize("csr", [False, True])
def test_no_compiled_margin_is_off_by_more_than_its_bound(csr):
    rng = np.random.default_rng(11)
    for dim in (1, 2, 5, 16, 31, 54):
        X = rng.normal(size=(13, dim)).astype(np.float32)
        w = rng.normal(size=dim) * 10.0 ** rng.uniform(-6, 6, dim)
        view = sparse_sums.CompiledSparseView(sparse.csr_array(X)) if csr else products_compiled.DenseView(X)
        for x, t in zip(X, view.times(w), strict=True):
            terms = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, w, strict=True)]
            error = abs(float(Fraction(float(t)) - sum(terms, Fraction(0))))
            assert error <= gamma(dim) * float(sum(map(abs, terms)))


@pytest.mark.parametrize("csr", [False, True])
def test_a_row_has_the_same_margin_whatever_the_other_rows_hold(csr):
    rng = np.random.default_rng(2)
    for n in (1, 4, 7, 30):
        X = rng.normal(size=(n, 54)).astype(np.float32)
        w = rng.normal(size=54)
        for place in {0, n // 2, n - 1}:
            other = (1e6 * rng.normal(size=X.shape)).astype(np.float32)
            other[place] = X[place]
            if csr:
                margins = (
                    sparse_sums.CompiledSparseView(sparse.csr_array(part)).times(w) for part in (X, other)
                )
            else:
                margins = (products_compiled.DenseView(part).times(w) for part in (X, other))
            one, two = margins
            assert one[place] == two[place]


def test_a_dense_row_has_the_same_margin_at_any_place():
    rng = np.random.default_rng(2)
    for dim in (1, 7, 8, 9, 54):
        X, w = rng.normal(size=(11, dim)).astype(np.float32), rng.normal(size=dim)
        margins = products_compiled.DenseView(X).times(w)
        for shift in range(1, 11):
            moved = products_compiled.DenseView(np.roll(X, shift, axis=0)).times(w)
            assert np.array_equal(np.roll(margins, shift), moved)


@pytest.mark.parametrize("widest", [outer_compiled.WIDEST, 0])
@pytest.mark.parametrize("dim", [1, 7, 8, 9, 16, 23, 54, 65])
def test_outer_products_are_exact_where_floats_are(dim, widest, monkeypatch):
    """Whole numbers leave nothing to round: every entry of every square must be right."""
    monkeypatch.setattr(outer_compiled, "WIDEST", widest)
    rng = np.random.default_rng(dim)
    for n in (1, 3, 63, 64, 65, 200):
        X, weights = rng.integers(-9, 10, (n, dim)), rng.integers(-5, 6, n)
        room = products_compiled.DenseView.room(dim)
        assert (len(room) == 2) == (widest == 0)
        for counted in (None, weights):
            total = np.zeros(room)
            view = products_compiled.DenseView(X.astype(np.float32))
            view.add_outer(total, None if counted is None else counted.astype(np.float64), convex=False)
            wanted = X.T @ (X if counted is None else counted[:, None] * X)
            assert np.array_equal(products_compiled.DenseView.matrix(total, dim), wanted)


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.usefixtures("compiled", "short_blocks")
def test_the_compiled_numbers_do_not_depend_on_the_number_of_threads(csr, monkeypatch):
    held = rows_of(16 * 75 + 3, csr=csr)
    found = []
    for count in ("1", "2", "5", "2"):
        monkeypatch.setenv("SOTTOVOCE_THREADS", count)
        found.append(every_pass(held, Logistic()))
    for name, first in found[0].items():
        assert all(np.array_equal(first, other[name]) for other in found[1:]), name


@pytest.mark.parametrize("length", [1, 3, 15, 16, 17, 16 * 32 + 1])
@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.usefixtures("compiled", "short_blocks")
def test_every_row_counts_once_on_the_compiled_path(length, csr):
    held = rows_of(length, csr=csr)
    blocks = [held.block(i).features for i in range(held.blocks)]
    X = np.vstack([b.toarray() if csr else b for b in blocks]).astype(np.float64)
    w = np.random.default_rng(1).normal(size=held.dim)
    slopes = Logistic().first(held.targets * (X @ w)) * held.targets
    np.testing.assert_allclose(gradient_of(held, Logistic(), w), X.T @ slopes, rtol=0, atol=1e-13 * length)


@pytest.mark.usefixtures("compiled")
def test_a_compiled_pass_changes_no_stored_row():
    for csr in (False, True):
        held = rows_of(100, csr=csr)
        before = every_pass(held, Logistic())
        every_pass(held, Logistic(), seed=2)
        after = every_pass(held, Logistic())
        assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_size_decides_unless_the_variable_does(monkeypatch):
    monkeypatch.delenv("SOTTOVOCE_KERNELS", raising=False)
    assert not choosing.is_compiled(choosing.WORTH_COMPILING - 1)
    assert choosing.is_compiled(choosing.WORTH_COMPILING)
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    assert not choosing.is_compiled(10**9)
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    assert choosing.is_compiled(1)


def test_without_numba_the_reference_serves_and_compiled_is_refused(monkeypatch):
    held = rows_of(20)
    monkeypatch.setattr(choosing, "WORTH_COMPILING", 1)
    monkeypatch.setattr(choosing, "has_numba", lambda: False)
    monkeypatch.delenv("SOTTOVOCE_KERNELS", raising=False)
    assert isinstance(products.view_for(held)(held.block(0).features), products.WideView)
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    with pytest.raises(ParameterError, match="needs numba"):
        kernels.gram(held)


@pytest.mark.parametrize("wrong", ["fast", "Compiled", " reference"])
def test_a_path_that_does_not_exist_is_refused(wrong, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", wrong)
    with pytest.raises(ParameterError, match="SOTTOVOCE_KERNELS"):
        kernels.gram(rows_of(3))


def test_a_folder_that_cannot_be_written_costs_the_cache_only(monkeypatch):
    def without_a_place(function):
        raise RuntimeError("no locator available")

    monkeypatch.setattr(compiling, "Kept", without_a_place)
    total = np.zeros(1)

    def add(out):
        out[0] += 1.0

    compiling.compiled(reorder=True)(add)(total)
    assert total[0] == 1.0


def test_no_code_of_an_older_formula_is_taken_from_disk(monkeypatch):
    """Numba compares the file of the function alone; what it calls may have changed in another."""
    kept = sparse_sums.sparse_times._cache
    signature, codegen = (numba.float64,), numba.core.registry.cpu_target.target_context.codegen()
    one = kept._index_key(signature, codegen)
    monkeypatch.setattr(compiling, "_fingerprint", lambda _: "of other sources")
    assert kept._index_key(signature, codegen) != one


def test_an_index_on_disk_that_names_types_that_are_no_more_is_begun_anew(monkeypatch):
    kept = sparse_sums.sparse_times._cache
    flushed = []

    def broken(self, signature, context):
        raise AttributeError("no such type")

    monkeypatch.setattr(compiling.FunctionCache, "load_overload", broken)
    monkeypatch.setattr(type(kept), "flush", lambda self: flushed.append(self))
    assert kept.load_overload(None, None) is None
    assert flushed == [kept]
