"""One rule for each cell: bulk readers equal it, and no cell changes how another is read."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data import cells
from sottovoce.data.cell import Codebook, number, value
from sottovoce.data.schema import Categorical, Numeric
from tests.strategies import attack


class Loud(float):
    """A number whose own methods all fail, and quote it."""

    def __float__(self) -> float:
        raise RuntimeError("SECRET")

    __eq__ = __hash__ = __repr__ = __int__ = __index__ = __str__ = __float__  # type: ignore[assignment]


class Masquerade:
    """Claims to be a number when asked."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("SECRET")

    def __float__(self) -> float:
        return 1.0


class Shout(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("SECRET")

    def __hash__(self) -> int:
        raise RuntimeError("SECRET")


THREES = (3, 3.0, "3", " 3.0 ", b"3", Decimal("3.00"), Fraction(3), np.int8(3), np.uint64(3), np.float16(3))
MORE_THREES = (
    np.float32(3),
    np.longdouble(3),
    np.str_("3e0"),
    np.bytes_(b"3"),
    3 + 0j,
    np.complex64(3),
    Loud(3),
)
ONES = (True, 1, np.True_, "true", "TRUE", " True ", b"true", "1", 1.0, np.bool_(True))
NOTHING: tuple[Any, ...] = (
    *(None, math.nan, np.nan, pd.NA, pd.NaT, "nan", "", "3_0", "٣", "0x3", b"\xff3", 3j, Decimal("sNaN")),
    *(Masquerade(), object(), [3], (3,), {3}, {"a": 3}, np.array(3), np.ma.masked, range(3)),
    *(
        datetime.date(2020, 1, 1),
        pd.Timestamp(3),
        np.datetime64(3, "s"),
        np.timedelta64(3, "s"),
        pd.Timedelta(3),
    ),
)
HUGE = (10**400, Decimal("1E+400"), "1e400", math.inf, Fraction(10) ** 400, "inf", np.longdouble("1e4000"))


def test_one_number_is_one_value_however_it_is_written() -> None:
    assert {number(cell) for cell in (*THREES, *MORE_THREES)} == {3.0}
    assert {number(cell) for cell in ONES} == {1.0}
    assert {number(cell) for cell in HUGE} == {math.inf}
    assert {number(cell) for cell in (-(10**400), Decimal("-1E+400"), "-1e400")} == {-math.inf}
    assert all(math.isnan(number(cell)) for cell in NOTHING)
    assert number(2**53 + 1) == number(float(2**53 + 1)) == number(str(2**53 + 1)) == 2.0**53
    digits = "0.1000000000000000055511151231257827021181583404541015626"
    assert number(Decimal(digits)) == number(digits) == number(Fraction(digits)) == 0.1


@pytest.mark.parametrize(
    "labels", [(1, 2, 3), (1.0, 2.0, 3.0), ("1", "2", "3"), ("1.0", "02", "3e0"), (True, 2.0, 3)]
)
def test_a_label_is_found_however_it_is_written(labels: tuple[Any, ...]) -> None:
    book = Codebook(labels)
    assert {book.code(cell) for cell in (*THREES, *MORE_THREES)} == {2}
    assert {book.code(cell) for cell in ONES} == {0}
    assert {book.code(cell) for cell in (*NOTHING, *HUGE, 4, "north")} == {-1}


def test_text_is_matched_to_the_letter_and_ambiguous_numbers_match_nothing() -> None:
    book = Codebook(("1.1", "1.10", "north", "nan"))
    cells_read = (
        "1.1",
        "1.10",
        "1.100",
        1.1,
        "north",
        "North",
        "north ",
        Shout("north"),
        b"north",
        "nan",
        math.nan,
    )
    assert [book.code(cell) for cell in cells_read] == [0, 1, -1, -1, 2, -1, -1, 2, 2, 3, -1]
    assert value("1.10") == value(1.1) == 1.1
    assert value("north") == "north"
    assert value(None) is None


def same(found: Any, wanted: Any) -> bool:
    return np.array_equal(
        np.asarray(found), np.asarray(wanted), equal_nan=np.asarray(wanted).dtype.kind == "f"
    )


def require_rule(column: Any, held: list[Any]) -> None:
    assert same(cells.numbers(column), [number(cell) for cell in held])
    for labels in ((0, 1, 3), ("0", "1", "a"), (True, False), ("true", "1.10", "1.1"), ("a", "b")):
        assert same(cells.codes(column, labels), [Codebook(labels).code(cell) for cell in held])


FLOATS = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0, 3.0, 1.1]))
WHOLE = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.integers(2**53 - 3, 2**53 + 3))
TEXTS = st.one_of(
    st.text(max_size=6),
    st.floats().map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.sampled_from(
        ["true", " False", "1.10", "a", "nan(1)", "NAN", "+1.", "1e", "inf", "\x1c1", "1\x00", "NA", "1_0"]
    ),
)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**9), max_value=10**9)
TYPED = {
    pa.float64(): FLOATS,
    pa.float32(): st.floats(width=32),
    pa.int64(): WHOLE,
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.bool_(): st.booleans(),
    pa.string(): TEXTS,
    pa.large_binary(): st.one_of(
        st.binary(max_size=5), TEXTS.map(lambda text: text.encode("utf-8", "ignore"))
    ),
    pa.decimal128(38, 12): DECIMALS,
    pa.decimal256(70, 30): st.decimals(-(10**7), 10**7, places=30),
    pa.decimal128(38, 30): st.decimals(-(10**7), 10**7, places=30),
    pa.date32(): st.dates(),
}


@attack
@given(st.data(), st.sampled_from(list(TYPED)))
def test_a_typed_column_is_read_as_its_cells_one_by_one(data: st.DataObject, kind: Any) -> None:
    held = data.draw(st.lists(st.one_of(st.none(), TYPED[kind]), min_size=1, max_size=8))
    column = pa.array(held, kind)
    require_rule(column, held)
    require_rule(pa.chunked_array([column.slice(0, 1), column.slice(1)]), held)
    require_rule(column.dictionary_encode(), held)
    require_rule(cells.one_by_one(held), held)
    require_rule(cells.Coded(cells.one_by_one(held[::-1]), np.arange(len(held))[::-1]), held)


@attack
@given(
    st.lists(WHOLE, min_size=1, max_size=5),
    st.lists(st.floats(width=32), min_size=1, max_size=5),
    st.lists(TEXTS, min_size=1),
)
def test_an_array_of_numpy_is_read_as_its_entries_one_by_one(
    whole: list[int], floats: list[float], texts: list[str]
) -> None:
    for column in (
        *(np.array(whole), np.array(floats), np.array(floats, dtype=np.float32), np.array(texts)),
        *(np.array(floats, dtype=np.longdouble), np.array(floats) + 0j, np.array(whole) > 0),
        *(np.array(texts, dtype=object), np.array(texts, dtype=np.dtypes.StringDType())),
        np.array([text.encode("utf-8", "ignore") for text in texts]),
    ):
        require_rule(column, list(column))


SCHEMA = sv.Schema(
    (
        Numeric("number", 0, 10),
        Categorical("whole", (0, 1, 3)),
        Categorical("truth", (True, False)),
        Categorical("text", ("0", "1", "3", "a")),
        Categorical("word", ("a", "b")),
    )
)
BASES: dict[str, list[Any]] = {
    "decimal": [Decimal("1.1"), Decimal("3"), Decimal("0.3"), Decimal("7")],
    "integer": [0, 1, 3, 7],
    "float": [0.1, 1.0, 3.0, 7.5],
    "bool": [True, False, True, True],
    "numpy bool": [np.True_, np.False_, np.True_, np.True_],
    "numeral": ["0", "1", "3", "0.1"],
    "text": ["a", "b", "a", "c"],
    "missing": [None, None, None, None],
}
HOSTILE = (
    *NOTHING,
    *HUGE,
    3.5,
    0.5,
    "unknown",
    "X",
    Decimal("1E+100"),
    Decimal(1) / Decimal(3),
    10**20,
    -1,
    Loud(2),
)


def is_harmless(cell: Any) -> bool:
    """Whether polars and Arrow can be shown it: of other objects they crash the whole process."""
    signalling = type(cell) is Decimal and cell.is_snan()
    return type(cell) not in (Loud, Masquerade) and not signalling


def encodings(column: list[Any], make: Any) -> dict[str, Any]:
    """Encoded rows by declared column; nothing where the frame cannot hold the column, or drops its cells."""
    try:
        table = make(dict.fromkeys(SCHEMA.names, column))
    except Exception:
        return {}
    kept = table["number"].to_pylist() if isinstance(table, pa.Table) else list(table["number"])
    if sum(value(a) != value(b) for a, b in zip(kept, column, strict=True)) > 1:
        return {}
    return {
        declared.name: sv.BoundedEncoder(sv.Schema((declared,))).transform(table)
        for declared in SCHEMA.columns
    }


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas object": lambda columns: pd.DataFrame(
        {name: pd.Series(held, dtype=object) for name, held in columns.items()}
    ),
    "pandas category": lambda columns: pd.DataFrame(
        {name: pd.Series(held, dtype=object).astype("category") for name, held in columns.items()}
    ),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "polars object": lambda columns: pl.DataFrame(
        {name: pl.Series(held, dtype=pl.Object) for name, held in columns.items()}
    ),
    "arrow": pa.table,
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("base", BASES)
def test_replacing_one_cell_changes_the_encoding_of_no_other_row(base: str, kind: str) -> None:
    held = BASES[base] * 3
    whole = encodings(held, FRAMES[kind])
    others = np.arange(len(held)) != 5
    compared = 0
    for hostile in HOSTILE if kind.startswith("pandas") else filter(is_harmless, HOSTILE):
        replaced = held.copy()
        replaced[5] = hostile
        for name, rows in encodings(replaced, FRAMES[kind]).items():
            if name in whole:
                assert np.array_equal(rows[others], whole[name][others]), (name, hostile)
                compared += 1
    assert compared >= 4


def test_a_chunk_that_pandas_retypes_for_one_field_is_encoded_alike() -> None:
    """`read_csv` leaves numbers in one chunk and text in the next where one field is no number."""
    whole = [place % 4 for place in range(4_000)]
    clean = pd.DataFrame({"number": whole})
    mixed = pd.DataFrame({"number": pd.Series([*whole[:2000], *map(str, whole[2000:])], dtype=object)})
    mixed.loc[3000, "number"] = "X"
    gaps = clean.astype(float)
    gaps.loc[3000, "number"] = np.nan
    text = mixed.astype(str)
    for declared in (
        Numeric("number", 0, 3),
        Categorical("number", ("0", "1", "2")),
        Categorical("number", (0, 1, 3)),
        Categorical("number", (True, False)),
    ):
        encoder = sv.BoundedEncoder(sv.Schema((declared,)))
        for other in (mixed, gaps, text, pl.from_pandas(text), pa.Table.from_pandas(text)):
            differ = (encoder.transform(clean) != encoder.transform(other)).any(axis=1)
            assert set(np.flatnonzero(differ)) <= {3000}


def test_a_datetime_before_numpy_booleans_does_not_end_the_process() -> None:
    """PyArrow 26 ends with a segmentation fault when it is asked to type these two objects together."""
    frame = pd.DataFrame({"number": [np.datetime64("2024-02-29"), np.bool_(True)]}, dtype=object)
    rows = sv.BoundedEncoder(sv.Schema((Numeric("number", -1, 1),))).transform(frame)
    assert rows[0, 0] == 0.0
    assert rows[1, 0] == rows[1, 1] > 0.0


def test_whole_numbers_close_together_are_matched_as_any_others():
    """By a table instead of a search: values nearby, past the ends, infinite and missing match nothing."""
    labels = [0, 7, -3, 40, 12]
    near = [np.nextafter(label, way) for label in labels for way in (-np.inf, np.inf)]
    odd = [np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, -5e-324, -0.0, 0.5, -4, 41, 2.0**53]
    values = np.array([*labels, *near, *odd, *range(-10, 50)])
    expected = [labels.index(value) if value in labels else -1 for value in values.tolist()]
    assert cells.codes(values, labels).tolist() == expected
    assert cells.codes(values, [*labels, 1e6]).tolist() == expected
