"""A person's row counts the same wherever it stands and however many rows others have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.arrays import row_dots
from sottovoce.data import dask_partitions
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.kernels import block_sums, products, softmax
from sottovoce.kernels.sums import LinearSums
from sottovoce.losses import PseudoHuber
from sottovoce.queries.residuals import edges
from sottovoce.trusted import compiling, requests

DIM = 54
LAW = PseudoHuber().law


def records_of(row: np.ndarray, rows: int, layout: Any = np.array, *, persons: int | None = 200) -> Any:
    """So many equal rows, each of a person."""
    groups = None if persons is None else np.arange(rows)
    X, y = layout(np.tile(row, (rows, 1))), np.zeros(rows)
    return sv.Records.from_arrays(X, y, target=(-1.0, 1.0), groups=groups, persons=persons)


def straddling() -> tuple[np.ndarray, np.ndarray]:
    """A row and weights whose product lies on either side of 1 by where BLAS finds the row."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        row = rng.normal(size=DIM)
        row = (row / (2.0 * np.linalg.norm(row))).astype(np.float32)
        w = rng.normal(size=DIM)
        w /= float(row.astype(np.float64) @ w)
        twice = np.column_stack([w, w])
        seen = [products.WideView(np.tile(row, (n, 1))).times(twice)[:, 0] for n in range(1, 10)]
        if min(map(min, seen)) < 1.0 <= max(map(max, seen)):
            return row, w
    pytest.skip("this BLAS rounds a row alike wherever it stands")


def moved(row: np.ndarray, w: np.ndarray, here: int, there: int) -> float:
    """How far counts of residuals move between so many rows, in units of what is charged."""
    sums = [LinearSums(records_of(row, rows)) for rows in (here, there)]
    limits = edges(sv.Risk(records_of(row, here), PseudoHuber()).problem)
    asked = requests.ResidualShares(LAW, w, limits)
    charged = sums[0].sensitivity(asked, Relation.ZERO_OUT)
    return float(np.linalg.norm(sums[0].answer(asked) - sums[1].answer(asked))) / charged


def test_a_person_with_a_row_moves_nobody_else_into_another_band(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    row, w = straddling()
    assert max(moved(row, w, rows, rows - 1) for rows in range(20, 29)) <= 1.0 + 1e-12


def test_a_person_with_a_row_does_not_decide_how_all_rows_are_multiplied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SOTTOVOCE_KERNELS", raising=False)
    monkeypatch.setattr(compiling, "WORTH_COMPILING", 24 * DIM)
    row, w = straddling()
    assert moved(row, w, 24, 23) <= 1.0 + 1e-12
    for threshold in (200 * DIM, 200 * DIM + 1):
        monkeypatch.setattr(compiling, "WORTH_COMPILING", threshold)
        rows = [records_of(row, count)._rows for count in (23, 24, 200)]
        assert len({products.view_for(held) for held in rows}) == 1
        assert len({type(block_sums.block_kernel(held, LAW)) for held in rows}) == 1


def test_numpy_sums_each_product_of_persons_rows_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine's BLAS does: some round a row by where it stands, and some do not."""
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(40, DIM)) / DIM, rng.normal(size=DIM)
    held = sv.Records.from_arrays(X, np.zeros(40), target=(-1.0, 1.0), groups=np.arange(40), persons=40)._rows
    for block in held.read():
        found = products.view_for(held)(block.features).times(w)
        np.testing.assert_array_equal(found, row_dots(block.features.astype(np.float64), w))


@pytest.mark.parametrize("path", ["reference", "compiled"])
@pytest.mark.parametrize("layout", [np.array, sparse.csr_array, None], ids=["dense", "sparse", "compact"])
def test_the_product_of_a_persons_row_is_its_own(path: str, layout: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SOTTOVOCE_KERNELS", path)
    rng = np.random.default_rng(1)
    dim = 20
    row, weights = rng.normal(size=dim) / 9.0, rng.normal(size=(dim + (layout is None), 3))
    seen, alone = set(), set()
    for rows in range(1, 40):
        if layout is None:
            schema = Schema(
                tuple(Numeric(f"x{j}", -1, 1) for j in range(dim)), Target("y", low=-1, high=1), person="p"
            )
            table = {f"x{j}": np.full(rows, entry) for j, entry in enumerate(row)}
            table |= {"y": np.zeros(rows), "p": np.arange(rows)}
            pandas = pytest.importorskip("pandas")
            held = sv.Records.from_table(pandas.DataFrame(table), schema, persons=40)._rows
        else:
            held = records_of(row.astype(np.float32), rows, layout)._rows
        view = products.view_for(held)
        for block in held.read():
            seen |= set(map(tuple, view(block.features).times(weights).tolist()))
            alone |= set(view(block.features).times(weights[:, 0]).tolist())
    assert len(seen) == len(alone) == 1


def test_a_batch_of_persons_and_a_part_held_elsewhere_keep_the_public_number() -> None:
    row = np.full(4, 0.25, dtype=np.float32)
    people = records_of(row, 12)
    assert people._rows.entries == 200 * 4
    assert people.subset(np.arange(5))._rows.entries == 200 * 4
    assert people.subset(np.arange(0))._rows.entries == 200 * 4
    plain = records_of(row, 12, persons=None)
    assert plain._rows.entries == 12 * 4
    assert products.view_for(plain._rows) is not products.view_for(people._rows)
    known = dask_partitions.fingerprint(plain._rows)
    part = dask_partitions.Part(plain._rows, known)
    for weights in (None, np.ones(12)):
        held = dask_partitions._counting(part, known, weights, 7)
        assert held.entries == 7 * 4
        assert products.view_for(held) is products.RowwiseView


@pytest.mark.parametrize("dim", [1, 3, 54, 8_193, 9_000])
def test_the_product_of_a_row_is_that_of_the_row_alone(dim: int) -> None:
    """Beyond 8,192 entries NumPy's `einsum` splits a row by where it stands."""
    rng = np.random.default_rng(2)
    rows, w = rng.normal(size=(40, dim)), rng.normal(size=dim)
    for with_each in (w, rows):
        together = row_dots(rows, with_each)
        for i, row in enumerate(rows):
            alone = row_dots(row[None].copy(), with_each if with_each is w else row[None].copy())
            assert alone[0] == together[i]
    assert np.allclose(row_dots(rows, w), rows @ w, rtol=1e-12, atol=1e-9)


def test_what_a_softmax_says_of_a_persons_row_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    rng = np.random.default_rng(3)
    row, weights = rng.normal(size=DIM) / 9.0, 3.0 * rng.normal(size=(7, DIM))
    seen = set()
    for rows in range(1, 40):
        held = records_of(row.astype(np.float32), rows)._rows
        for block in held.read():
            seen |= set(map(tuple, softmax.residuals(held, block, weights, 2.0).T.tolist()))
    assert len(seen) == 1
