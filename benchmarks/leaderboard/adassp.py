"""AdaSSP (Wang 2018), written here: noisy second moments, and a ridge where the least eigenvalue is small.

The squares X'X move by a Frobenius norm of 1 when a record is nulled and by sqrt(2) when it is replaced, X'y
by 1 and 2, the least eigenvalue by 1 under both. Each gets a third of mu^2; the paper gives each a third of
epsilon and delta, which is more noise for the same promise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmarks.leaderboard.query import Outcome, Query, tuned

FACTORS = (1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256)
"""Of the paper's ridge, which is made for the worst case."""
FAILURE = 0.05


def scales(asked: Query) -> tuple[float, float, float]:
    """Noise on the least eigenvalue, on X'X and on X'y."""
    share = asked.mu / math.sqrt(3.0)
    return 1.0 / share, math.sqrt(asked.apart) / share, asked.apart / share


def adaptive(asked: Query, seeds: Sequence[int]) -> Outcome:
    board = asked.board
    rows = board.X.astype(np.float64)
    squares, products, dim = rows.T @ rows, rows.T @ board.y, board.X.shape[1]
    least, of_squares, of_products = scales(asked)
    smallest = float(np.linalg.eigvalsh(squares)[0])

    def fit(factor: float, seed: int) -> list[np.ndarray]:
        rng = np.random.default_rng(9000 + seed)
        sure = max(0.0, smallest + least * (rng.standard_normal() - math.sqrt(2.0 * math.log(6.0 / FAILURE))))
        needed = factor * of_squares * math.sqrt(dim * math.log(2.0 * dim**2 / FAILURE))
        upper = np.triu(rng.standard_normal((dim, dim)))
        noisy = squares + of_squares * (upper + np.triu(upper, 1).T)
        ridge = max(0.0, needed - sure) * np.eye(dim)
        return [np.linalg.solve(noisy + ridge, products + of_products * rng.standard_normal(dim))]

    judged, factor, _ = tuned(asked, FACTORS, fit, seeds)
    return judged, f"{factor:g} of the paper's ridge"
