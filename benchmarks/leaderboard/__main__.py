"""`python -m benchmarks.leaderboard [--data NAME=TABLE.csv:SCHEMA.toml] [--jobs 2] [--page]`.

Tables x relations x epsilons x contenders: log loss and accuracy on held-out rows, five seeds. Cells go to
benchmarks/results/leaderboard.json as they are finished, so an interrupted contest goes on where it stopped;
from there to docs/leaderboard.md and its charts."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np

from benchmarks.contest import Kept
from benchmarks.leaderboard import page
from benchmarks.leaderboard.rivals import CONTENDERS, Question
from benchmarks.leaderboard.tables import NAMES, given, named

EPSILONS = (1.0, 0.1, 8.0, 0.3, 3.0)
RELATIONS = ("replace-one", "zero-out")
SEEDS = range(3000, 3005)

Key = tuple[str, str, float, str]


def measured(argument: str, relation: str, epsilon: float, contender: str) -> dict[str, Any]:
    board = given(argument) if "=" in argument else named(argument)
    judged, setting = CONTENDERS[contender](Question(board, epsilon, relation), list(SEEDS))
    losses, accuracies = zip(*judged, strict=True)
    return {
        "table": board.name,
        "relation": relation,
        "epsilon": epsilon,
        "contender": contender,
        "loss": list(losses),
        "accuracy": list(accuracies),
        "setting": setting,
    }


def cells(tables: list[str], kept: Kept) -> Iterator[Key]:
    """What is not there yet: rivals first, since ours are quick to measure again."""
    names = sorted(CONTENDERS, key=lambda name: name.startswith("sottovoce"))
    for contender, epsilon, relation, table in itertools.product(names, EPSILONS, RELATIONS, tables):
        called = table.partition("=")[0]
        if not kept.has(table=called, relation=relation, epsilon=epsilon, contender=contender):
            yield table, relation, epsilon, contender


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=__doc__)
    parser.add_argument(
        "--data", action="append", default=[], help="another table: NAME=CSV:SCHEMA or NAME=NPZ"
    )
    parser.add_argument("--tables", nargs="*", default=list(NAMES), help="of shared/data")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="CONTENDER", help="forget its finished cells"
    )
    parser.add_argument("--page", action="store_true", help="only write the page")
    asked = parser.parse_args()
    if not asked.page:
        kept = Kept("leaderboard")
        kept.forget(asked.again)
        with ProcessPoolExecutor(asked.jobs) as pool:
            todo = [pool.submit(measured, *key) for key in cells([*asked.tables, *asked.data], kept)]
            for done in as_completed(todo):
                cell = done.result()
                kept.add(cell)
                shown = f"{np.mean(cell['loss']):.4f} {np.mean(cell['accuracy']):.4f}"
                where = f"{cell['table']:10} {cell['relation']:12} {cell['epsilon']:<4g}"
                print(f"{where} {cell['contender']:36} {shown}  {cell['setting']}", flush=True)
    page.write()


if __name__ == "__main__":
    main()
