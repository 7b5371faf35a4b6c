"""Files people have: semicolons and decimal commas, dates in a declared format, other programs' files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import application
from sottovoce.data.csv_files import with_points
from sottovoce.data.dates import spelled_as
from sottovoce.data.encoding import encoded_table
from sottovoce.data.files import read
from sottovoce.data.schema import Categorical, DatePart, Numeric, Schema, Target
from sottovoce.errors import DataError, ParameterError

SCHEMA = Schema((Numeric("x", 0.0, 10.0), Categorical("c", ("a", "b,5"))), Target("y", ("no", "yes")))


def written(folder: Path, *lines: str) -> Path:
    path = folder / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_numbers_with_a_decimal_comma_are_read_and_other_fields_are_left(tmp_path: Path) -> None:
    german = written(tmp_path, "x;c;y", "7,5;a;no", "2;b,5;yes", ",5;a;no", "1e1;a;yes")
    marks = sv.ReadOptions(delimiter=";", decimal=",")
    rows = read(german, SCHEMA, marks).features
    plain = pd.DataFrame({"x": [7.5, 2.0, 0.5, 10.0], "c": ["a", "b,5", "a", "a"]})
    np.testing.assert_array_equal(rows, encoded_table(SCHEMA, plain))
    with pytest.raises(DataError):  # a point may mark thousands
        read(written(tmp_path, "x;c;y", "1.500;a;no"), SCHEMA, marks)


def test_fields_are_mapped_one_by_one() -> None:
    fields = [b"1,5", b" -,5 ", b"1,5e3", b"1,5,2", b"1.5", b"a,5", b"", None, b"\xff,1", b"1,", b","]
    expected = [b"1.5", b" -.5 ", b"1.5e3", b"1,5,2", b"1.5.", b"a,5", b"", None, b"\xff,1", b"1.", b","]
    column = pa.chunked_array([pa.array(fields, pa.binary())])
    assert with_points(column).to_pylist() == expected


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_delimiter_is_named_by_the_header_and_never_guessed(tmp_path: Path, mark: str) -> None:
    path = written(tmp_path, mark.join("xcy"), "1,a,no", "2,b,yes")
    with pytest.raises(DataError) as refusal:
        read(path, SCHEMA)
    assert repr(mark) in str(refusal.value)
    assert "no" not in str(refusal.value).split()
    plain = written(tmp_path, "x,c,y", "1;2;3,a,no")  # records do not matter
    with pytest.raises(DataError) as other:
        read(plain, SCHEMA)
    assert "--delimiter" not in str(other.value)


def test_marks_must_be_marks(tmp_path: Path) -> None:
    path = written(tmp_path, "x,c,y", "1,a,no")
    for marks in ({"decimal": ","}, {"decimal": "x"}, {"decimal": ""}):
        with pytest.raises(ParameterError):
            read(path, SCHEMA, sv.ReadOptions(**marks))
    with pytest.raises(ParameterError):
        read(
            pd.DataFrame({"x": [1], "c": ["a"], "y": ["no"]}),
            SCHEMA,
            how=sv.ReadOptions(delimiter=";", decimal=","),
        )


@pytest.mark.parametrize("ending", ["dta", "sav", "zsav", "sas7bdat", "xpt", "rds", "RData", "xlsx"])
def test_files_of_other_programs_are_refused_with_the_way_out(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(ParameterError) as refusal:
        read(path, SCHEMA)
    assert path.name in str(refusal.value)


@pytest.mark.parametrize(
    "content", [b"\x00\x01PK\x03\n1,2\n", b"a\x00,b\n1,2\n", b"\x7fELF,b\n", b"\x1b[31m,b\n"]
)
def test_binary_files_have_no_schema(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    found = CliRunner().invoke(application(), ["schema", str(path), "-o", str(tmp_path / "s.toml")])
    assert found.exit_code != 0
    assert not (tmp_path / "s.toml").exists()


def test_dates_are_read_by_their_declared_format(tmp_path: Path) -> None:
    column = DatePart("d", "month", format="%d.%m.%Y")
    schema = Schema((column, Numeric("x", 0, 1)))
    cells = ["24.12.2020", "1.2.1999", "2020-12-24", "31.2.2020", "12.24.2020", "", "24.12.20"]
    rows = encoded_table(schema, pd.DataFrame({"d": cells, "x": 0.5}))[:, :12]
    months = [int(np.argmax(row)) + 1 if row.any() else None for row in rows]
    assert months == [12, 2, None, None, None, None, None]
    typed = pd.DataFrame({"d": pd.to_datetime(["2020-12-24"]), "x": 0.5})
    assert int(np.argmax(encoded_table(schema, typed)[0, :12])) == 11
    assert Schema.from_dict(schema.to_dict()) == schema
    aimed = Schema(schema.columns, Target("y", ("no", "yes")))
    good = written(tmp_path, "d,x,y", "24.12.2020,0.5,no")
    read(good, aimed)
    with pytest.raises(DataError):
        read(written(tmp_path, "d,x,y", "2020-12-24,0.5,no"), aimed)


@pytest.mark.parametrize("form", ["%d.%m", "%d.%m.%y", "%b %d %Y", "%Y%Y%m%d", "", "%", 3])
def test_other_formats_are_refused(form: object) -> None:
    with pytest.raises(ParameterError):
        DatePart("d", "month", format=form)  # type: ignore[arg-type]
    assert spelled_as("(%Y)+%m*%d").fullmatch("(2020)+12*24")


def test_a_fit_reads_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 400).round(2)
    lines = [f"{str(v).replace('.', ',')};a;{'yes' if v > 5 else 'no'}" for v in x]
    path = written(tmp_path, "x;c;y", *lines)
    options = {"epsilon": 2.0, "delta": 1e-5, "simulate": 0}
    german = sv.fit(path, SCHEMA, reading=sv.ReadOptions(delimiter=";", decimal=","), **options)  # type: ignore[arg-type]
    frame = pd.DataFrame({"x": x, "c": "a", "y": np.where(x > 5, "yes", "no")})
    np.testing.assert_array_equal(german.weights, sv.fit(frame, SCHEMA, **options).weights)  # type: ignore[arg-type]
