"""`python -m benchmarks.leaderboard [--data NAME=TABLE.csv:SCHEMA.toml] [--jobs 2] [--page]`.

Tables x relations x epsilons x contenders: loss and share told right on held-out rows, by seed. Cells go to
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
from benchmarks.leaderboard import contenders, page, regression, tables
from benchmarks.leaderboard.query import Board, Query

EPSILONS = (1.0, 0.1, 8.0, 0.3, 3.0)
SEEDS = range(3000, 3005)

Key = tuple[str, str, float, str]


def board_of(argument: str) -> Board:
    if argument in regression.NAMES:
        return regression.named(argument)
    return tables.given(argument) if "=" in argument else tables.named(argument)


def measured(argument: str, relation: str, epsilon: float, contender: str) -> dict[str, Any]:
    board = board_of(argument)
    taking_part = contenders.of(board)
    judged, setting = taking_part[contender](Query(board, epsilon, relation), list(SEEDS))
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


def cells(arguments: list[str], wanted: str, kept: Kept) -> Iterator[Key]:
    """What is not there yet: rivals first, since ours are quick to measure again."""
    names = sorted(contenders.CONTENDERS, key=lambda name: name.startswith("sottovoce"))
    for contender, epsilon, relation, table in itertools.product(
        names, EPSILONS, contenders.RELATIONS, arguments
    ):
        takes_part = contender in (
            contenders.REGRESSORS if table in regression.NAMES else contenders.CLASSIFIERS
        )
        key = {"table": table.partition("=")[0], "relation": relation, "epsilon": epsilon}
        if takes_part and wanted in contender and not kept.has(**key, contender=contender):
            yield table, relation, epsilon, contender


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=__doc__)
    parser.add_argument(
        "--data", action="append", default=[], help="another table: NAME=CSV:SCHEMA or NAME=NPZ"
    )
    parser.add_argument("--tables", nargs="*", default=[*tables.NAMES, *regression.NAMES], help="of ours")
    parser.add_argument("--contender", default="", help="only those whose name contains this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="CONTENDER", help="forget its finished cells"
    )
    parser.add_argument("--page", action="store_true", help="only write the page")
    asked = parser.parse_args()
    if not asked.page:
        kept = Kept("leaderboard")
        kept.forget(asked.again)
        missing = list(cells([*asked.tables, *asked.data], asked.contender, kept))
        with ProcessPoolExecutor(asked.jobs) as pool:
            todo = [pool.submit(measured, *key) for key in missing]
            for done in as_completed(todo):
                cell = done.result()
                kept.add(cell)
                shown = f"{np.mean(cell['loss']):.4f} {np.mean(cell['accuracy']):.4f}"
                where = f"{cell['table']:10} {cell['relation']:12} {cell['epsilon']:<4g}"
                print(f"{where} {cell['contender']:36} {shown}  {cell['setting']}", flush=True)
    page.write()


if __name__ == "__main__":
    main()
