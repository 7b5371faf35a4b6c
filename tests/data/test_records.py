"""Records: what comes through the door is bounded, declared, private and the caller's no longer."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from sottovoce.data import blocks, sparse_rows
from sottovoce.data import rows as rows_module
from sottovoce.data.records import CLIP_MARGIN, Records
from sottovoce.errors import DataError, ParameterError

RADII = (0.1, 1 / 3, 1.0, 7.3, 1e-3, 1e6, 1e-12, 1e12)
SECRET = 271828.1828


def features(records):
    """All stored rows as one dense float32 array."""
    blocks = [records._rows.block(i).features for i in range(records._rows.blocks)]
    return np.vstack([b.toarray() if sparse.issparse(b) else b for b in blocks])


def targets(records):
    return np.concatenate([records._rows.block(i).targets for i in range(records._rows.blocks)])


def signs(n):
    return np.where(np.arange(n) % 2 == 0, -1, 1)


def classified(X, y=None, **declared):
    y = signs(X.shape[0]) if y is None else y
    return Records.from_arrays(X, y, **{"labels": (-1, 1), **declared})


def both_kinds(X):
    return X, sparse.csr_array(X)


def require_bounded(records):
    limit = Fraction(records.radius) ** 2
    for row in features(records):
        assert sum(Fraction(float(entry)) ** 2 for entry in row) <= limit


def adversarial_rows(radius, rng):
    """Rows whose length lies within a few roundings of the radius or of where clipping begins."""
    directions = rng.normal(size=(40, 7))
    directions[::4] = np.sign(directions[::4])
    directions[1::4] = np.eye(7)[rng.integers(7, size=10)]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    edges = [
        step * radius * part
        for part in (1.0, 1.0 - CLIP_MARGIN)
        for step in (1.0, 1 + 2.0**-52, 1 - 2.0**-53, 1 + 2.0**-24, 1 - 2.0**-24, 1 + 2.0**-22, 3.0)
    ]
    return np.vstack([directions * edge for edge in edges])


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("intercept", [False, True])
def test_no_stored_row_exceeds_the_radius_in_exact_arithmetic(radius, intercept):
    X = adversarial_rows(radius, np.random.default_rng(1))
    for given_as in (*both_kinds(X), X.astype(np.float32)):
        require_bounded(classified(given_as, radius=radius, intercept=intercept))


@given(
    arrays.arrays(np.float64, (3, 4), elements=st.floats(-1e300, 1e300)),
    st.sampled_from(RADII),
    st.booleans(),
)
def test_no_finite_row_whatever_its_size_exceeds_the_radius(X, radius, intercept):
    for given_as in both_kinds(X):
        records = classified(given_as, radius=radius, intercept=intercept)
        require_bounded(records)
        assert np.isfinite(features(records)).all()


def test_clipping_keeps_the_direction_and_reaches_the_radius():
    for scale in (1.0, 1e300, 1e-300, 5e-324):
        X = scale * np.array([[3.0, -4.0], [4.0, 3.0]])
        for given_as in both_kinds(X):
            got = features(classified(given_as, radius=1.0))
            wanted = X / np.linalg.norm(X / scale, axis=1)[:, None] / scale if scale >= 1.0 else 0.0 * X
            np.testing.assert_allclose(got, wanted, rtol=3e-7, atol=1e-37)


def test_rows_within_the_radius_are_stored_unchanged():
    X = np.random.default_rng(2).normal(size=(500, 6)).astype(np.float32)
    radius = 1.01 * float(np.linalg.norm(X.astype(float), axis=1).max())
    for given_as in both_kinds(X):
        assert np.array_equal(features(classified(given_as, radius=radius)), X)


def test_the_intercept_is_the_last_column_and_is_clipped_with_its_row():
    X = np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 1e300]])
    for given_as in both_kinds(X):
        got = features(classified(given_as, radius=1.0, intercept=True))
        wanted = np.array([[3 / 10**0.5, 0, 1 / 10**0.5], [0, 0, 1], [0, 1, 0]])
        np.testing.assert_allclose(got, wanted, atol=3e-7)
        assert classified(given_as, intercept=True).dim == 3


def test_a_row_that_would_exceed_the_radius_is_refused_even_if_clipping_were_broken(monkeypatch):
    monkeypatch.setattr(rows_module, "_clip_dense", lambda rows, radius, usable: None)
    monkeypatch.setattr(sparse_rows, "_clip_sparse", lambda values, lengths, radius, usable: None)
    X = np.ones((5, 3))
    for given_as in both_kinds(X):
        with pytest.raises(DataError, match="defect"):
            classified(given_as, radius=1.0)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u1", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", ">f8", ">i4"]
)
def test_every_real_dtype_gives_the_same_rows(dtype):
    X = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    want = features(classified(X, radius=2.0))
    assert np.array_equal(features(classified(X.astype(dtype), radius=2.0)), want)
    if dtype not in ("f2", ">f8", ">i4"):
        assert np.array_equal(features(classified(sparse.csr_array(X).astype(dtype), radius=2.0)), want)


@pytest.mark.parametrize("layout", ["F", "strided", "reversed", "list"])
def test_memory_layout_does_not_matter(layout):
    X = np.random.default_rng(3).normal(size=(50, 4))
    given_as = {
        "F": np.asfortranarray(X),
        "strided": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "reversed": X[::-1].copy()[::-1],
        "list": X.tolist(),
    }[layout]
    assert np.array_equal(
        features(Records.from_arrays(given_as, signs(50), labels=(-1, 1))), features(classified(X))
    )


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
def test_every_sparse_format_gives_the_dense_rows(kind, make):
    X = np.random.default_rng(4).integers(-2, 3, size=(30, 9)) * 0.25
    X[5] = 0.0
    for intercept in (False, True):
        got = classified(make(X).asformat(kind), intercept=intercept)
        assert got.sparse
        np.testing.assert_allclose(features(got), features(classified(X, intercept=intercept)), rtol=2e-7)


def test_entries_given_twice_add_up_before_clipping():
    column = np.array([2, 0, 2, 2, 1])
    for dtype in (np.float32, np.int8):
        entries = np.array([100, 1, 100, 100, 1], dtype=dtype)
        tripled = sparse.csr_array((entries, column, [0, 4, 5]), shape=(2, 3))
        single = np.array([[1.0, 0.0, 300.0], [0.0, 1.0, 0.0]])
        for given_as in (tripled, sparse.coo_array((entries, ([0, 0, 0, 0, 1], column)), shape=(2, 3))):
            got = classified(given_as, radius=1.0)
            require_bounded(got)
            np.testing.assert_allclose(features(got), features(classified(single, radius=1.0)), rtol=2e-7)


def test_explicit_zeros_and_empty_rows_are_fine():
    X = sparse.csr_array(
        (np.array([0.0, 0.5, 0.0]), np.array([0, 1, 1]), np.array([0, 0, 2, 2, 3])), shape=(4, 2)
    )
    assert np.array_equal(features(classified(X)), [[0, 0], [0, 0.5], [0, 0], [0, 0]])
    assert np.array_equal(features(classified(sparse.csr_array((3, 2)))), np.zeros((3, 2)))


def test_broken_index_arrays_are_refused_before_they_are_followed():
    for indices, indptr in (([0, 99], [0, 1, 2]), ([0, -5], [0, 1, 2]), ([0, 1], [0, 3, 2])):
        X = sparse.csr_array((2, 3))
        X.data, X.indices, X.indptr = np.ones(2), np.array(indices), np.array(indptr)
        with pytest.raises(DataError, match="inconsistent") as caught:
            classified(X)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_array])
def test_the_callers_arrays_are_neither_changed_nor_needed_afterwards(make):
    X = make(np.random.default_rng(5).normal(size=(40, 3)).astype(np.float32))
    y = signs(40).astype(float)
    before, y_before = copy.deepcopy(X), y.copy()
    records = classified(X, y, radius=0.5, intercept=True)
    assert (abs(X - before)).sum() == 0
    assert np.array_equal(y, y_before)
    kept = features(records).copy()
    (X if make is np.array else X.data)[:] = 1e9
    if make is not np.array:
        X.indices[:] = 0
    y[:] = -1.0
    assert np.array_equal(features(records), kept)
    assert np.array_equal(targets(records), y_before)


def test_rows_already_bounded_and_float32_are_copied_all_the_same():
    X = np.full((10, 2), 0.25, dtype=np.float32)
    records = classified(X)
    X[:] = 100.0
    require_bounded(records)
    y = np.zeros(10)
    regression = Records.from_arrays(X, y, target=(0.0, 1.0))
    y[:] = 50.0
    assert targets(regression).max() == 0.0


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_stored_arrays_are_read_only(make):
    records = classified(make(np.eye(3)))
    block = records._rows.block(0)
    held = [block.features, block.targets]
    if sparse.issparse(block.features):
        held = [block.features.data, block.features.indices, block.features.indptr, block.targets]
    for array in held:
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_at_most_one_extra_copy_of_the_features_is_alive():
    X = np.ones((60_000, 40))
    y = signs(60_000)
    tracemalloc.start()
    try:
        classified(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 1.05 * X.size * 4 + 3 * y.size * 8 + 4 * 2**22


BAD = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_an_invalid_row_is_refused_without_quoting_anything(bad, make):
    X = np.full((7, 3), SECRET)
    X[4, 1] = bad
    with pytest.raises(DataError) as caught:
        classified(make(X))
    require_silent(caught.value)


def require_silent(error, *words):
    text = str(error) + repr(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    for word in ("2718", "inf,", "nan", "row 4", " 4", "1 row", *words):
        assert word not in text


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
@pytest.mark.parametrize("intercept", [False, True])
def test_invalid_zero_blanks_the_row_intercept_included_and_keeps_n(bad, make, intercept):
    X = np.full((7, 3), 0.5)
    X[4, 1] = bad
    records = classified(make(X), np.ones(7), intercept=intercept, invalid="zero")
    assert records.n == 7
    assert not features(records)[4].any()
    assert np.array_equal(targets(records), [1, 1, 1, 1, -1, 1, 1])
    clean = np.delete(np.arange(7), 4)
    wanted = classified(np.full((7, 3), 0.5), intercept=intercept)
    assert np.array_equal(features(records)[clean], features(wanted)[clean])


def test_an_undeclared_label_blanks_its_row_or_is_refused():
    X = np.full((3, 2), 0.5)
    for y, labels in (
        (np.array([0, 1, 7]), (0, 1)),
        (np.array([0.0, 1.0, np.nan]), (0, 1)),
        (np.array(["a", "b", "c271828"]), ("a", "b")),
        (np.array(["a", "b", None], dtype=object), ("a", "b")),
        (np.array(["a", "b", None], dtype=np.dtypes.StringDType(na_object=None)), ("a", "b")),
        (np.array(["a", "b", ["unhashable"]], dtype=object), ("a", "b")),
    ):
        with pytest.raises(DataError) as caught:
            Records.from_arrays(X, y, labels=labels)
        require_silent(caught.value, "c271828", "unhash", "7")
        records = Records.from_arrays(X, y, labels=labels, intercept=True, invalid="zero")
        assert np.array_equal(targets(records), [-1, 1, -1])
        assert not features(records)[2].any()
        assert features(records)[:2].all()


def test_the_blank_of_many_labels_is_the_first_and_of_a_range_the_number_nearest_zero():
    X = np.array([[0.5], [np.nan], [0.5]])
    y = np.array(["c", "b", "a"])
    records = Records.from_arrays(X, y, labels=("a", "b", "c"), invalid="zero")
    assert np.array_equal(targets(records), [2, 0, 0])
    for target, blank in (((-1, 5), 0.0), ((2, 5), 2.0), ((-5, -2), -2.0)):
        got = Records.from_arrays(X, [3.0, 3.0, np.nan], target=target, invalid="zero")
        assert np.array_equal(targets(got), [np.clip(3.0, *target), blank, blank])


def test_regression_targets_are_clipped_to_the_declared_range():
    y = np.array([-1e300, -2.0, 0.25, 9.0])
    records = Records.from_arrays(np.eye(4), y, target=(-1, 2))
    assert np.array_equal(targets(records), [-1.0, -1.0, 0.25, 2.0])
    assert records.target == (-1.0, 2.0)
    assert records.labels is None
    for bad in BAD:
        with pytest.raises(DataError) as caught:
            Records.from_arrays(np.eye(2), [SECRET, bad], target=(-1, 2))
        require_silent(caught.value)


@pytest.mark.parametrize(
    ("labels", "y"),
    [
        ((-1, 1), np.array([-1.0, 1.0, 1.0])),
        ((-1.0, 1.0), np.array([-1, 1, 1], dtype=np.int8)),
        ((0, 1), np.array([False, True, True])),
        ((False, True), np.array([0, 1, 1], dtype=np.uint8)),
        ((300, 2), np.array([300, 2, 2], dtype=np.int16)),
        ((-1, 1), np.array([-1, 1, 1], dtype=object)),
        (("no", "yes"), np.array(["no", "yes", "yes"])),
        (("no", "yes"), np.array(["no", "yes", "yes"], dtype=object)),
        (("no", "yes"), np.array(["no", "yes", "yes"], dtype=np.dtypes.StringDType())),
        (("no", "yes"), ["no", "yes", "yes"]),
        (("0", "1"), [0, 1, 1]),
        ((0, 1), np.array(["0", "1.0", " 1"])),
        ((False, True), np.array(["False", "true", "1"])),
        (("1.1", "1.10"), ["1.1", "1.10", "1.10"]),
    ],
)
def test_the_first_label_means_minus_one_and_the_second_plus_one(labels, y):
    records = Records.from_arrays(np.eye(3), y, labels=labels)
    assert np.array_equal(targets(records), [-1, 1, 1])
    assert records.labels == tuple(labels)
    assert not any(isinstance(label, np.generic) for label in records.labels)


def test_labels_outside_the_dtype_of_y_match_nothing():
    with pytest.raises(DataError):
        Records.from_arrays(np.eye(2), np.array([44, 2], dtype=np.int8), labels=(300, 2))
    with pytest.raises(DataError):
        Records.from_arrays(np.eye(2), np.array([255, 1], dtype=np.uint8), labels=(-1, 1))


@pytest.mark.parametrize(
    "labels",
    [
        (1,),
        (),
        (1, 1),
        (1, True),
        (2**60, 2**60 + 1),
        (0, 0.0, 1),
        ("a", 1),
        (np.nan, 1),
        (np.inf, 1),
        "ab",
        {0, 1},
        (None, 1),
        3,
        ((1,), 2),
    ],
)
def test_labels_that_are_not_two_distinct_scalars_are_refused(labels):
    with pytest.raises(ParameterError, match="labels"):
        Records.from_arrays(np.eye(2), [0, 1], labels=labels)


@pytest.mark.parametrize(
    "target", [(1, 1), (2, 1), (0, np.inf), (np.nan, 1), (0,), (0, 1, 2), "ab", 5, (-1.7e308, 1.7e308)]
)
def test_a_target_range_that_is_not_low_below_high_is_refused(target):
    with pytest.raises(ParameterError, match="target"):
        Records.from_arrays(np.eye(2), [0, 1], target=target)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 1e-13, 1e13, "1", None, True, 10**400, [1, 2]])
def test_a_radius_out_of_range_is_refused(radius):
    with pytest.raises(ParameterError, match="radius"):
        classified(np.eye(2), radius=radius)


def test_exactly_one_of_labels_and_target_is_declared():
    for declared in ({}, {"labels": (0, 1), "target": (0, 1)}):
        with pytest.raises(ParameterError, match="exactly one"):
            Records.from_arrays(np.eye(2), [0, 1], **declared)


@pytest.mark.parametrize(("name", "choice"), [("invalid", "drop"), ("intercept", "yes"), ("intercept", 1)])
def test_an_unknown_choice_is_refused(name, choice):
    with pytest.raises(ParameterError, match=name):
        classified(np.eye(2), **{name: choice})


@pytest.mark.parametrize(
    "X",
    [
        np.array([SECRET, 1.0]),
        np.full((2, 2, 2), SECRET),
        np.float64(SECRET),
        np.empty((0, 3)),
        np.empty((3, 0)),
        np.full((2, 2), "2718-02-08", dtype="M8[D]"),
        [[SECRET], [SECRET, 1.0]],
        np.ma.masked_greater(np.full((2, 2), SECRET), 1.0),
        sparse.csr_array(np.full((2, 2), SECRET * 1j)),
        sparse.coo_array(np.array([SECRET, 1.0])),
        None,
    ],
)
@pytest.mark.parametrize("invalid", ["raise", "zero"])
def test_features_of_the_wrong_shape_or_type_are_refused_without_quoting_them(X, invalid):
    with pytest.raises(DataError, match="X") as caught:
        Records.from_arrays(X, [-1, 1], labels=(-1, 1), invalid=invalid)
    require_silent(caught.value)


@pytest.mark.parametrize(
    "y",
    [
        [1],
        [1, 1, 1],
        [[1], [1]],
        1.0,
        None,
        [SECRET * 1j, 1],
        ["2718", "x"],
        np.ma.masked_equal([1, 1], 1),
        [b"a", b"b"],
    ],
)
@pytest.mark.parametrize("declared", [{"labels": (-1, 1)}, {"target": (0, 1)}])
def test_a_y_of_the_wrong_shape_or_type_is_refused_without_quoting_it(y, declared):
    with pytest.raises(DataError) as caught:
        Records.from_arrays(np.eye(2), y, **declared)
    require_silent(caught.value)


def test_what_an_input_raises_is_forgotten():
    class Talkative:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError(f"value {SECRET}")

    with pytest.raises(DataError) as caught:
        Records.from_arrays(Talkative(), [1], labels=(-1, 1))
    require_silent(caught.value)


def test_the_repr_shows_declared_facts_only():
    records = classified(np.full((3, 2), 0.123456), intercept=True)
    expected = "Records(n=3, dim=3, radius=1.0, labels=(-1, 1), target=None, intercept=True, sparse=False)"
    assert repr(records) == str(records) == expected
    assert "0.12" not in repr(records._rows) + repr(records._rows.block(0))


def test_public_facts_are_read_only():
    records = classified(np.eye(2))
    for fact in ("n", "dim", "radius", "labels", "target", "intercept", "sparse"):
        with pytest.raises(AttributeError):
            setattr(records, fact, 1)


@pytest.mark.parametrize("escape", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_records_refuse_to_be_copied_or_pickled(escape, make):
    records = classified(make(np.eye(2)))
    for held in (records, records._rows, records._rows.block(0)):
        with pytest.raises(DataError, match="from_arrays"):
            escape(held)


def test_blocks_cover_every_row_once_and_depend_on_public_sizes_only():
    for dim in (1, 7, 3000):
        length = blocks.dense_block_length(dim)
        n = 2 * length + 1 if dim < 100 else length + 1
        X = np.arange(n, dtype=float)[:, None] * np.eye(1, dim) / n
        records = classified(X)
        assert records._rows.blocks == -(-n // length)
        assert records._rows.block_length == length
        np.testing.assert_allclose(features(records)[:, 0], X[:, 0], rtol=1e-6)
        assert np.array_equal(targets(records), signs(n))
