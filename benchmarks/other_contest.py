"""`python -m benchmarks.other_contest FOLDER`: the default against tuned rivals on tables that chose nothing.

FOLDER is that of `benchmarks.other_tables`. Rows, rivals and their grids are those of the leaderboard,
replacement of one record; log loss on rows held out, mean and standard error of four seeds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.leaderboard.contenders import CLASSIFIERS
from benchmarks.leaderboard.query import Query
from benchmarks.leaderboard.tables import given

EPSILONS = (0.1, 0.3, 1.0, 3.0)
SEEDS = range(6000, 6004)
TAKING_PART = ("sottovoce (default)", "DP-GD, tuned for free", "DP-SGD, tuned for free")


def rows(schema: Path) -> Iterator[str]:
    board = given(f"{schema.stem}={schema.with_suffix('.csv')}:{schema}")
    exact = LogisticRegression(C=1e6, max_iter=5000, fit_intercept=False).fit(board.X, board.y)
    without = board.judge(exact.coef_[0])[0]
    for epsilon in EPSILONS:
        cells = []
        for name in TAKING_PART:
            judged, _ = CLASSIFIERS[name](Query(board, epsilon, "replace-one"), list(SEEDS))
            losses = np.array([loss for loss, _ in judged])
            cells.append(f"{losses.mean():.4f} ({losses.std(ddof=1) / np.sqrt(losses.size):.4f})")
        yield f"| {board.name}, {board.n:,} | {epsilon:g} | {' | '.join(cells)} | {without:.4f} |"


def main() -> None:
    print(f"| table, records | epsilon | {' | '.join(TAKING_PART)} | not private |")
    print("| --- " * (len(TAKING_PART) + 3) + "|")
    for schema in sorted(Path(sys.argv[1]).glob("*.toml")):
        for row in rows(schema):
            print(row, flush=True)


if __name__ == "__main__":
    main()
