"""The few words and figures a cell of a table holds, the same in every rendering."""

from __future__ import annotations

from sottovoce_studies.paper import Printed, Spread
from sottovoce_studies.summary import Summary

CALIBRATIONS = {"published": "as published", "tight": "tight"}
CROSS = "\u00d7"
EXACT = (
    "Noise is simulated from seeds: the data are public and this is a study, not a release. Final losses, "
    "true gradient norms and eigenvalues, and with them every count of runs inside the tolerances, are "
    "exact: computed on public data after each private run, outside of it. No method saw them."
)


def loss(of: Spread | None, runs: int = 5) -> str:
    """Mean and standard deviation; of a single run the value alone."""
    if of is None:
        return ""
    return f"{of.mean:.3f}" if runs == 1 else f"{of.mean:.3f} ± {of.sd:.3f}"


def ours(cell: Summary, seeds: int) -> list[str]:
    """Lines on our runs: final loss; what it took; how many ended how."""
    if not cell.runs:
        return ["not run"]
    assert cell.seconds is not None
    assert cell.passes is not None
    assert cell.hessians is not None
    took = (
        f"{figure(cell.seconds.mean)} s, {figure(cell.passes.mean)} passes, {figure(cell.hessians.mean)} "
        "Hessians"
    )
    counts = [f"{cell.certified}/{cell.runs} certified", f"{cell.inside}/{cell.runs} inside"]
    if cell.cell.calibration == "published":
        counts.insert(0, f"{cell.stopped}/{cell.runs} stopped")
    lines = [loss(cell.final_loss, cell.runs), took, ", ".join(counts)]
    notes = []
    if cell.cut:
        notes.append(f"{cell.cut} cut at {' or '.join(map(str, cell.cut_at))} visits")
    if cell.runs < seeds:
        notes.append(f"{cell.runs} of {seeds} seeds run")
    return [*lines, "; ".join(notes)] if notes else lines


def theirs(printed: Printed | None) -> str:
    """The paper's cell, with its cross where a run did not stop; empty where it has none."""
    if printed is None:
        return ""
    if printed.terminated is None:
        return "paper: NA"
    parts = [loss(printed.loss)]
    parts.append(CROSS if printed.seconds is None else f"{printed.seconds.mean:g} s")
    if printed.hessians is not None:
        parts.append(f"{printed.hessians.mean:g} Hessians")
    return "paper: " + ", ".join(parts)


def figure(value: float) -> str:
    """Three significant digits without a power of ten."""
    if value == 0.0:
        return "0"
    if value >= 100.0:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 0.001 else f"{value:.4f}"
