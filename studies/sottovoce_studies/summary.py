"""A cell's runs as the figures a table shows, beside what the paper printed there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from sottovoce_studies.paper import Printed, Spread, paper
from sottovoce_studies.settings import Cell, Trial
from sottovoce_studies.trial import Run


@final
@dataclass(frozen=True, kw_only=True)
class Summary:
    """Means and counts over the runs made of a cell; `cut_at` is after how many visits some were cut."""

    cell: Cell
    runs: int
    stopped: int
    certified: int
    inside: int
    cut: int
    cut_at: tuple[int, ...]
    final_loss: Spread | None
    gradient_norm: Spread | None
    seconds: Spread | None
    passes: Spread | None
    hessians: Spread | None
    visits: Spread | None
    spent: Spread | None
    printed: Printed | None

    @property
    def solved(self) -> bool:
        """Every run stopped by its own test, at a point inside both tolerances by exact values."""
        return 0 < self.runs == self.stopped == self.inside

    def to_dict(self) -> dict[str, Any]:
        raw = asdict(self)
        cell = raw.pop("cell")
        return {**cell.pop("table"), **cell, **raw}


def summarize(cells: Sequence[Cell], runs: Mapping[Trial, Run], seeds: int) -> list[Summary]:
    """One summary a cell, in the order given, of the first `seeds` seeds."""
    found = ([runs[t] for seed in range(seeds) if (t := Trial(cell, seed)) in runs] for cell in cells)
    return [_summary(cell, members) for cell, members in zip(cells, found, strict=True)]


def printed_for(cell: Cell) -> Printed | None:
    """What the paper printed in this cell, if it has it."""
    table = cell.table
    return paper().cells.get((table.dataset, table.loss, table.setting, cell.method, cell.epsilon))


def spread(values: Iterable[float]) -> Spread | None:
    """Mean and sample standard deviation, as the paper's; 0 for a single run."""
    given = list(values)
    if not given:
        return None
    mean = math.fsum(given) / len(given)
    squares = math.fsum((value - mean) ** 2 for value in given)
    return Spread(mean, math.sqrt(squares / max(1, len(given) - 1)))


def _summary(cell: Cell, runs: list[Run]) -> Summary:
    return Summary(
        cell=cell,
        runs=len(runs),
        stopped=sum(run.stopped for run in runs),
        certified=sum(run.certified for run in runs),
        inside=sum(run.inside for run in runs),
        cut=sum(run.cut for run in runs),
        cut_at=tuple(sorted({run.longest for run in runs if run.cut})),
        final_loss=spread(run.final_loss for run in runs),
        gradient_norm=spread(run.gradient_norm for run in runs),
        seconds=spread(run.seconds for run in runs),
        passes=spread(run.passes for run in runs),
        hessians=spread(run.hessians for run in runs),
        visits=spread(run.visits for run in runs),
        spent=spread(run.spent for run in runs),
        printed=printed_for(cell),
    )
