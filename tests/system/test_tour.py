"""docs/tour.sh: raw Adult to a model in use in three other tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[2] / "docs" / "tour.sh"
ADULT = Path(os.environ.get("SOTTOVOCE_DATA", "/nowhere")) / "adult.csv.gz"


@pytest.mark.skipif(not ADULT.is_file(), reason="SOTTOVOCE_DATA names no folder with Adult")
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
    model = json.loads((tmp_path / "model.json").read_text())
    accuracy = model["figures"][0]
    assert accuracy["name"] == "accuracy"
    assert accuracy["high"] > 0.82
    summary = (tmp_path / "summary.csv").read_text().splitlines()
    assert summary[0].startswith("term,estimate,std.error")
    assert any(line.startswith("age,") for line in summary)
    assert "together (1, 1e-06)" in " ".join(model["result"]["caveats"])
    assert "privacy@example.org" in (tmp_path / "officer.html").read_text()
