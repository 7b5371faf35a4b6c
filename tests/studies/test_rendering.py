"""Tables and charts say what was run, beside what the paper printed, and what was not run."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from rich.console import Console

from sottovoce_studies import tallies, terminal, words
from sottovoce_studies.batches import needed
from sottovoce_studies.charts import charts
from sottovoce_studies.folder import write_all
from sottovoce_studies.settings import Cell, Selection, Table, Trial
from sottovoce_studies.store import Store
from sottovoce_studies.study import Study, session
from sottovoce_studies.summary import summarize
from tests.studies.rows import made_up

LOOSE = Table("covtype", "logistic", "loose")
CHOSEN = Selection(
    datasets=["covtype"], losses=["logistic"], settings=["loose"], methods=["opt", "2opt-b", "majorize"]
)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """All cells but those of 2opt-b at epsilon 1; the published runs of opt at 0.2 were cut."""
    store = Store(tmp_path / "runs.jsonl")
    with store.writing(session(1)):
        for trial in CHOSEN.trials():
            cell = trial.cell
            if (cell.method, cell.epsilon) == ("2opt-b", 1.0):
                continue
            published = cell.calibration == "published"
            hopeless = published and (cell.method, cell.epsilon) == ("opt", 0.2)
            stop = "OUT_OF_BUDGET" if hopeless else "WITHIN_NOISE" if published else "CERTIFIED"
            store.keep(made_up(trial, stop=stop, cut=hopeless))
    return Study(selection=CHOSEN, folder=tmp_path)


def test_means_deviations_and_counts_are_those_of_the_runs() -> None:
    cell = Cell(LOOSE, "opt", 0.2, "tight")
    runs = {trial: made_up(trial) for trial in (Trial(cell, seed) for seed in range(5))}
    (found,) = summarize([cell], runs, 5)
    assert found.final_loss is not None
    assert found.final_loss.mean == pytest.approx(0.52)
    assert found.final_loss.sd == pytest.approx(0.01 * 2.5**0.5)
    assert (found.runs, found.certified, found.inside, found.cut) == (5, 5, 5, 0)
    assert found.solved
    assert found.printed is not None
    assert found.printed.terminated is False
    (three,) = summarize([cell], runs, 3)
    assert three.runs == 3
    assert words.ours(three, 5)[0] == "0.510 ± 0.010"
    assert words.ours(three, 5)[-1] == "3 of 5 seeds run"
    (one,) = summarize([cell], runs, 1)
    assert words.ours(one, 1)[0] == "0.500"


def test_every_published_cell_short_of_seeds_is_named_with_its_reason() -> None:
    cells = [Cell(LOOSE, "opt", 0.2, "published"), Cell(LOOSE, "opt", 0.6, "published")]
    cells += [Cell(LOOSE, "opt", 1.0, "published"), Cell(LOOSE, "opt", 1.0, "tight")]
    tried = [Trial(cells[0], 0), *(Trial(cells[1], seed) for seed in range(5))]
    runs = {trial: made_up(trial, stop="OUT_OF_BUDGET", cut=True) for trial in tried}
    found = tallies.short(summarize(cells, runs, 5), 5)
    named = [(epsilon, seeds, why) for _, _, epsilon, seeds, why, _ in found.rows]
    cut = "settled, its run did not stop: cut at 300 visits"
    assert named == [("0.2", "1 of 5", cut), ("1", "0 of 5", "not run")]


def test_a_terminal_shows_ours_and_theirs(study: Study) -> None:
    console = Console(width=160, record=True, file=io.StringIO())
    for table in terminal.tables(study.cells(), 5):
        console.print(table)
    shown = console.export_text()
    for said in (
        "0.520 ± 0.016",
        "0.5 s, 4 passes, 1 Hessians",
        "5/5 certified, 5/5 inside",
        "5 cut at 300 visits",
        f"paper: 0.581 ± 0.057, {words.CROSS}",
        "not run",
    ):
        assert said in shown


def test_the_folder_holds_every_rendering(study: Study) -> None:
    write_all(study, study.cells())
    markdown = (study.folder / "tables.md").read_text("utf-8")
    assert words.EXACT in markdown
    assert "**0.520 ± 0.016**<br>" in markdown
    assert "<small>paper: 0.712 ± 0.018, 0.6 s</small>" in markdown
    assert "## What mini-batches really take" in markdown
    rows = list(csv.DictReader(io.StringIO((study.folder / "cells.csv").read_text("utf-8"))))
    assert len(rows) == len(CHOSEN.cells) == 15
    assert rows[0]["printed_loss_mean"] == "0.581"
    stored = json.loads((study.folder / "cells.json").read_text("utf-8"))
    assert stored["cells"][0]["final_loss"]["mean"] == pytest.approx(0.52)
    assert stored["sessions"][0]["python"]
    page = (study.folder / "page.html").read_text("utf-8")
    assert page.count("<svg") == 6
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    for name in ("tight-loss", "published-path", "tight-time"):
        ET.fromstring((study.folder / "charts" / f"covtype-logistic-loose-{name}.svg").read_text("utf-8"))


def test_a_chart_has_a_mark_for_every_mean_and_every_figure_of_the_paper(study: Study) -> None:
    cells = [cell for cell in study.cells() if cell.cell.calibration == "published"]
    drawn = charts(cells, Store(study.folder / "runs.jsonl").runs)
    # five of ours (2opt-b was not run at 1), six of theirs, and a legend of two
    assert drawn["loss"].count('class="shape"') == 5 + 2
    assert drawn["loss"].count('class="hollow"') == 6
    assert "paper, opt, epsilon 0.2: loss 0.581 ± 0.057" in drawn["loss"]
    assert drawn["path"].count("passes</title>") == 4
    assert charts([c for c in study.cells() if not c.runs], {}) == {}


def test_what_a_batch_needs_is_the_first_epsilon_that_is_solved() -> None:
    cells = [Cell(LOOSE, "opt-b", epsilon, "published") for epsilon in (0.2, 2.0, 4.0)]
    runs = {Trial(cell, 0): made_up(Trial(cell, 0), stop="STEPS_EXHAUSTED") for cell in cells}
    assert needed(cells[0], runs) == "> 4"
    runs[Trial(cells[1], 0)] = made_up(Trial(cells[1], 0), stop="WITHIN_NOISE")
    assert needed(cells[0], runs) == "2"
