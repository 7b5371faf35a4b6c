"""Files as people have them: no header, one column, tabs, stray bytes. Errors keep no word of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.data import files, sources
from sottovoce.data.compact import Compact
from sottovoce.data.headers import looks_like_value
from sottovoce.data.parquet import ParquetSource
from sottovoce.data.schema import Categorical, Numeric, Target
from sottovoce.files import read_json

ONE = sv.Schema((Numeric("x", 0, 4),))
TWO = sv.Schema((Numeric("x", 0, 4), Categorical("word", ("a", "b"))), Target("y", (0, 1)))


@pytest.mark.parametrize(
    "name",
    [
        *(
            "39",
            "-1.5",
            "1e3",
            "$5",
            "12 %",
            "1,234",
            "2020-01-31",
            "31.01.2020",
            "12:30",
            "(555) 123-4567",
            "?",
        ),
        *(
            "NA",
            "null",
            "nan",
            "True",
            "yes",
            " ",
            ">50K",
            "1-Jan-2020",
            "2020-01-01T12:00Z",
            "a.b@example.org",
        ),
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    ],
)
def test_a_first_line_with_a_value_is_refused_before_it_becomes_a_name(name: str, tmp_path: Path) -> None:
    assert looks_like_value(name)
    path = tmp_path / "data.csv"
    path.write_text(f'SECRET;"{name}"\n1;2\n')
    with pytest.raises(sv.errors.DataError, match="not a header") as caught:
        sources.column_names(path, how=sv.ReadOptions(delimiter=";"))
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["age", "y", "n", "x1", "1st floor", "hours-per-week", "income>50K", "née", "No.", "fade", "deed_date"],
)
def test_names_are_taken_for_names(name: str) -> None:
    assert not looks_like_value(name)


def test_a_blank_line_of_a_one_column_file_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x\n1\n\n3\n\n4\n")
    rows = files.read(path, ONE, target=False).features
    assert len(rows) == 5
    assert np.sign(rows[:, 0]).tolist() == [-1, 0, 1, 0, 1]


@pytest.mark.parametrize("delimiter", ["\t", "\\t"])
def test_a_tab_may_be_written_as_the_shell_passes_it(delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    path.write_text("x\tword\ty\n1\ta\t0\n")
    assert sources.column_names(path, how=sv.ReadOptions(delimiter=delimiter)) == ("x", "word", "y")
    assert len(files.read(path, TWO, how=sv.ReadOptions(delimiter=delimiter)).features) == 1


@pytest.mark.parametrize("delimiter", ["", "::", '"', "\n", "€", None, 3])
def test_any_other_delimiter_is_refused(delimiter: Any, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x\n1\n")
    with pytest.raises(sv.errors.ParameterError, match="delimiter"):
        sources.column_names(path, how=sv.ReadOptions(delimiter=delimiter))


FIELDS = (b"X", b"", b"1e400", b"true", b"\xff\xfe", "٣".encode(), b" 2 ", b'"a,b"', b"0x1", b"-nan", b"\x00")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_hostile_field_changes_no_other_line(field: bytes, place: int, tmp_path: Path) -> None:
    lines = [[b"1.1", b"a", b"0"], [b"3", b"b", b"1"], [b"0.3", b"a", b"1"]] * 3
    path = tmp_path / "data.csv"

    def read() -> tuple[np.ndarray, np.ndarray]:
        path.write_bytes(b"x,word,y\n" + b"".join(b",".join(line) + b"\n" for line in lines))
        table = files.read(path, TWO, how=sv.ReadOptions(invalid="zero"))
        assert table.target is not None
        return table.features, table.target

    rows, target = read()
    lines[4] = [field if at == place else cell for at, cell in enumerate(lines[4])]
    replaced, labels = read()
    assert np.array_equal(np.delete(rows, 4, axis=0), np.delete(replaced, 4, axis=0))
    assert np.array_equal(np.delete(target, 4), np.delete(labels, 4))


def kept(error: BaseException | None) -> str:
    """All an exception and what it was raised from hold."""
    return "" if error is None else f"{error}{vars(error)}{kept(error.__context__)}{kept(error.__cause__)}"


def dies(work: Any) -> str:
    with pytest.raises(sv.errors.SottovoceError) as caught:
        work()
    return kept(caught.value)


@pytest.mark.parametrize("suffix", ["toml", "json"])
@pytest.mark.parametrize(
    "content",
    [b"SECRET,1\nSECRET,2\n", b'{"SECRET": {"age": 3}}', b"SECRET = {SECRET = 1, SECRET = 2}", b"\xffSECRET"],
)
def test_a_wrong_schema_file_is_not_quoted_back(suffix: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"wrong.{suffix}"
    path.write_bytes(content)
    assert "SECRET" not in dies(lambda: sv.Schema.load(path))


def test_a_typing_error_in_a_schema_is_found_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text('[columns.x]\ntype = "numeric"\nlow = \n')
    with pytest.raises(sv.errors.ParameterError, match=r"line 3, column \d"):
        sv.Schema.load(path)


def test_what_a_reader_raised_is_forgotten_with_what_it_held(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text('{"SECRET": SECRET}')
    assert "SECRET" not in dies(lambda: read_json(tmp_path / "wrong.json", "model file"))
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"x": [1.0], "word": ["SECRET"], "y": [0]}), path)
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(60) + content[64:])
    source = ParquetSource.open(path, TWO, radius=1.0, lenient=True)
    with pytest.raises(sv.errors.DataError, match="Parquet") as caught:
        list(source.read(lambda _, n: (Compact.room(source.layout, n), np.empty(n))))
    assert caught.value.__context__ is None
