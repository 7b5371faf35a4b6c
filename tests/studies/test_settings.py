"""The paper's tables as data, and the study cut out of them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from sottovoce.errors import ParameterError
from sottovoce.methods.registry import METHODS
from sottovoce_studies.paper import Spread, paper
from sottovoce_studies.settings import ROWS, Cell, Selection, Table


def test_the_paper_has_192_cells_of_which_96_fail_or_are_not_available() -> None:
    cells = paper().cells
    assert len(cells) == 192
    assert sum(cell.terminated is not True for cell in cells.values()) == 96
    assert sum(cell.terminated is None for cell in cells.values()) == 2
    assert sum(cell.hessians is not None for cell in cells.values()) == 96
    two_phase = [cell for key, cell in cells.items() if key[3] == "2opt-ls"]
    assert sum(cell.terminated is True for cell in two_phase) == 17


def test_a_cell_is_read_as_it_is_printed() -> None:
    cell = paper().cells["covtype", "logistic", "loose", "2opt-ls", 0.2]
    assert (cell.loss, cell.seconds, cell.terminated) == (Spread(0.699, 0.018), Spread(0.5, 0.2), True)
    failed = paper().cells["covtype", "sigmoid", "tight", "tr", 1.0]
    assert failed.seconds is None
    assert failed.terminated is False
    assert failed.hessians == Spread(1061.0, 0.0)


def test_the_packaged_tables_are_the_shared_ones() -> None:
    shared = Path(__file__).parents[3] / "shared" / "paper" / "tables.json"
    if not shared.exists():
        pytest.skip("the shared folder is not here")
    packaged = files("sottovoce_studies").joinpath("tables.json").read_text("utf-8")
    assert json.loads(packaged) == json.loads(shared.read_text("utf-8"))


def test_every_row_is_a_method_and_the_papers_come_first() -> None:
    assert set(ROWS) <= set(METHODS)
    assert {key[3] for key in paper().cells} == set(ROWS[:8])


def test_the_whole_study_covers_the_paper_under_both_calibrations() -> None:
    cells = Selection().cells
    settings = {(c.table, c.epsilon) for c in cells if c.table.setting != "tenth"}
    assert len(settings) == 24
    assert sum(c.calibration == "published" for c in cells) == 192
    assert sum(c.calibration == "tight" for c in cells) == 11 * 36
    trials = Selection().trials()
    assert len(trials) == len(set(trials)) == 5 * len(cells)
    first = trials[: 5 * 36]
    assert {trial.cell.method for trial in first} == {"majorize"}


def test_a_tenth_is_a_tenth_of_both_tight_tolerances() -> None:
    tight, tenth = (Table("covtype", "logistic", name).tolerance for name in ("tight", "tenth"))
    assert (tight.gradient, tight.curvature) == (0.03, 0.173)
    assert tenth.gradient == pytest.approx(0.003)
    assert tenth.curvature == pytest.approx(0.0173)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"methods": ["sgd"]}, "--methods must be among"),
        ({"settings": []}, "none was given"),
        ({"epsilons": [0.0]}, "--epsilons"),
        ({"seeds": 0}, "--seeds"),
        ({"methods": ["cubic"], "calibrations": ["published"]}, "paper's eight methods"),
    ],
)
def test_what_cannot_be_run_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Selection(**given)  # type: ignore[arg-type]


def test_published_calibration_is_the_papers_alone() -> None:
    table = Table("covtype", "logistic", "tight")
    assert Cell(table, "opt", 0.2, "published").exists
    assert not Cell(table, "majorize", 0.2, "published").exists
    assert not Cell(Table("covtype", "logistic", "tenth"), "opt", 0.2, "published").exists
