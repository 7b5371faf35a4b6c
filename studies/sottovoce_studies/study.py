"""The study as a whole: run what is missing, then write every table and chart from what is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sottovoce.errors import ParameterError
from sottovoce.planning.bench import machine
from sottovoce_studies.problems import require_present
from sottovoce_studies.runner import run_missing
from sottovoce_studies.settings import LONGEST, Selection
from sottovoce_studies.store import Store
from sottovoce_studies.summary import Summary, summarize

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce_studies.trial import Run

RUNS = "runs.jsonl"


@final
@dataclass(frozen=True, kw_only=True)
class Study:
    """A selection, the folder that holds its runs, and how they are made."""

    selection: Selection
    folder: Path
    jobs: int = 1
    data: str | None = None
    longest: int = LONGEST

    def __post_init__(self) -> None:
        if not 1 <= self.jobs <= 1024:
            raise ParameterError("--jobs, the number of processes, must lie between 1 and 1024.")
        if self.longest < 1:
            raise ParameterError("--longest, the visits after which a run is cut, must be at least 1.")

    def run(self, *, show: bool = False) -> None:
        """Run every trial that is not kept yet; those of cells in which a run was cut come last."""
        store = Store(self.folder / RUNS)
        trials = self.selection.trials()
        missing = [trial for trial in trials if store.lacks(trial, self.longest)]
        if not missing:
            return
        slow = {trial.cell for trial, run in store.runs.items() if run.cut}
        missing.sort(key=lambda trial: trial.cell in slow)
        require_present([trial.cell.table.dataset for trial in missing], self.data)
        with store.writing(session(self.jobs)), _progress(show, len(trials), len(missing)) as kept:
            run_missing(missing, store, jobs=self.jobs, data=self.data, longest=self.longest, kept=kept)

    def cells(self) -> list[Summary]:
        """A summary of every cell asked for, from what is kept."""
        return summarize(self.selection.cells, Store(self.folder / RUNS).runs, self.selection.seeds)

    def sessions(self) -> list[dict[str, Any]]:
        return Store(self.folder / RUNS).sessions


def session(jobs: int) -> dict[str, Any]:
    """When and where runs are made: date, machine, versions."""
    found = {**machine(), "threads": 1, "jobs": jobs, "cores": os.cpu_count()}
    for package in ("scipy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return {"started": datetime.now(UTC).isoformat(timespec="seconds"), **found}


@contextmanager
def _progress(show: bool, total: int, missing: int) -> Iterator[Callable[[Run], None]]:
    """A bar over all runs asked for on standard error, with the last one kept beside it."""
    if not show:
        yield lambda run: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=total, completed=total - missing)

        def kept(run: Run) -> None:
            cell = run.trial.cell
            said = f"{cell.method} {cell.table.name} {cell.epsilon:g} {cell.calibration}"
            bar.update(task, advance=1, description=f"{said}, seed {run.trial.seed}")

        yield kept
