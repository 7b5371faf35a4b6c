"""What a stranger meets first: imports, names, the command line, the import contracts."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce import cli
from sottovoce.cli.demo import YOURS
from sottovoce.datasets import covertype
from tests.tables import TWO, write

HEAVY = (
    "sklearn",
    "pyarrow",
    "dp_accounting",
    "opendp",
    "torch",
    "dask",
    "numba",
    "pandas",
    "narwhals",
    "typer",
)


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_loads_nothing_heavy() -> None:
    code = f"import sottovoce, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert run_python(code).strip() == "[]"


def test_every_public_name_exists_and_no_other_is_listed() -> None:
    assert sv.__all__ == sorted(sv.__all__)
    for name in sv.__all__:
        assert getattr(sv, name) is not None
    assert set(dir(sv)) == set(sv.__all__)


def test_the_version_is_that_of_the_newest_entry_of_the_changelog() -> None:
    newest = re.search(r"^## (\S+) \(", Path("CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest
    assert newest[1] == sv.__version__


def test_public_names_do_not_depend_on_the_order_of_imports() -> None:
    code = "import sottovoce.training, sottovoce.cli, sottovoce as sv; print(callable(sv.minimize))"
    assert run_python(code).strip() == "True"


def test_the_embedded_table_is_covertype() -> None:
    table = covertype.load()
    assert np.bincount(table.cover)[1:].tolist() == [211840, 283301, 35754, 2747, 9493, 17367, 20510]
    two = table.two_classes()
    assert two.cover.size == 495_141
    assert 0.19 < two.held_out().mean() < 0.21


def test_no_demo_row_is_clipped() -> None:
    rows = covertype.load().rows(np.arange(581_012) % 7 == 0).bounded().astype(np.float64)
    assert rows.shape[1] == 55
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-6
    assert np.abs(rows).max() <= 1.0 / np.sqrt(13.0) + 1e-6


def test_the_constants_are_those_of_the_shared_file() -> None:
    constants = Path(__file__).parents[2] / "shared" / "data" / "constants.json"
    if not constants.exists():
        pytest.skip("the shared folder is not here")
    given = json.loads(constants.read_text())["covtype"]
    assert tuple(given["minimum"]) == covertype.MINIMUM
    assert tuple(given["maximum"]) == covertype.MAXIMUM
    assert tuple(given["mean"]) == covertype.MEAN
    assert tuple(given["std"]) == covertype.DEVIATION
    assert tuple(given["columns"]) == covertype.NUMERIC


def _demo(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "demo", *options],
        check=True,
        capture_output=True,
        text=True,
        timeout=900,
        cwd=folder,
    )
    return done.stdout


def test_the_commands_that_the_demo_ends_with_work_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", 1_000)
    for command in YOURS:
        words = shlex.split(command, comments=True)
        assert words.pop(0) == "sottovoce"
        ran = CliRunner().invoke(cli.app, words)
        assert ran.exit_code == 0, ran.output
        if words[0] == "schema":
            (tmp_path / "schema.toml").write_text(TWO.to_toml(), encoding="utf-8")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_demo_trains_privately_and_writes_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sottovoce", "demo", "-q"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert (end.value.code, capsys.readouterr().out) == (0, "")
    page = (tmp_path / "sottovoce-demo.html").read_text(encoding="utf-8")
    for words in ("Covertype", "differential privacy for every record", "396,113", "Elevation", "Curves"):
        assert words in page


@pytest.mark.slow
def test_the_demo_compares_lines_and_curves_with_no_privacy(tmp_path: Path) -> None:
    said = _demo(tmp_path)
    for words in ("Guarantee", "(1, 1e-06)-differential privacy", "Certificate", "99 % confidence", "public"):
        assert words in said
    found = re.findall(r"(epsilon \S+|no privacy)\s+\S\s+(0\.\d{4})\s+\S\s+(0\.\d{4})", said)
    assert [name for name, _, _ in found] == ["epsilon 0.1", "epsilon 1", "epsilon 3", "no privacy"]
    assert all(0.77 < float(line) < float(curves) for _, line, curves in found)
    assert "sottovoce fit data.csv" in said
    assert "python -m webbrowser sottovoce-demo.html" in said


def test_a_bad_budget_on_the_command_line_is_one_line_and_exit_code_one() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "demo", "--epsilon", "-1"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "epsilon" in done.stderr
