"""Tables of several files: the rows of one, whatever way they are named."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.data.files import read
from sottovoce.data.filesets import called, files_of, state_of
from sottovoce.data.sources import column_names
from sottovoce.errors import DataError, ParameterError
from tests.system.test_outputs import BUDGET, Shell
from tests.tables import TWO, write

N = 300


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write(tmp_path / "claims.csv", n=N)


def parted(whole: Path, kind: str) -> Path:
    """The rows of a file in three, in a folder of their own."""
    folder = whole.parent / kind
    folder.mkdir()
    lines = whole.read_bytes().splitlines(keepends=True)
    typed = pc.read_csv(whole)
    for number, (start, end) in enumerate(((0, 100), (100, 101), (101, N))):
        content = lines[0] + b"".join(lines[1 + start : 1 + end])
        match kind:
            case "csv":
                (folder / f"part-{number}.csv").write_bytes(content)
            case "csv.gz":
                (folder / f"part-{number}.csv.gz").write_bytes(gzip.compress(content))
            case "parquet":
                pq.write_table(typed.slice(start, end - start), folder / f"part-{number}.parquet")
    (folder / "README.txt").write_text("not a table")
    return folder


def spelled(folder: Path) -> dict[str, Any]:
    return {
        "folder": folder,
        "pattern": str(folder / "part-*"),
        "list": sorted(folder.glob("part-*")),
        "texts": [str(file) for file in sorted(folder.glob("part-*"))],
    }


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_several_files_are_the_rows_of_one(kind: str, whole: Path) -> None:
    expected = read(whole, TWO)
    for table in spelled(parted(whole, kind)).values():
        found = read(table, TWO)
        assert np.array_equal(found.features, expected.features)
        assert np.array_equal(found.target, expected.target)
        assert column_names(table) == column_names(whole)
        assert called(table) != "the table"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_fit_on_several_files_is_that_on_one(kind: str, whole: Path) -> None:
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "method": "majorize", "simulate": 0}
    folder = parted(whole, kind)
    one = pc.read_csv(whole) if kind == "parquet" else whole
    expected = sv.fit(one, TWO, **asked).result.weights
    for table in (folder, sorted(folder.glob("part-*"))):
        assert np.allclose(sv.fit(table, TWO, **asked).result.weights, expected, rtol=1e-9)
    if kind == "parquet":
        records = sv.Records.from_parquet(sorted(folder.glob("part-*")), TWO)
        assert records.n == N


def test_what_is_no_set_of_files_is_refused(whole: Path) -> None:
    folder = parted(whole, "csv")
    (folder / "sub").mkdir()
    for wrong in (folder / "sub", str(folder / "nothing-*.csv"), [str(folder / "none.csv"), str(whole)]):
        with pytest.raises(DataError):
            read(wrong, TWO)
    with pytest.raises(ParameterError):
        files_of([whole, folder / ".." / whole.name])
    pq.write_table(pc.read_csv(whole), folder / "more.parquet")
    with pytest.raises(ParameterError):
        files_of(folder)


def test_a_column_that_one_file_lacks_is_named_before_a_row_is_read(whole: Path) -> None:
    folder = parted(whole, "csv")
    last = folder / "part-2.csv"
    last.write_bytes(last.read_bytes().replace(TWO.names[0].encode(), b"another", 1))
    with pytest.raises(DataError, match=TWO.names[0]):
        read(folder, TWO)
    assert TWO.names[0] not in column_names(folder)


def test_the_state_of_files_follows_each_of_them(whole: Path) -> None:
    folder = parted(whole, "csv")
    before, times = state_of(folder), os.stat(folder / "part-1.csv")
    assert before == state_of(folder) != ""
    assert state_of(np.zeros(3)) == state_of(folder / "absent.csv") == ""
    content = (folder / "part-1.csv").read_bytes()
    (folder / "part-1.csv").write_bytes(content)
    os.utime(folder / "part-1.csv", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert state_of(folder) != before
    (folder / "part-3.csv").write_bytes(content)
    assert len(files_of(folder)) == 4


def test_the_state_of_files_tells_nothing_of_what_is_in_them(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A neighbour's table may be a byte longer, and the state is kept in journals."""
    before, found = state_of(whole), whole.stat()
    names = ("st_dev", "st_ino", "st_mode", "st_mtime_ns", "st_ctime_ns")
    longer = SimpleNamespace(**{name: getattr(found, name) for name in names}, st_size=found.st_size + 1)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", lambda _, **how: longer)
        after = state_of(whole)
    assert after == before


def test_commands_take_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(tmp_path, monkeypatch, capsys)
    parted(tmp_path / "claims.csv", "csv")
    files = [str(file) for file in sorted((tmp_path / "csv").glob("part-*"))]
    options = ("--schema", "schema.toml", *BUDGET, "--method", "majorize", "--simulate", "0", "-q")
    for name, given in (("one", ["claims.csv"]), ("several", files), ("folder", ["csv"])):
        assert shell("fit", *given, *options, "-o", f"{name}.json")[0] == 0
    weights = [sv.Model.load(tmp_path / f"{name}.json").weights for name in ("one", "several", "folder")]
    assert np.allclose(weights[0], weights[1], rtol=1e-9)
    assert np.allclose(weights[0], weights[2], rtol=1e-9)
    assert shell("predict", "one.json", *files, "-o", "out.csv")[0] == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == N + 1
    assert shell("predict", "one.json", "csv", "-o", files[0], "--force")[0] == 1


@pytest.mark.parametrize("given", ["folder", "pattern", "names"])
def test_folders_by_the_content_of_records_are_refused_with_the_way_out(given: str, tmp_path: Path) -> None:
    for region in ("north", "south"):
        (tmp_path / "claims" / f"region={region}").mkdir(parents=True)
        (tmp_path / "claims" / f"region={region}" / "part.parquet").touch()
    pattern = tmp_path / "claims" / "region=*" / "part.parquet"
    table = {"folder": tmp_path / "claims", "pattern": pattern, "names": sorted(tmp_path.rglob("*.parquet"))}
    with pytest.raises(DataError, match="ORDER BY"):
        files_of(table[given])
    assert len(files_of(tmp_path / "claims" / "region=north")) == 1
