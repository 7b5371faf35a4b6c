"""Counts over all settings: what each method solved, and the figures behind the paper's claims."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from sottovoce_studies.grid import Grid
from sottovoce_studies.paper import Spread
from sottovoce_studies.settings import ROWS, Table
from sottovoce_studies.summary import Summary
from sottovoce_studies.words import CALIBRATIONS, figure


def solved(cells: Sequence[Summary]) -> Grid:
    """How many settings each method solved: every run stopped inside both tolerances by exact values."""
    rows = []
    for method in ROWS:
        own = _of(cells, method)
        if not own:
            continue
        tight, published = (_made(own, calibration) for calibration in ("tight", "published"))
        printed = {(c.cell.table, c.cell.epsilon): c.printed.terminated for c in own if c.printed}
        rows.append(
            [
                method,
                _share(tight),
                _ratio(sum(cell.certified for cell in tight), sum(cell.runs for cell in tight)),
                _share(published),
                _ratio(sum(cell.stopped for cell in published), sum(cell.runs for cell in published)),
                _ratio(sum(bool(end) for end in printed.values()), len(printed)),
                _ratio(sum(map(_agrees, published)), len(published)),
            ]
        )
    return Grid(
        title="Settings solved",
        note="Of the 24 settings (data set, loss, tolerance, epsilon). Solved: every run made ended by its "
        "own test at a point inside both tolerances by exact values; tight runs end by a certificate. "
        "Without the tenth tolerance, which the paper does not have. A setting ends as in the paper where "
        "all runs made stop and the paper's do, or one does not and the paper prints a cross or NA.",
        heads=(
            "method",
            "tight: solved",
            "tight: runs certified",
            "as published: solved",
            "as published: runs stopped",
            "paper: terminated",
            "as published: ends as in the paper",
        ),
        rows=rows,
    )


def short(cells: Sequence[Summary], seeds: int) -> Grid:
    """Each cell of the paper's that has fewer runs than the paper's, and why."""
    rows = [
        [
            cell.cell.table.title,
            cell.cell.method,
            f"{cell.cell.epsilon:g}",
            f"{cell.runs} of {seeds}",
            _why(cell),
            figure((seeds - cell.runs) * _mean(cell.seconds)) if cell.runs else "",
        ]
        for cell in cells
        if cell.printed is not None and cell.cell.calibration == "published" and cell.runs < seeds
    ]
    return Grid(
        title="Cells with fewer seeds than the paper's",
        note="As published. The paper prints a cross where one run does not stop, so one such run settles a "
        "cell; the last column is what the other seeds would take of a processor.",
        heads=("table", "method", "ε", "seeds run", "why no more", "seconds missing"),
        rows=rows,
    )


def _why(cell: Summary) -> str:
    if not cell.runs:
        return "not run"
    ran = "its run did" if cell.runs == 1 else f"{cell.runs - cell.stopped} of its {cell.runs} runs did"
    cut = f": cut at {' or '.join(map(str, cell.cut_at))} visits" if cell.cut else ""
    return f"settled, {ran} not stop{cut}" if cell.stopped < cell.runs else "stopped in all runs made"


def claims(cells: Sequence[Summary]) -> Grid:
    """The figures on which each claim of the paper stands or falls here."""
    told: dict[str, Callable[[Sequence[Summary]], str]] = {
        "OPT beats TR in time": lambda made: _against(made, "opt", "tr"),
        "line search helps": lambda made: _against(made, "opt-ls", "opt"),
        "two-phase is robust, short steps": lambda made: _against(made, "2opt", "opt"),
        "two-phase is robust, line search": lambda made: _against(made, "2opt-ls", "opt-ls"),
        "Hessian evaluations are few": _hessians,
        "2OPT-LS performs consistently": lambda made: _alone(made, "2opt-ls"),
        "DP-GD is impractical": lambda made: _alone(made, "dp-gd"),
    }
    rows = [
        [claim, *(tell(_made(cells, calibration)) for calibration in CALIBRATIONS)]
        for claim, tell in told.items()
    ]
    return Grid(
        title="The paper's claims in figures",
        note="Settings solved, and where both methods solve one, how often the first took fewer seconds, "
        "with the median ratio of seconds and of passes, first over second.",
        heads=("claim", *CALIBRATIONS.values()),
        rows=rows,
    )


def _against(made: Sequence[Summary], first: str, second: str) -> str:
    ours, theirs = _by_setting(made, first), _by_setting(made, second)
    both = [key for key in ours if key in theirs]
    if not both:
        return "not run"
    said = (
        f"{first} solves {sum(ours[key].solved for key in both)}, {second} "
        f"{sum(theirs[key].solved for key in both)} of {len(both)}"
    )
    common = [key for key in both if ours[key].solved and theirs[key].solved]
    if not common:
        return said
    seconds = [_mean(ours[key].seconds) / _mean(theirs[key].seconds) for key in common]
    passes = [_mean(ours[key].passes) / _mean(theirs[key].passes) for key in common]
    quicker = sum(ratio < 1.0 for ratio in seconds)
    return (
        f"{said}; {first} is quicker in {quicker} of {len(common)} (ratio {statistics.median(seconds):.2g}; "
        f"passes {statistics.median(passes):.2g})"
    )


def _hessians(made: Sequence[Summary]) -> str:
    """Mean Hessians a run, where every run stopped and elsewhere."""
    parts = []
    for method in ("opt", "opt-ls", "2opt", "2opt-ls", "tr"):
        own = _of(made, method)
        done = [_mean(cell.hessians) for cell in own if cell.stopped == cell.runs]
        other = [_mean(cell.hessians) for cell in own if cell.stopped < cell.runs]
        if not own:
            continue
        said = f"{method} {figure(statistics.fmean(done))}" if done else f"{method} never stops"
        parts.append(said + (f" (else {figure(statistics.fmean(other))})" if other else ""))
    return "; ".join(parts) or "not run"


def _alone(made: Sequence[Summary], method: str) -> str:
    own = _of(made, method)
    if not own:
        return "not run"
    passes = statistics.median(_mean(cell.passes) for cell in own)
    inside = _ratio(sum(cell.inside for cell in own), sum(cell.runs for cell in own))
    return f"solves {_share(own)}; {inside} runs inside; median passes {figure(passes)}"


def _agrees(cell: Summary) -> bool:
    return cell.printed is not None and (cell.stopped == cell.runs) == bool(cell.printed.terminated)


def _mean(of: Spread | None) -> float:
    assert of is not None
    return of.mean


def _made(cells: Sequence[Summary], calibration: str) -> list[Summary]:
    return [
        cell
        for cell in cells
        if cell.runs and cell.cell.calibration == calibration and cell.cell.table.setting != "tenth"
    ]


def _of(cells: Sequence[Summary], method: str) -> list[Summary]:
    return [cell for cell in cells if cell.cell.method == method and cell.cell.table.setting != "tenth"]


def _by_setting(cells: Sequence[Summary], method: str) -> dict[tuple[Table, float], Summary]:
    return {(cell.cell.table, cell.cell.epsilon): cell for cell in _of(cells, method)}


def _share(cells: Sequence[Summary]) -> str:
    return _ratio(sum(cell.solved for cell in cells), len(cells))


def _ratio(count: int, total: int) -> str:
    return f"{count} of {total}" if total else ""
