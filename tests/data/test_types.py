"""A column is read in whatever type it comes, cell by cell, or its type is refused: never lost in silence."""

from __future__ import annotations

import datetime as dt
import os
import time
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.data import cells
from sottovoce.data.cell import Codebook, codebook
from sottovoce.data.dates import DatePart, moments
from sottovoce.data.persons import read_keys
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import DataError
from tests.attacks.doors.probes import rows_of
from tests.attacks.doors.product.stores import ARROW, PER_HOUR, LateDate

AIM = Target("y", ("no", "yes"))
YS = ["no", "yes", "no", "yes"]


def table(column: Any, **more: Any) -> pa.Table:
    return pa.table({"x": column, "y": YS[: len(column)], **more})


def read(held: Any, *columns: Any, **how: Any) -> dict[str, np.ndarray]:
    return rows_of(sv.Records.from_table(held, Schema(columns, AIM), **how))


KINDS = [Numeric("x", 0, 10), Categorical("x", ("3", "b")), DatePart("x", "month")]


@pytest.mark.parametrize("column", KINDS, ids=lambda column: type(column).__name__)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_that_is_not_utf8_is_one_cell_without_value(column: Any, kind: Any) -> None:
    plain = [b"3", b"2024-05-01", b"b"]
    held = pa.array([*plain, b"\xff\xfe"], pa.binary() if kind == pa.string() else pa.large_binary()).view(
        kind
    )
    found = read(table(held), column, invalid="zero")["features"]
    assert np.array_equal(found[:3], read(table(held.slice(0, 3)), column, invalid="zero")["features"])
    assert not found[3, :-1].any()
    with pytest.raises(DataError) as refusal:
        read(table(held), column)
    assert refusal.value.__context__ is None


TEMPORAL = [store for store in ARROW if "moment" in store.plain and b"" not in store.hostile.values()]


@pytest.mark.parametrize("store", TEMPORAL, ids=lambda store: store.name)
def test_a_date_beyond_the_calendar_is_one_cell_without_value(store: Any) -> None:
    plain = [store.plain["moment"](k) for k in (0, 5000, 90_000)]
    beyond = {"infinity", "minus infinity", "year 10000", "1 BC", "year 20000"} & store.hostile.keys()
    for name in sorted(beyond):
        if store.name == "timestamp[ns]":
            continue
        held = table(store.make([*plain, store.hostile[name]]))
        found = read(held, DatePart("x", "month"), invalid="zero")["features"]
        alone = table(store.make(plain))
        assert np.array_equal(found[:3], read(alone, DatePart("x", "month"))["features"])
        assert not found[3, :-1].any()
        with pytest.raises(DataError, match="no date"):
            read(held, DatePart("x", "month"))


MOMENT = dt.datetime(2024, 2, 29, 17, 30)
SAME: dict[str, Any] = {
    "text": np.array(["2024-02-29 17:30"], dtype=object),
    "datetime": np.array([MOMENT], dtype=object),
    "Timestamp": np.array([pd.Timestamp(MOMENT), None], dtype=object)[:1],
    "datetime64 among objects": np.array([np.datetime64(MOMENT), None], dtype=object)[:1],
    "datetime64": np.array([np.datetime64(MOMENT, "s")]),
    **{f"Arrow {unit}": pa.array([MOMENT], pa.timestamp(unit)) for unit in PER_HOUR},
}


@pytest.mark.parametrize("name", SAME)
def test_a_moment_is_the_same_typed_in_text_and_among_objects(name: str) -> None:
    assert moments(SAME[name]).tolist() == [dt.datetime(2024, 2, 29, 17)]


def test_one_text_among_datetime64_leaves_the_months_of_the_others() -> None:
    days = [np.datetime64(f"2024-0{month}-11", "s") for month in range(1, 5)]
    plain = read(pd.DataFrame({"x": days, "y": YS}), DatePart("x", "month"), invalid="zero")["features"]
    mixed = read(pd.DataFrame({"x": [*days[:3], "x"], "y": YS}), DatePart("x", "month"), invalid="zero")
    assert plain[:, :-1].any(axis=1).all()
    assert np.array_equal(mixed["features"][:3], plain[:3])


def test_the_years_one_to_9999_are_read_whatever_unit_they_come_in() -> None:
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us"):
        ends = np.array(["0001-01-08", "9999-12-20", "NaT"], dtype=f"M8[{unit}]")
        if unit == "Y":
            ends[1] = np.datetime64("9999")
        assert np.isnat(moments(ends)).tolist() == [False, False, True]
        huge = np.array([2**62, -(2**62)], dtype=np.int64).view(f"M8[{unit}]")
        assert np.isnat(moments(huge)).all()
    assert not np.isnat(moments(np.array([2**62, -(2**62)], dtype=np.int64).view("M8[ns]"))).any()


def test_no_code_of_a_datetimes_subclass_runs() -> None:
    held = np.empty(2, dtype=object)
    held[:] = [LateDate(2024, 2, 29), pd.NaT]
    assert moments(held)[0] == np.datetime64("2024-02-29T00", "h")
    assert np.isnat(moments(held)[1])


def numeric(cells: list[str]) -> Any:
    return pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "numeric", "PostgreSQL"), pa.array(cells))


def test_postgresql_numeric_is_read_by_its_digits() -> None:
    found = read(table(numeric(["1.5", "9", "NaN", "3"])), Numeric("x", 0, 10), invalid="zero")["features"]
    text = read(table(pa.array(["1.5", "9", "NaN", "3"])), Numeric("x", 0, 10), invalid="zero")["features"]
    assert np.array_equal(found, text)
    assert found[:, 0].any()


UNFIT: dict[str, tuple[Any, Any]] = {
    "dates for numbers": (pa.array([dt.date(2024, 1, 1)] * 2), Numeric("x", 0, 10)),
    "lists for numbers": (pa.array([[1], [2]]), Numeric("x", 0, 10)),
    "numbers for words": (pa.array([1, 2]), Categorical("x", ("a", "b"))),
    "numbers for dates": (pa.array([1, 2]), DatePart("x", "month")),
    "a zone": (pa.array([MOMENT] * 2, pa.timestamp("us", "UTC")), DatePart("x", "month")),
    "bytes of an identifier": (pa.array([b"1234"] * 2, pa.binary(4)), Numeric("x", 0, 10)),
}


@pytest.mark.parametrize("invalid", ["raise", "zero"])
@pytest.mark.parametrize("name", UNFIT)
@pytest.mark.parametrize("kernels", ["reference", "compiled"])
def test_an_unfit_type_is_refused_by_both_rules(
    name: str, invalid: str, kernels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, column = UNFIT[name]
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    with pytest.raises(DataError, match="'x'"):
        read(table(held), column, invalid=invalid)
    pq.write_table(table(held), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="'x'"):
        sv.Records.from_parquet(tmp_path / "t.parquet", Schema((column,), AIM), invalid=invalid)


@pytest.mark.parametrize("special", [{"person": "k"}, {"weight": "k", "weight_cap": 1.0}])
def test_an_unfit_type_of_keys_or_weights_is_refused_by_both_rules(special: Any, tmp_path: Path) -> None:
    schema = Schema((Numeric("x", 0, 10),), AIM, **special)
    held = table(pa.array([1, 2]), k=pa.array([dt.date(2024, 1, 1)] * 2))
    pq.write_table(held, tmp_path / "t.parquet")
    for door in (
        lambda: sv.Records.from_table(held, schema, invalid="zero"),
        lambda: sv.Records.from_parquet(tmp_path / "t.parquet", schema, invalid="zero"),
    ):
        with pytest.raises(DataError, match="'k'"):
            door()


def test_pandas_takes_types_from_cells_so_none_is_refused_under_zero() -> None:
    held = pd.DataFrame({"x": [pd.Timestamp(MOMENT), None], "y": YS[:2]})
    assert not read(held, Numeric("x", 0, 10), invalid="zero")["features"][:, 0].any()


KEYS: dict[str, Any] = {
    "fixed_size_binary": pa.array([b"ab", b"cd", b"ab"], pa.binary(2)),
    "decimals": pa.array([Decimal("1.50"), Decimal("2.00"), Decimal("1.5")]),
    "Decimal": [Decimal("1.50"), Decimal(2), Decimal("1.5")],
    "UUID": [uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=1)],
    "Arrow's UUID": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=k).bytes for k in (1, 2, 1)], pa.binary(16))
    ),
    "fractional floats": np.array([1.5, 2.5, 1.5]),
    "fractions in text": ["1.50", "2", "1.5"],
    "categories of pandas": pd.Series(["b", "a", "b"]).astype("category"),
    "places": cells.Coded(np.array(["a", "b"], dtype=object), np.array([0, 1, 0])),
    "a tuple": ("a", "b", "a"),
    "bytes": pa.array([b"\xff\x01", b"\xff\x02", b"\xff\x01"], pa.binary()),
}


@pytest.mark.parametrize("name", KEYS)
def test_persons_are_told_apart_by_keys_of_any_type(name: str) -> None:
    first, second, third = read_keys(KEYS[name], 3)
    assert first == third != second
    assert None not in (first, second)


def test_a_key_with_a_fraction_is_the_same_in_every_type() -> None:
    columns = [[1.5], ["1.50"], [Decimal("1.5")], np.array([1.5]), pa.array([Decimal("1.50")])]
    assert {read_keys(column, 1)[0] for column in columns} == {"1.5"}
    assert read_keys([True, np.True_, None, dt.date(2024, 1, 1)], 4) == [None] * 4
    assert read_keys(np.array(["2024-01-01"], dtype="M8[ns]"), 1) == [None]


@pytest.mark.parametrize("kind", ["i1", "u8", "i8", "f4", "f8", "g", "c16", "?"])
def test_keys_in_an_array_are_those_of_its_cells(kind: str) -> None:
    cells = np.array([0, 7, 100, 2**53 + 1 if kind in ("u8", "i8") else 3], dtype=kind)
    keys = read_keys(cells, 4)
    assert keys == read_keys(list(cells), 4)
    assert read_keys(keys, 4) is keys


def test_marks_that_combine_in_one_key_do_not_hold_up_the_others() -> None:
    """Sorted one past the other, these would take eight seconds, and a megabyte of them four minutes."""
    hostile = "e" + "\u0301\u0316" * 50_000
    begun = time.process_time()
    assert read_keys(["\u00e9", "e\u0301", hostile, hostile + " "], 4) == ["\u00e9"] * 2 + [hostile] * 2
    assert time.process_time() - begun < 2.0


def test_keys_that_are_not_utf8_leave_the_other_persons(tmp_path: Path) -> None:
    keys = pa.array([b"a", b"b", b"a", b"\xff"], pa.binary()).view(pa.string())
    held = table(pa.array([1.0, 2.0, 3.0, 4.0]), k=keys)
    pq.write_table(held, tmp_path / "t.parquet")
    schema = Schema((Numeric("x", 0, 10),), AIM, person="k")
    for records in (
        sv.Records.from_table(held, schema, invalid="zero", persons=9),
        sv.Records.from_parquet(tmp_path / "t.parquet", schema, invalid="zero", persons=9),
    ):
        weights = rows_of(records)["weights"]
        assert weights[1] == 1.0
        assert weights[0] == weights[2] < 0.5


def test_files_of_a_folder_may_differ_in_type(tmp_path: Path) -> None:
    schema = Schema((Numeric("x", 0, 10),), AIM)
    columns = [pa.array([1, 2], pa.int32()), pa.array(["3", "?"]), pa.array([Decimal("4.5"), None])]
    for number, column in enumerate(columns):
        pq.write_table(table(column), tmp_path / f"{number}.parquet")
    found = rows_of(sv.Records.from_parquet(tmp_path, schema, invalid="zero"))["features"]
    same = pd.DataFrame({"x": np.array([1, 2, 3, None, 4.5, None], dtype=object), "y": YS[:2] * 3})
    assert np.array_equal(found, read(same, Numeric("x", 0, 10))["features"])


def test_a_file_rewritten_in_place_with_its_old_time_is_noticed(tmp_path: Path) -> None:
    path, schema = tmp_path / "t.parquet", Schema((Numeric("x", 0, 10),), AIM)
    pq.write_table(table(pa.array([1.0, 2.0, 3.0, 4.0])), path)
    records = sv.Records.from_parquet(path, schema, memory=0)
    before, other = path.stat(), path.read_bytes()
    pq.write_table(table(pa.array([1.0, 2.0, 4.0, 3.0])), path)
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_ino == before.st_ino
    assert path.read_bytes() != other
    with pytest.raises(DataError, match="changed"):
        rows_of(records)


def test_two_columns_of_one_name_in_a_parquet_file_are_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays(
        [pa.array([1, 2]), pa.array([3, 4]), pa.array(YS[:2])], names=["x", "x", "y"]
    )
    pq.write_table(twice, tmp_path / "t.parquet")
    schema = Schema((Numeric("x", 0, 10),), AIM)
    for door in (sv.Records.from_table, sv.Records.from_parquet):
        with pytest.raises(DataError, match="one name"):
            door(tmp_path / "t.parquet", schema)


def test_a_codebook_looks_at_each_label_a_few_times_and_is_made_once() -> None:
    class Counted(str):
        __slots__ = ()
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    labels = tuple(Counted(f"label {k}") for k in range(3000))
    book = Codebook(labels)
    assert Counted.compared < 20 * len(labels)
    assert book.code("label 2999") == 2999
    assert codebook(("a", "b")) is codebook(("a", "b"))
