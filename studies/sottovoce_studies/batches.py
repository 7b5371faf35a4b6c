"""What OPT-B and 2OPT-B really take: the paper's mini-batch cells under a guarantee that holds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from sottovoce_studies.grid import Grid
from sottovoce_studies.settings import DATASETS, EPSILONS, LOSSES, Cell, Table, Trial
from sottovoce_studies.summary import Summary, printed_for, summarize
from sottovoce_studies.trial import Run
from sottovoce_studies.words import figure

METHODS = ("opt-b", "2opt-b")
_ALL = 1000
_HEADS = (
    "data",
    "loss",
    "setting",
    "epsilon",
    "method",
    "paper: loss, seconds",
    "published: stopped",
    "visits",
    "passes",
    "true gradient norm",
    "needs epsilon",
    "tight: certified",
    "visits",
    "passes",
)
_WORDS = (
    "All 48 cells of OPT-B and 2OPT-B terminate in the paper. Here a fresh batch of n/100 records, drawn "
    "without replacement, answers each query with the sensitivity of a mean over that batch, and is "
    "charged as what it is. *Needs epsilon*: the smallest epsilon tried at which every run made ends by its "
    "test inside both tolerances, under published calibration. Beyond 1 one seed was run. Tight "
    "calibration reads all records where a batch looks like a solution or cannot be afforded: passes near "
    "or above visits mean that batches were of no use."
)


def batches(runs: Mapping[Trial, Run]) -> Grid:
    """The paper's 48 cells beside the same methods with honest batches."""
    tables = (Table(*key) for key in product(DATASETS, LOSSES, ("loose", "tight")))
    rows = [
        _row(Cell(table, method, epsilon, "published"), runs)
        for table, method, epsilon in product(tables, METHODS, EPSILONS)
    ]
    return Grid(title="What mini-batches really take", note=_WORDS, heads=_HEADS, rows=rows)


def needed(cell: Cell, runs: Mapping[Trial, Run]) -> str:
    """The smallest epsilon tried at which this cell is solved, or more than the largest."""
    tried = {
        trial.cell
        for trial in runs
        if (trial.cell.table, trial.cell.method, trial.cell.calibration)
        == (cell.table, cell.method, cell.calibration)
    }
    good = [found.cell.epsilon for found in summarize(sorted(tried), runs, _ALL) if found.solved]
    if good:
        return f"{min(good):g}"
    return f"> {max(other.epsilon for other in tried):g}" if tried else ""


def _row(cell: Cell, runs: Mapping[Trial, Run]) -> list[str]:
    tight = Cell(cell.table, cell.method, cell.epsilon, "tight")
    published, best = summarize([cell, tight], runs, _ALL)
    printed = printed_for(cell)
    assert printed is not None
    assert printed.loss is not None
    assert printed.seconds is not None
    norm = "" if published.gradient_norm is None else f"{published.gradient_norm.mean:.3g}"
    return [
        cell.table.dataset,
        cell.table.loss,
        cell.table.setting,
        f"{cell.epsilon:g}",
        cell.method,
        f"{printed.loss.mean:.3f}, {printed.seconds.mean:g}",
        *_shown(published, published.stopped),
        norm,
        needed(cell, runs),
        *_shown(best, best.certified),
    ]


def _shown(cell: Summary, count: int) -> list[str]:
    if cell.visits is None or cell.passes is None:
        return ["not run", "", ""]
    cut = f", {cell.cut} cut" if cell.cut else ""
    return [f"{count} of {cell.runs}{cut}", figure(cell.visits.mean), figure(cell.passes.mean)]
