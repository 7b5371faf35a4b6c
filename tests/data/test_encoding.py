from __future__ import annotations

import gzip
import pickle
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import sottovoce as sv
from sottovoce.data import csv_files, sources
from sottovoce.data import files as tables
from sottovoce.data.encoding import feature_names
from sottovoce.data.schema import Categorical, Numeric, Target
from tests.strategies import attack

SCHEMA = sv.Schema(
    (
        Numeric("age", 0, 120),
        Numeric("income", -1e6, 1e6),
        Categorical("region", ("north", "south", "NA")),
        Categorical("grade", (1, 2, 3)),
        Categorical("member", (True, False)),
    ),
    Target("outcome", ("no", "yes")),
)
FRAME = pd.DataFrame(
    {
        "age": [30.0, 60.0, np.nan, 500.0, -np.inf],
        "income": [0, 10**6, -(10**6), 10**7, 500_000],
        "region": ["north", None, "elsewhere", "south", "NA"],
        "grade": [1, 2, 3, 4, 1],
        "member": [True, False, True, True, False],
        "outcome": ["no", "yes", "no", "yes", "no"],
        "secret": ["s1", "s2", "s3", "s4", "s5"],
    }
)
UNIT = 1.0 / np.sqrt(6.0)


def encoded(frame: object) -> np.ndarray:
    return sv.BoundedEncoder(SCHEMA).fit_transform(frame)


def test_numbers_scale_categories_indicate_and_the_last_column_is_the_intercept() -> None:
    expected = UNIT * np.array(
        [
            [-0.5, 0.0, 1, 0, 0, 1, 0, 0, 1, 0, 1],
            [0.0, 1.0, 0, 0, 0, 0, 1, 0, 0, 1, 1],
            [0.0, -1.0, 0, 0, 0, 0, 0, 1, 1, 0, 1],
            [1.0, 1.0, 0, 1, 0, 0, 0, 0, 1, 0, 1],
            [-1.0, 0.5, 0, 0, 1, 1, 0, 0, 0, 1, 1],
        ]
    )
    assert np.allclose(encoded(FRAME), expected, rtol=2e-6, atol=0)
    assert encoded(FRAME).dtype == np.float32
    assert sv.BoundedEncoder(SCHEMA).get_feature_names_out().tolist() == [
        *("age", "income", "region=north", "region=south", "region=NA"),
        *("grade=1", "grade=2", "grade=3", "member=True", "member=False", "intercept"),
    ]


def converted(frame, **options):
    # With NumPy before 2.4 pandas warns when it tries whether infinity is a whole number.
    with np.errstate(invalid="ignore"):
        return frame.convert_dtypes(**options)


@pytest.mark.parametrize(
    "convert",
    [
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda frame: converted(frame, dtype_backend="pyarrow"),
        lambda frame: converted(frame),
        lambda frame: frame.astype(object),
        lambda frame: frame.assign(region=frame.region.astype("category")),
        lambda frame: pl.from_pandas(frame).with_columns(pl.col("region").cast(pl.Categorical)),
        lambda frame: frame.set_index(pd.Index([9, 9, 1, 2, 3])),
        lambda frame: frame[frame.columns[::-1]],
        lambda frame: frame.assign(grade=frame.grade.astype(float), member=frame.member.astype(int)),
        lambda frame: frame.assign(grade=frame.grade.astype(str)),
    ],
)
def test_every_kind_of_frame_is_encoded_alike(convert) -> None:  # type: ignore[no-untyped-def]
    assert np.array_equal(encoded(convert(FRAME)), encoded(FRAME))


HOSTILE = st.one_of(
    st.none(),
    st.just(float("nan")),
    st.floats(),
    st.integers(-(10**400), 10**400),
    st.text(max_size=5),
    st.booleans(),
    st.binary(max_size=3),
    st.just([1, 2]),
    st.just({"a": 1}),
    st.complex_numbers(),
    st.just(pd.NaT),
    st.just(pd.Timestamp("2020-01-01")),
    st.sampled_from(["north", 1, True, "1", 1.0, np.float32(2), np.int8(3), "true"]),
)


@attack
@given(st.data())
def test_no_hostile_object_makes_a_row_long_or_not_finite(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 4))
    columns = {
        name: pd.Series(data.draw(st.lists(HOSTILE, min_size=n, max_size=n)), dtype=object)
        for name in SCHEMA.names
    }
    try:
        rows = encoded(pd.DataFrame(columns)).astype(np.float64)
    except sv.errors.DataError:  # objects of one type that cannot fit: refused by the column's name
        return
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 - 2.0**-22


@attack
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=6), st.floats(-1e30, 1e29)
)
def test_no_number_and_no_bounds_make_a_row_long(values: list[float], low: float) -> None:
    schema = sv.Schema((Numeric("x", low, low + max(1e-300, abs(low))), Numeric("z", 0, 5e-323)))
    frame = pd.DataFrame({"x": values, "z": values[::-1]})
    rows = sv.BoundedEncoder(schema).transform(frame).astype(np.float64)
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 - 2.0**-22


def test_records_leave_encoded_rows_alone() -> None:
    rows = encoded(FRAME)
    records = sv.Records.from_arrays(rows, [0, 1, 0, 1, 0], labels=(0, 1), radius=1.0)
    assert np.array_equal(records._rows.block(0).features, rows)


def test_fitting_learns_nothing() -> None:
    here, there = sv.BoundedEncoder(SCHEMA).fit(FRAME), sv.BoundedEncoder(SCHEMA).fit(FRAME.iloc[:1] * 1)
    assert pickle.dumps(here) == pickle.dumps(there) == pickle.dumps(sv.BoundedEncoder(SCHEMA).fit())
    parts = [here.transform(FRAME.iloc[i : i + 1]) for i in range(len(FRAME))]
    assert np.array_equal(np.concatenate(parts), there.transform(FRAME))
    check_is_fitted(sv.BoundedEncoder(SCHEMA))
    assert clone(here).schema == SCHEMA


def test_a_column_in_which_nothing_is_given_has_no_indicator() -> None:
    """pandas 2 hands such a column over without a type."""
    table = pa.table(
        {"age": [1.0], "income": [1], "region": pa.nulls(1), "grade": pa.nulls(1), "member": [True]}
    )
    names, row = feature_names(SCHEMA), sv.BoundedEncoder(SCHEMA).transform(table)[0]
    assert not any(row[names.index(name)] for name in names if name.startswith(("region=", "grade=")))


def test_the_encoder_takes_a_path_and_gives_named_columns(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    encoder = sv.BoundedEncoder(str(tmp_path / "s.toml")).set_output(transform="pandas")
    frame = encoder.fit(FRAME).transform(FRAME)
    assert list(frame.columns) == encoder.get_feature_names_out().tolist()
    with pytest.raises(sv.errors.ParameterError, match="schema"):
        sv.BoundedEncoder(3).fit()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (FRAME.drop(columns=["age", "grade"]), "no column 'age', 'grade'"),
        (FRAME.to_numpy(), "pandas, polars or pyarrow"),
        (pd.concat([FRAME, FRAME], axis=1), "distinct"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_without_quoting_it(frame: object, words: str) -> None:
    with pytest.raises(sv.errors.DataError, match=words) as caught:
        encoded(frame)
    said = "".join(traceback.format_exception(caught.value))
    assert not any(secret in said for secret in ("s1", "2020", "elsewhere"))


UNFIT = {
    "age": (pd.Timestamp("2020-01-01"), "'age' is declared numeric"),
    "region": (7, "'region' is declared with text"),
    "grade": (pd.Timestamp("2020-01-01"), "'grade' is declared with numbers"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_column_of_an_unfit_type_is_missing_in_a_frame_and_refused_in_a_file(
    name: str, tmp_path: Path
) -> None:
    cell, words = UNFIT[name]
    unfit, missing = FRAME.assign(**{name: cell}), FRAME.assign(**{name: None})
    assert np.array_equal(encoded(unfit), encoded(missing))
    pq.write_table(pa.Table.from_pandas(unfit), tmp_path / "unfit.parquet")
    for invalid in ("raise", "zero"):
        with pytest.raises(sv.errors.DataError, match=words) as caught:
            tables.read(tmp_path / "unfit.parquet", SCHEMA, how=sv.ReadOptions(invalid=invalid))
        assert "2020" not in "".join(traceback.format_exception(caught.value))


def written(folder: Path, kind: str) -> Path:
    path = folder / f"data.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pandas(FRAME), path)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
    else:
        FRAME.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_a_file_is_read_as_the_frame_it_holds(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In chunks of a few rows, so that their seams are met."""
    monkeypatch.setattr(sources, "PARQUET_BATCH_ROWS", 2)
    monkeypatch.setattr(csv_files, "CSV_BLOCK_BYTES", 120)
    path = written(tmp_path, kind)
    table = tables.read(path, SCHEMA)
    assert np.array_equal(table.features, encoded(FRAME))
    assert table.target is not None
    assert table.target.tolist() == FRAME.outcome.tolist()
    assert tables.read(path, SCHEMA, target=False).target is None
    assert sources.column_names(path) == tuple(FRAME.columns)
    assert repr(table) == "Table(11 columns, private)"
    with pytest.raises(sv.errors.DataError, match="never copied or pickled"):
        pickle.dumps(table)


def test_fields_of_a_csv_are_read_by_their_declared_type(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(
        'age,income,region,grade,member,outcome\n" 30 ",1e3,"north",1.0,TRUE,yes\nNA,,"a b",,0,no\n'
        "+60.,-5,NA,02,false,yes\n",
        encoding="utf-8-sig",
    )
    rows = tables.read(path, SCHEMA).features / UNIT
    assert np.allclose(rows[:, 0], [-0.5, 0.0, 0.0], atol=1e-5)
    assert np.allclose(rows[:, 1], [1e-3, 0.0, -5e-6], atol=1e-6)
    assert np.round(rows[:, 2:10]).tolist() == [
        [1, 0, 0, 1, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 0, 1],
        [0, 0, 1, 0, 1, 0, 0, 1],
    ]


BROKEN = "age,income,region,grade,member,outcome\n30,5,north,1,true,yes\nSECRET1,5,north,1,true,SECRET2\n"


def test_an_invalid_field_is_refused_by_name_or_blanked_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(BROKEN)
    with pytest.raises(sv.errors.DataError, match="column 'age'") as caught:
        tables.read(path, SCHEMA)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    path.write_text(BROKEN.replace("SECRET1", "30"))
    with pytest.raises(sv.errors.DataError, match="target 'outcome'") as caught:
        tables.read(path, SCHEMA)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    path.write_text(BROKEN)
    table = tables.read(path, SCHEMA, how=sv.ReadOptions(invalid="zero"))
    assert table.target is not None
    assert table.target.tolist() == ["yes", "no"]
    assert np.linalg.norm(table.features[0]) > 0.5
    assert not table.features[1].any()
    lenient = tables.read(path, SCHEMA, target=False, how=sv.ReadOptions(invalid="zero")).features
    assert lenient[1, 0] == 0.0
    assert lenient[1, 2] > 0.0


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"age,income\n1,SECRET,3\n", "no column"),
        ("a.csv", BROKEN.encode() + b"1,2,SECRET\n", "no record"),
        ("a.csv", BROKEN.encode().replace(b"north", b"\xff\xfe").replace(b"SECRET1", b"30"), "UTF-8"),
        ("a.csv", b"", "not a header"),
        ("a.csv", b"1,2,SECRET\n", "not a header"),
        ("a.csv", b"SECRET,,x\n", "not a header"),
        ("a.csv", b"SECRET,SECRET\n", "not a header"),
        ("a.csv", BROKEN.encode().partition(b"\n")[0] + b"\n", "no rows"),
        ("a.parquet", b"SECRET", "Parquet"),
        ("a.csv.gz", b"SECRET", "not a header"),
    ],
)
def test_a_broken_file_is_one_clear_error_that_quotes_nothing(
    name: str, content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(sv.errors.DataError, match=words) as caught:
        tables.read(tmp_path / name, SCHEMA)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


def test_reading_checks_its_arguments(tmp_path: Path) -> None:
    with pytest.raises(sv.errors.DataError, match="no file"):
        tables.read(tmp_path / "none.csv", SCHEMA)
    with pytest.raises(sv.errors.ParameterError, match="invalid"):
        tables.read(tmp_path / "none.csv", SCHEMA, how=sv.ReadOptions(invalid="skip"))
    with pytest.raises(sv.errors.ParameterError, match="target"):
        tables.read(tmp_path / "none.csv", sv.Schema(SCHEMA.columns))


def test_a_regression_target_is_clipped_and_blanked(tmp_path: Path) -> None:
    schema = sv.Schema((Numeric("x", 0, 1),), Target("y", low=1, high=5))
    (tmp_path / "a.csv").write_text("x;y\n0.5;9\n0.5;oops\n1;2\n")
    table = tables.read(tmp_path / "a.csv", schema, how=sv.ReadOptions(invalid="zero", delimiter=";"))
    assert table.target is not None
    assert table.target.tolist() == [5.0, 1.0, 2.0]
    assert not table.features[1].any()
