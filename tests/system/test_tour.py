"""docs/tour.sh: raw Adult to a model in use in three other tools.

Its commands run in every test run, in this process and on the first rows; the script itself, thirteen
processes over the whole file, by `pytest -m slow tests/system/test_tour.py`."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from sottovoce import cli

TOUR = Path(__file__).parents[2] / "docs" / "tour.sh"
ADULT = Path(os.environ.get("SOTTOVOCE_DATA", "/nowhere")) / "adult.csv.gz"

pytestmark = pytest.mark.skipif(not ADULT.is_file(), reason="SOTTOVOCE_DATA names no folder with Adult")


def test_every_command_of_the_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gzip.open(ADULT, "rt", encoding="utf-8") as whole:
        (tmp_path / "adult.csv").write_text("".join(islice(whole, 3_000)), encoding="utf-8")
    places = {"$data": str(tmp_path / "adult.csv"), "$tour": str(TOUR.parent / "tour")}
    script = TOUR.read_text(encoding="utf-8").replace("\\\n", " ")
    for sign, place in places.items():
        script = script.replace(sign, place)
    commands = [shlex.split(line) for line in script.splitlines() if line.startswith("sottovoce ")]
    assert len(commands) == 12
    monkeypatch.chdir(tmp_path)
    for command in commands:
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 0, command
    _require_finished(tmp_path)


@pytest.mark.slow
def test_the_tour_ends_with_equal_predictions_everywhere(tmp_path: Path) -> None:
    ran = subprocess.run(
        ["bash", str(TOUR), str(ADULT), str(tmp_path)],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for tool in ("DuckDB", "ONNX Runtime", "scikit-learn"):
        assert f"{tool}: 32,561 rows" in ran.stdout
    _require_finished(tmp_path)
    accuracy = json.loads((tmp_path / "model.json").read_text())["figures"][0]
    assert accuracy["high"] > 0.82
    summary = (tmp_path / "summary.csv").read_text().splitlines()
    assert summary[0].startswith("term,estimate,std.error")
    assert any(line.startswith("age,") for line in summary)


def _require_finished(folder: Path) -> None:
    model = json.loads((folder / "model.json").read_text())
    assert model["figures"][0]["name"] == "accuracy"
    assert "together (1, 1e-06)" in " ".join(model["result"]["caveats"])
    assert "privacy@example.org" in (folder / "officer.html").read_text()
    for made in ("predictions.csv", "score.sql", "model.onnx", "pipeline.pickle"):
        assert (folder / made).stat().st_size
