"""What a contender is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

import sottovoce as sv
from sottovoce.accounting.gdp import mu_of

TRIALS = (1,)
"""The seeds that compare a rival's settings; none of those that are shown."""
KEPT = 4
"""Settings, of those that the trials compare, that are tried on the seeds shown."""

Judged = list[tuple[float, float]]
Outcome = tuple[Judged, str]
Setting = TypeVar("Setting")


class Board(Protocol):
    """Rows of norm at most 1 and rows held out.

    `judge` says loss and share told right there, exactly, so for public tables only; `clipped_sum` is the sum
    of the chosen records' gradients, each shortened to its clip, for every column of w."""

    @property
    def name(self) -> str: ...
    @property
    def X(self) -> np.ndarray: ...  # noqa: N802
    @property
    def y(self) -> np.ndarray: ...
    @property
    def delta(self) -> float: ...
    @property
    def n(self) -> int: ...
    def risk(self) -> sv.Risk: ...
    def clipped_sum(self, chosen: Any, w: np.ndarray, clip: np.ndarray) -> np.ndarray: ...
    def judge(self, w: np.ndarray) -> tuple[float, float]: ...


@dataclass(frozen=True)
class Query:
    """One cell: a table, an epsilon, a relation."""

    board: Board
    epsilon: float
    relation: str

    @property
    def budget(self) -> sv.Budget:
        return sv.Budget(self.epsilon, self.board.delta, self.relation)

    @property
    def mu(self) -> float:
        return mu_of(self.epsilon, self.board.delta)

    @property
    def apart(self) -> float:
        """How far a replaced or nulled record moves a sum of vectors of norm at most 1."""
        return 2.0 if self.relation == "replace-one" else 1.0


Contender = Callable[[Query, Sequence[int]], Outcome]


def ours(asked: Query, seeds: Sequence[int]) -> Outcome:
    """The default method, untuned."""
    risk = asked.board.risk()
    runs = [sv.minimize(risk, budget=asked.budget, simulate=seed) for seed in seeds]
    return [asked.board.judge(run.weights) for run in runs], runs[0].method


def tuned(
    asked: Query,
    grid: Sequence[Setting],
    fit: Callable[[Setting, int], list[np.ndarray]],
    seeds: Sequence[int],
    kept: int = KEPT,
) -> tuple[Judged, Setting, int]:
    """Figures by seed at the best setting, the setting, and which of the weights it returns.

    The trials choose a few; of these the least mean loss on the very seeds shown. Nothing is charged."""
    judge = asked.board.judge
    losses = [[[judge(w)[0] for w in fit(setting, seed)] for seed in TRIALS] for setting in grid]
    chosen = shortlist(np.mean(losses, axis=1), kept)
    shown = [[judge(fit(grid[place], seed)[end]) for seed in seeds] for place, end in chosen]
    best = least(shown)
    return shown[best], grid[chosen[best][0]], chosen[best][1]


def shortlist(losses: np.ndarray, kept: int = KEPT) -> list[tuple[int, int]]:
    """Places of the least entries of a matrix, those that are no number last."""
    order = np.argsort(np.where(np.isfinite(losses), losses, np.inf), axis=None)[:kept]
    rows, columns = np.unravel_index(order, losses.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def least(judged: Sequence[Judged]) -> int:
    """Which has the least mean loss."""
    means = [float(np.mean([loss for loss, _ in each])) for each in judged]
    return int(np.nanargmin(means))
