"""A declared number of nonzeros is enforced at the door and its diagonal query is covered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sottovoce as sv
from tests import problems

X = np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, np.nan, 1.0], [0.0, 0.0, 0.0]])
Y = np.array([1, -1, 1, -1])


@pytest.mark.parametrize("held", [X, sparse.csr_array(np.nan_to_num(X, nan=5.0))])
def test_a_row_with_more_entries_than_declared_is_refused_or_blanked(held: object) -> None:
    with pytest.raises(sv.errors.DataError, match="more entries than declared"):
        sv.Records.from_arrays(held, Y, labels=(-1, 1), nonzeros=1)
    blanked = sv.Records.from_arrays(held, Y, labels=(-1, 1), nonzeros=1, invalid="zero", intercept=True)
    assert blanked.n == 4
    assert blanked.nonzeros == 1
    rows = blanked._rows.block(0).features
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    assert np.count_nonzero(dense, axis=1).tolist() == [2, 0, 0, 1]


def test_explicit_zeros_do_not_count_and_twins_count_once() -> None:
    table = sparse.coo_array(([1.0, 1.0, 0.0], ([0, 0, 0], [1, 1, 2])), shape=(1, 3))
    held = sv.Records.from_arrays(table, [1], labels=(-1, 1), nonzeros=1)
    assert held.nonzeros == 1


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "two"])
def test_a_wrong_declaration_is_refused(wrong: object) -> None:
    with pytest.raises(sv.errors.ParameterError, match="nonzeros"):
        sv.Records.from_arrays(np.eye(2), [1, -1], labels=(-1, 1), nonzeros=wrong)  # type: ignore[arg-type]


def test_the_widest_row_counts_the_intercept_and_never_exceeds_the_columns() -> None:
    held = sv.Records.from_arrays(np.eye(3), [1, -1, 1], labels=(-1, 1), nonzeros=1, intercept=True)
    assert sv.Risk(held, sv.losses.Logistic()).problem.widest_row == 2
    full = sv.Records.from_arrays(np.eye(3), [1, -1, 1], labels=(-1, 1), nonzeros=9)
    assert sv.Risk(full, sv.losses.Logistic()).problem.widest_row == 3
    assert problems.logistic().problem.widest_row == 5
    assert "nonzeros=1" in repr(held)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_replacing_one_record_moves_the_diagonal_at_most_its_bound(seed: int, as_sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    rows, y = 2.0 * rng.standard_normal((5, 4)), rng.choice([-1, 1], 5)
    other = rows.copy()
    other[1] = np.eye(4)[rng.integers(4)] * 10.0
    here, there = (
        sv.Risk(
            sv.Records.from_arrays(sparse.csr_array(a) if as_sparse else a, y, labels=(-1, 1)),
            sv.losses.Logistic(),
        )
        for a in (rows, other)
    )
    assert here.gram_diagonal() == pytest.approx(np.diag(here.gram()), rel=1e-12)
    assert np.linalg.norm(here.gram_diagonal() - there.gram_diagonal()) <= here.bounds.gram_diagonal()
