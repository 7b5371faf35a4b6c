"""Loss and accuracy against epsilon, and losses under wrong labels, on Covertype with a fifth held out.

    python -m benchmarks.study [--again METHOD ...] [--page]

Cells go to benchmarks/results/study.json and label-noise.json as they are finished, so an interrupted study
goes on where it stopped; from there to the tables of docs/study.md and to docs/charts. --again measures
methods anew, --page only writes the page. OMP_NUM_THREADS=1 keeps it to about one core.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from benchmarks import contenders as who
from benchmarks import label_noise, study_page
from benchmarks.contest import Kept, hold
from benchmarks.objective import objective_perturbation
from benchmarks.task import split

EPSILONS = (0.2, 1.0, 0.05, 8.0, 0.1, 0.5, 2.0, 4.0)
"""The corners first, so that a study cut short still spans them."""

SEEDS = range(2000, 2003)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description=__doc__)
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD", help="forget its finished cells")
    parser.add_argument("--page", action="store_true", help="only write the page")
    asked = parser.parse_args()
    if not asked.page:
        task, kept = split(), Kept("study")
        kept.forget(asked.again)
        label_noise.hold(Kept("label-noise"), task, SEEDS)
        with objective_perturbation(task) as rivals:
            listed = [
                who.ADAPT,
                who.MAJORIZE,
                who.StochasticDescent(lengths=(20,)),
                who.CUBIC,
                *(replace(rival, others=()) for rival in rivals),
                who.GradientDescent(grid=((100, 30.0), (100, 90.0), (300, 90.0))),
                who.LINE_SEARCH,
            ]
            hold(kept, task, listed, EPSILONS, SEEDS, trials=1)
    study_page.write()


if __name__ == "__main__":
    main()
