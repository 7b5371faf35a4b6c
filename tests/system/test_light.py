"""Commands that do not train load no solver, no noise, no SciPy: what they import is listed, not timed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger
from tests.tables import TWO, write

HEAVY = (
    *("scipy", "opendp", "sklearn", "numba", "pandas", "polars", "narwhals", "dask", "torch", "pydantic"),
    *(
        "sottovoce.methods",
        "sottovoce.models",
        "sottovoce.privacy",
        "sottovoce.kernels",
        "sottovoce.training",
    ),
)
LOADED = "sorted(name for name in sys.modules if name.split('.')[0] in heavy or name in heavy)"
PROGRAM = f"""
import sys
from sottovoce.cli import main
heavy = {HEAVY!r}
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print({LOADED}, file=sys.stderr)
"""
COMMANDS = {
    "schema": ("schema", "data.csv", "-o", "template.toml"),
    "ledger show": ("ledger", "show", "budget.db"),
    "ledger verify": ("ledger", "verify", "budget.db", "--anchor", "model.json"),
    "report": ("report", "model.json", "-o", "report.html"),
    "predict": ("predict", "model.json", "data.csv", "-o", "predictions.csv"),
    "export": ("export", "model.json", "--format", "r", "-o", "model.R"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("light")
    write(place / "data.csv", 300)
    ledger = Ledger.create(place / "budget.db", dataset="people", cap=Budget(3.0, 1e-5))
    sv.fit(place / "data.csv", TWO, epsilon=1.0, delta=1e-5, ledger=ledger).save(place / "model.json")
    return place


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_does_not_train_loads_nothing_heavy(command: tuple[str, ...], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().splitlines()[-1] == "[]"


def test_a_fit_loads_no_scikit_learn(folder: Path) -> None:
    """It takes longer to load than many fits take; estimators alone need it."""
    (folder / "schema.toml").write_text(TWO.to_toml(), encoding="utf-8")
    program = PROGRAM.replace(repr(HEAVY), repr(("sklearn", "dask", "torch")))
    asked = ("fit", "data.csv", "--schema", "schema.toml", "--epsilon", "1", "--delta", "1e-5", "-q")
    done = subprocess.run(
        [sys.executable, "-c", program, *asked, "-o", "light.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"
