"""Compact rows are the dense rows: every answer agrees within the allowance, and no code is read amiss."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.data import blocks
from sottovoce.data.compact import Compact
from sottovoce.data.compact_rows import CompactRows
from sottovoce.data.dask_partitions import Part, fingerprint
from sottovoce.data.files import read
from sottovoce.data.layout import CodeColumn, RowLayout
from sottovoce.data.rows import DenseRows
from sottovoce.data.schema import Binned, Categorical, DatePart, Numeric, Schema, Spline, Target
from sottovoce.errors import DataError
from sottovoce.kernels import influence, passes, products
from sottovoce.kernels.block_sums import ALONE, Stretches, block_kernel
from sottovoce.kernels.compiled.compact_places import JOINT, places, plan_of
from sottovoce.kernels.compiled.compact_products import CompiledCompactView
from sottovoce.losses import Kind, Logistic
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.privacy.rounding import Arithmetic, gamma
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.regularizers import L2
from tests.accuracy import Accuracy
from tests.kernels.test_products import answers
from tests.privacy.test_rounding import SHAPES, distance, exact_mean, hostile_factors
from tests.strategies import ALL_LOSSES, LABELS, TARGET

N = 300
COLUMNS = (
    Numeric("a", -2, 2, indicator=True),
    Categorical("c", ("u", "v", "w"), indicator=True),
    Binned("b", (-1.0, 0.0, 1.5)),
    DatePart("month", "month", column="day"),
    Spline("s", -2, 2, (0.0, 1.0)),
    Categorical("d", tuple(range(40))),
)
PAIRS = (("c", "month"), ("a", "c"), ("a", "s"))


def cells(n=N, seed=0):
    """Text, as CSV gives it: missing, undeclared and unreadable cells among it."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    numbers = [["", "x", *map(str, rng.normal(size=n))][k] for k in rng.integers(0, n + 2, n)]
    columns = {name: list(rng.permutation(numbers)) for name in ("a", "b", "s")}
    columns["c"] = list(rng.choice(["u", "v", "w", "z", ""], n))
    columns["day"] = list(rng.choice(["2024-02-03", "2023-12-31", "never", ""], n))
    columns["d"] = list(rng.integers(0, 45, n).astype(str))
    columns["y"] = list(rng.choice(["-1", "1", ""], n, p=[0.45, 0.5, 0.05]))
    columns["t"] = list(rng.uniform(*TARGET, n).astype(str))
    columns["k"] = list(rng.choice(list("pqr"), n))
    return pa.table(columns)


def schema(kind=Kind.MARGIN):
    aim = Target("y", classes=LABELS) if kind is Kind.MARGIN else Target("t", low=TARGET[0], high=TARGET[1])
    return Schema(COLUMNS, aim, interactions=PAIRS)


def both(declared, table=None, weights=None, radius=1.0):
    """The same rows held dense and compact."""
    table = cells() if table is None else table
    held = read(table, declared, how=sv.ReadOptions(invalid="zero"))
    given = {"labels": declared.target.classes, "target": declared.target.range, "constant": True}
    given |= {"sample_weight": weights, "weight_cap": 2.0, "invalid": "zero", "radius": radius}
    dense = sv.Records.from_arrays(held.features, held.target, **given)
    given = {"sample_weight": weights, "weight_cap": 2.0, "invalid": "zero"}
    return dense, sv.Records.from_table(table, declared, **given)


def stacked(held):
    return np.concatenate([block.features[:] for block in held.read()])


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "dense_block_length", lambda dim: 64)


def made(n=200, sizes=(3, 17), numbers=4, seed=1, codes=None):
    """Rows of a layout of its own, codes of any value among them, and what they stand for."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum((0, *sizes))
    dim = int(starts[-1]) + numbers
    units = 0.1 + 0.2 * rng.random(len(sizes))
    columns = tuple(
        CodeColumn(int(start), size, float(np.float32(unit)))
        for start, size, unit in zip(starts, sizes, units, strict=False)
    )
    layout = RowLayout(dim, tuple(range(int(starts[-1]), dim)), columns, float(np.float32(0.25)))
    features = Compact.blank(layout, n)
    given = rng.normal(size=(numbers, n)).astype(np.float32) * np.float32(0.1)
    given[-1] = layout.unit
    held = rng.integers(0, np.iinfo(layout.kind).max + 1, (len(sizes), n)) if codes is None else codes
    features.write(0, given, held.astype(layout.kind))
    return features, features[:]


def test_compact_rows_are_the_dense_rows_entry_by_entry_and_smaller():
    dense, compact = both(schema())
    assert isinstance(dense._rows, DenseRows)
    assert isinstance(compact._rows, CompactRows)
    assert np.array_equal(stacked(dense._rows), stacked(compact._rows))
    assert np.array_equal(dense._rows.targets, compact._rows.targets)
    assert compact._rows.block_length == dense._rows.block_length
    assert compact._rows._features.nbytes < 0.75 * dense._rows._features.nbytes
    taken = np.array([0, 5, 129, N - 1])
    assert np.array_equal(stacked(dense._rows.take(taken)), stacked(compact._rows.take(taken)))


def test_covertype_takes_a_quarter_of_the_memory_of_its_dense_rows():
    areas, soils = Categorical("area", tuple(range(4))), Categorical("soil", tuple(range(40)))
    layout = RowLayout.of(Schema((*(Numeric(f"x{j}", 0, 1) for j in range(10)), areas, soils)))
    assert (layout.dim, layout.row_bytes) == (55, 46)
    assert layout.row_bytes <= 0.25 * 4 * layout.dim


def test_one_cell_changes_no_other_row_and_no_type():
    import pyarrow as pa

    one = cells()
    columns = one.to_pydict()
    for name in ("a", "b", "s", "c", "day", "d"):
        columns[name][7] = "1e300"
    columns["y"][7] = "no label"
    first, second = (both(schema(), table)[1]._rows for table in (one, pa.table(columns)))
    moved = np.flatnonzero(np.any(stacked(first) != stacked(second), axis=1))
    assert moved.tolist() == [7]
    assert first._features.codes.dtype == second._features.codes.dtype


CASES = [
    pytest.param(loss, weighted, marks=[] if loss in (ALL_LOSSES[0], ALL_LOSSES[-1]) else pytest.mark.slow)
    for loss in ALL_LOSSES
    for weighted in (False, True)
]


@pytest.mark.parametrize(("loss", "weighted"), CASES)
@pytest.mark.usefixtures("short_blocks")
def test_every_answer_is_that_of_dense_rows_within_the_allowance(loss, weighted, monkeypatch):
    weights = np.random.default_rng(2).uniform(0, 2.5, N) if weighted else None
    pair = [Risk(records, loss, L2(0.01)) for records in both(schema(loss.kind), weights=weights)]
    rng = np.random.default_rng(1)
    w, steps = 3.0 * rng.normal(size=pair[0].dim), rng.normal(size=(2, pair[0].dim))
    assert pair[0].bounds.gradient(w) == pair[1].bounds.gradient(w)
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    wanted, again = (_all_answers(risk, w, steps) for risk in pair)
    for name, numbers in wanted.items():
        assert np.array_equal(numbers, again[name]), name
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    found = _all_answers(pair[1], w, steps)
    accuracy, norm = Accuracy(pair[0].bounds.arithmetic), float(np.linalg.norm(w))
    curvature = max(loss.curvature_low, loss.curvature_high)
    step = float(np.linalg.norm(steps, axis=1).max())
    highest = loss.value_within(norm + step + max(map(abs, TARGET)))
    added = {"weight_norm": norm, "added": 1.0}
    moves = {"slope": loss.slope, "highest": highest, "step_norm": step, **added}
    allowed = dict.fromkeys(wanted, accuracy.of.matrices(1.0))
    allowed |= dict.fromkeys(
        ["value", "both value"], accuracy.value(highest=highest, slope=loss.slope, **added)
    )
    allowed |= dict.fromkeys(
        ["gradient", "both gradient"], accuracy.gradient(slope=loss.slope, curvature=curvature, **added)
    )
    allowed |= dict.fromkeys(["trials", "line"], 2.0 * accuracy.difference(**moves))
    allowed["hessian"] = accuracy.hessian(curvature=curvature, third=loss.third, **added)
    for name, numbers in wanted.items():
        if name in ("information", "scores"):
            assert np.allclose(numbers, found[name], rtol=1e-12, atol=1e-13), name
        else:
            assert np.linalg.norm(np.subtract(numbers, found[name])) <= 2.0 * allowed[name], name
    assert found["value"] == pytest.approx(found["both value"], rel=1e-13)
    np.testing.assert_allclose(found["gradient"], found["both gradient"], rtol=1e-12, atol=1e-14)
    assert np.array_equal(found["hessian"], found["hessian"].T)


def _all_answers(risk, w, steps):
    held = risk.records._rows
    law, band = risk.loss.law, risk.bounds.vector_sum(w).band
    found = answers(risk, w, steps) | {"scores": passes.score_moment(held, law, w, band)}
    found |= {"moments": risk.moments(), "column": passes.gram_column(held, risk.dim - 1) / risk.n}
    if risk.loss.curvature_low == 0.0:
        found["information"] = passes.information(held, law, w, risk.bounds.information_sum(w).span)
    return found


@pytest.mark.parametrize("path", ["reference", "compiled"])
@pytest.mark.usefixtures("short_blocks")
def test_more_than_two_classes_agree_too(path, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", path)
    declared = Schema(COLUMNS, Target("k", classes=tuple("pqr")))
    dense, compact = (SoftmaxRisk(records, L2(0.01)) for records in both(declared))
    w = np.random.default_rng(4).normal(size=dense.dim)
    for one, other in (
        (dense.value_and_gradient(w), compact.value_and_gradient(w)),
        ((dense.hessian(w),), (compact.hessian(w),)),
        ((dense.along(w, -w).decrease(0.5),), (compact.along(w, -w).decrease(0.5),)),
    ):
        for a, b in zip(one, other, strict=True):
            assert np.allclose(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("path", ["reference", "compiled"])
@pytest.mark.parametrize("centred", [True, False])
def test_a_preconditioner_measures_compact_rows_as_long_as_dense_ones(centred, path, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", path)
    dense, compact = both(schema())
    rng = np.random.default_rng(3)
    shift = rng.normal(size=dense.dim)
    shift[-1] = 0.0
    preconditioner = Preconditioner(
        scale=2.0 ** rng.normal(size=dense.dim),
        cap=0.3,
        shift=shift if centred else None,
        constant=dense.constant if centred else None,
    )
    wide = stacked(dense._rows).astype(np.float64)
    longest = np.linalg.norm(preconditioner.to_coordinates(wide.copy()), axis=1)
    found = influence.counts(compact._rows, preconditioner, 1.0)
    assert np.allclose(found, influence.counts(dense._rows, preconditioner, 1.0), rtol=1e-12)
    assert np.all(found * longest <= preconditioner.cap)
    blank = np.flatnonzero(~wide.any(axis=1))
    assert blank.size
    assert np.all(found[blank] == 1.0)
    weights = np.linspace(0.1, 2.0, N)
    for records in both(schema(), weights=weights):
        own = records._rows.weights
        assert np.allclose(influence.counts(records._rows, preconditioner, 1.0), found * own, rtol=1e-12)


def test_a_preconditioner_that_centres_by_another_column_is_measured_too(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    dense, compact = both(schema())
    shift = np.linspace(-1.0, 1.0, dense.dim)
    shift[0] = 0.0
    preconditioner = Preconditioner(scale=np.ones(dense.dim), cap=0.3, shift=shift, constant=0)
    counts = [influence.counts(records._rows, preconditioner, 1.0) for records in (dense, compact)]
    assert np.allclose(*counts, rtol=1e-12)


@pytest.mark.parametrize(
    "sizes",
    [
        (3, 17),
        (3, 17, 5, 2, 40),
        (255,),
        (),
        pytest.param((256, 2), marks=pytest.mark.slow),
        pytest.param((70_000,), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("n", [1, 129, 700])
def test_any_code_past_the_declared_ones_is_none_and_reads_nothing_else(sizes, n):
    """Codes are drawn from all that their type can hold; memory around the tables is poisoned by NaN."""
    features, wide = made(n, sizes)
    view = CompiledCompactView(features.seal())
    double = wide.astype(np.float64)
    rng = np.random.default_rng(n)
    w, factors = rng.normal(size=features.layout.dim), rng.normal(size=n)
    assert np.allclose(view.times(w), double @ w, atol=1e-12)
    assert np.allclose(view.gather(factors), double.T @ factors, atol=1e-10)
    assert np.allclose(view.squares(factors), (double**2).T @ factors, atol=1e-10)
    if features.layout.dim < 1000:
        total = np.zeros((features.layout.dim,) * 2)
        view.add_outer(total, factors, convex=False)
        assert np.allclose(view.matrix(total, len(total)), double.T @ (factors[:, None] * double), atol=1e-10)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("form", [0, 1], ids=["dense", "compact"])
@pytest.mark.parametrize("share", [1, 2, 3])
def test_blocks_that_lie_together_give_the_numbers_of_each_by_itself(form, share, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    held = both(schema(), weights=np.linspace(0.1, 2.0, N))[form]._rows
    kernel = block_kernel(held, Logistic().law)
    band, span = Logistic().slope_band(-9.0, 9.0), Logistic().value_span(-9.0, 9.0)
    w = np.cos(np.arange(held.dim))
    steps = np.stack([w, -0.5 * w])
    assert kernel.folds
    assert held.blocks > 3
    for done, first, last in ((0, 0, held.blocks), (1, 1, 3), (5, held.blocks - 1, held.blocks)):
        (piece,) = held.run(first, last)
        place, stretches = Stretches(held.block_length, done, share), (done + last - first) // share + 1
        together, apart = np.zeros((2, stretches, held.dim + 1))
        gains, single = np.zeros((2, stretches, len(steps)))
        kernel.tangent(piece, w, band, span, place, together)
        kernel.trials(piece, w, steps, 1.0, place, gains)
        for index in range(first, last):
            number = (done + index - first) // share
            kernel.tangent(held.block(index), w, band, span, ALONE, apart[number : number + 1])
            kernel.trials(held.block(index), w, steps, 1.0, ALONE, single[number : number + 1])
        assert np.array_equal(together, apart)
        assert np.array_equal(gains, single)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("weighted", [True, False])
def test_moments_and_second_moments_add_blocks_that_lie_together_one_by_one(weighted, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    held = both(schema(), weights=np.linspace(0.1, 2.0, N) if weighted else None)[1]._rows
    assert CompiledCompactView.folds
    assert held.blocks > 3
    for first, last in ((0, held.blocks), (1, 3), (held.blocks - 1, held.blocks)):
        (piece,) = held.run(first, last)
        sums, matrices = np.zeros((2, 2, held.dim)), np.zeros((2, held.dim, held.dim))
        for place, parts in enumerate(([piece], held.each(first, last))):
            for block in parts:
                view = CompiledCompactView(block.features)
                view.add_moments(sums[place], block.weights, block.targets.size)
                view.add_outer(matrices[place], block.weights, convex=True)
        assert np.array_equal(*sums)
        assert np.array_equal(*matrices)
        rows = np.concatenate([block.features[:] for block in held.each(first, last)]).astype(np.float64)
        counts = np.ones(len(rows)) if piece.weights is None else piece.weights
        assert np.allclose(sums[0], [counts @ rows, counts @ rows**2], rtol=1e-12)


def test_groups_of_code_columns_hold_every_combination_once():
    for sizes in ((3, 17, 5, 2, 40), (1,) * 12, (300, 2, 2), (15, 15), (16, 15), ()):
        layout = made(1, sizes)[0].layout
        plan = places(*plan_of(layout))
        assert np.array_equal(np.diff(plan.slots), np.array(sizes) + 1)
        for g, (first, last) in enumerate(itertools.pairwise(plan.firsts)):
            codes = itertools.product(*(range(size + 1) for size in sizes[first:last]))
            found = sorted(int(np.dot(code, plan.strides[first:last])) for code in codes)
            assert found == list(range(plan.rooms[g + 1] - plan.rooms[g]))
            assert last == first + 1 or len(found) <= JOINT


def test_the_type_of_a_code_follows_from_the_declaration():
    for declared, kind in ((255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.uint32)):
        layout = RowLayout.of(Schema((Categorical("c", tuple(range(declared))),)))
        assert layout.kind == kind


@pytest.mark.parametrize("shape", SHAPES)
def test_no_magnitudes_push_a_compact_sum_past_its_bound(shape):
    for n in (1, 37, 300):
        features, wide = made(n, (2, 5), 3)
        double = wide.astype(np.float64)
        factors = hostile_factors(shape, n, np.random.default_rng(7))
        radius = float(np.linalg.norm(double, axis=1).max()) * (1 + 1e-15)
        error = Arithmetic(n=n, dim=wide.shape[1], block_length=n, radius=radius).vectors(1.0)
        found = CompiledCompactView(features.seal()).gather(factors) / n
        assert distance(found, exact_mean(factors, double)) <= error


def test_no_compact_margin_is_off_by_more_than_its_bound():
    features, wide = made(40, (3, 17), 9)
    w = np.random.default_rng(5).normal(size=wide.shape[1]) * 2.0 ** np.linspace(-40, 40, wide.shape[1])
    found = CompiledCompactView(features.seal()).times(w)
    for row, margin in zip(wide, found, strict=True):
        terms = [Fraction(float(x)) * Fraction(float(v)) for x, v in zip(row, w, strict=True)]
        off = abs(Fraction(float(margin)) - sum(terms))
        assert off <= Fraction(gamma(wide.shape[1])) * sum(map(abs, terms))


@pytest.mark.parametrize("path", ["reference", "compiled"])
@pytest.mark.usefixtures("short_blocks")
def test_the_numbers_do_not_depend_on_the_number_of_threads(path, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", path)
    risk = Risk(both(schema())[1], Logistic(), L2(0.01))
    w, found = np.cos(np.arange(risk.dim)), []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SOTTOVOCE_THREADS", threads)
        found.append((*risk.value_and_gradient(w), risk.hessian(w), risk.moments()))
    for again in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], again, strict=True))


@pytest.mark.parametrize("path", ["reference", "compiled"])
def test_a_blank_row_is_zero_in_every_pass(path, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", path)
    features, _ = made(130)
    features.clear(np.ones(130, dtype=bool))
    held = CompactRows(features, np.ones(130))
    view = products.view_for(held)
    w = np.full(held.dim, 1e3)
    block = held.block(0)
    assert not view(block.features).times(w).any()
    assert not view(block.features).gather(block.targets).any()
    assert not passes.moments(held).any()
    assert not passes.gram(held).any()


def test_a_radius_below_one_shrinks_rows_and_holds_them_dense():
    declared = schema()
    held = read(cells(), declared, how=sv.ReadOptions(invalid="zero"))
    given = {"labels": LABELS, "constant": True, "invalid": "zero", "radius": 0.4}
    dense = sv.Records.from_arrays(held.features, held.target, **given)
    compact = both(declared)[1]._rows._features
    shrunk = sv.Records.from_arrays(compact, held.target, **given)
    assert isinstance(shrunk._rows, DenseRows)
    assert np.array_equal(stacked(shrunk._rows), stacked(dense._rows))


def test_a_row_that_would_be_too_long_is_not_let_in():
    features, _ = made(20)
    features.numbers[0, 0, 3] = 2.0
    with pytest.raises(DataError, match="exceed the radius"):
        sv.Records.from_arrays(features, np.zeros(20), labels=(0, 1))


def test_rows_that_do_not_fit_their_layout_are_refused():
    features, _ = made(20)
    for numbers, codes in (
        (features.numbers[:, 1:], features.codes),
        (features.numbers, features.codes.astype(np.uint16)),
        (features.numbers, features.codes[:, :, 1:]),
    ):
        with pytest.raises(DataError, match="layout"):
            Compact(features.layout, 20, numbers, codes)


def test_compact_rows_cross_to_a_worker_alone_and_their_fingerprint_covers_codes_and_numbers():
    held = both(schema())[1]._rows
    part = Part(held, fingerprint(held))
    again = pickle.loads(pickle.dumps(part))
    assert fingerprint(again.rows) == part.fingerprint
    assert np.array_equal(stacked(again.rows), stacked(held))
    with pytest.raises(DataError, match="never copied"):
        pickle.dumps(held._features)
    for name in ("numbers", "codes"):
        other = held._features.take(np.arange(held.n))
        array = getattr(other, name)
        array[0, 0, 0] = 1 - array[0, 0, 0]
        assert fingerprint(CompactRows(other, held.targets)) != part.fingerprint
    assert "private" in repr(part)
    assert repr(held._features) == f"Compact({held.dim} columns, private)"
