"""A record of a CSV file is a line: whatever one holds, the others are read as they are without it."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.data import csv_files, lines
from sottovoce.data.lines import LineReader
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import DataError
from tests.attacks.doors.probes import rows_of
from tests.attacks.doors.product.containers import LINES

SCHEMA = Schema((Numeric("x", 0, 10), Categorical("c", ("a", "b"))), Target("y", ("no", "yes")))
PLAIN = [f"{k % 9 + 1},{'ab'[k % 2]},{('no', 'yes')[k % 2]}".encode() for k in range(40)]


def read(tmp_path: Path, written: list[bytes], **how: Any) -> dict[str, np.ndarray]:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\n".join([b"x,c,y", *written, b""]))
    return rows_of(sv.Records.from_table(path, SCHEMA, **how))


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("place", [0, 17, 39])
def test_a_hostile_line_is_one_record_and_leaves_the_others_alone(
    tmp_path: Path, name: str, place: int
) -> None:
    line = LINES[name](PLAIN[place].split(b","))
    plain = read(tmp_path, PLAIN)
    found = read(tmp_path, [*PLAIN[:place], line, *PLAIN[place + 1 :]], invalid="zero")
    others = np.arange(40) != place
    for part, held in plain.items():
        assert len(found[part]) == 40
        assert np.array_equal(found[part][others], held[others])


@pytest.mark.parametrize(
    "name", ["unclosed quote first", "one field more", "a huge field", "a lone carriage return"]
)
def test_a_broken_line_has_no_values_or_is_refused_without_quoting_it(tmp_path: Path, name: str) -> None:
    line = LINES[name]([b"3", b"secret", b"yes"])
    assert not read(tmp_path, [*PLAIN, line], invalid="zero")["features"][40].any()
    with pytest.raises(DataError) as refusal:
        read(tmp_path, [*PLAIN, line])
    assert "secret" not in str(refusal.value)
    assert refusal.value.__context__ is None


def test_a_quoted_line_break_makes_two_broken_lines(tmp_path: Path) -> None:
    assert len(read(tmp_path, [b'3,"a', b'b",yes', *PLAIN], invalid="zero")["targets"]) == 42


def test_an_unclosed_quote_costs_one_row_of_a_thousand(tmp_path: Path) -> None:
    many = [PLAIN[k % 40] for k in range(1000)]
    found = read(tmp_path, [b'"3,a,yes', *many], invalid="zero")
    assert len(found["targets"]) == 1001
    assert found["features"][1:].any(axis=1).all()


@pytest.mark.parametrize("size", [7, 64, 1000])
def test_where_a_block_ends_changes_nothing(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST", 60)
    odd = [LINES[name](PLAIN[0].split(b",")) for name in LINES if "huge" not in name]
    mixed = [
        line
        for pair in zip(PLAIN, [*odd, b"7" * 61 + b",a,yes", b"1" * 200 + b",a,no", *PLAIN], strict=False)
        for line in pair
    ]
    whole = read(tmp_path, mixed, invalid="zero")
    monkeypatch.setattr(csv_files, "CSV_BLOCK_BYTES", size)
    cut = read(tmp_path, mixed, invalid="zero")
    assert all(np.array_equal(cut[part], held) for part, held in whole.items())


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_quoted_fields_are_what_python_reads(ending: str) -> None:
    fields = ["", "a", 'a"b', '"', '""', ",", '",', "a,b", ' "a"', "5'2\"", "é"]
    rng = np.random.default_rng(0)
    rows = [[fields[k] for k in rng.integers(len(fields), size=3)] for _ in range(300)]
    text = io.StringIO()
    csv.writer(text, lineterminator=ending).writerows(rows)
    given = text.getvalue().encode()
    made = LineReader(3, ",").checked(given)
    assert (made.text, made.records, made.broken) == (given, 300, False)
    unusual = b'5"2,x,"a"b\n"",y,z\n'
    rewritten = LineReader(3, ",").checked(unusual)
    assert list(csv.reader(io.StringIO(rewritten.text.decode()))) == [['5"2', "x", "ab"], ["", "y", "z"]]
    assert not rewritten.broken


def test_a_header_is_one_line_and_compressed_files_are_read_alike(tmp_path: Path) -> None:
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"\n".join([b"\xef\xbb\xbfx,c,y", *PLAIN])))
    found = rows_of(sv.Records.from_table(packed, SCHEMA))
    assert all(np.array_equal(found[part], held) for part, held in read(tmp_path, PLAIN).items())
    for header in (b'x,"c,y\n1,a,no\n', b"x,c,y\r1,a,no\r", b'x,"c\nd",y\n1,a,no\n'):
        (tmp_path / "t.csv").write_bytes(header)
        with pytest.raises(DataError, match="header"):
            sv.Records.from_table(tmp_path / "t.csv", SCHEMA)
