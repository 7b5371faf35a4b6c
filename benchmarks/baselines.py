"""Excess logistic loss of private methods side by side in one run: every contender, each rival tuned.

    python -m benchmarks.baselines [--again METHOD ...] [--page]

Real Covertype, 495,141 x 54, rows clipped to norm 1, L2 1e-6, delta = 1/n, from zeros, epsilon 0.1, 0.2 and
1.0, seeds that were not used to choose any default. Cells go to benchmarks/results/excess.json as they are
finished, and from there to the section "Excess loss" of docs/benchmarks.md. --again measures methods anew,
--page only writes the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import numpy as np

from benchmarks import contenders as who
from benchmarks.contest import Cell, Kept, hold, stored
from benchmarks.objective import objective_perturbation
from benchmarks.sections import PAGES, replace, where
from benchmarks.task import whole

EPSILONS = (0.1, 0.2, 1.0)
SEEDS = range(2000, 2005)
OURS = ("adapt", "majorize", "cubic")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__)
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD", help="forget its finished cells")
    parser.add_argument("--page", action="store_true", help="only write the page")
    asked = parser.parse_args()
    if not asked.page:
        task, kept = whole(), Kept("excess")
        kept.forget(asked.again)
        with objective_perturbation(task) as rivals:
            listed = [
                who.ADAPT,
                who.MAJORIZE,
                who.CUBIC,
                who.SGD,
                who.SGD_ADD_REMOVE,
                who.DESCENT,
                who.NoisyNewton(),
                *rivals,
                who.OutputPerturbation(),
                who.OneRelease(),
            ]
            hold(kept, task, listed, EPSILONS, SEEDS, trials=2)
    replace(PAGES / "benchmarks.md", "excess", list(section()))


def section() -> Iterable[str]:
    found = stored("excess")
    yield where(found)
    yield ""
    yield "| epsilon | method | promise | excess loss, mean | worst | passes | seconds | best setting |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |"
    for cell in sorted(found["cells"], key=lambda cell: cell["epsilon"]):
        yield _row(cell)


def _row(cell: Cell) -> str:
    name = f"**{cell['contender']}**" if cell["contender"] in OURS else cell["contender"]
    return (
        f"| {cell['epsilon']:g} | {name} | {cell['promise']} | {np.mean(cell['excess']):.5f} | "
        f"{max(cell['excess']):.5f} | {cell['passes']} | {cell['seconds']:.1f} | {cell['setting']} |"
    )


if __name__ == "__main__":
    main()
