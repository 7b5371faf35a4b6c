"""Who takes part. Each rival is tuned by the exact loss on rows held out, which is not charged.

Neighbours under zero-out are half as far apart: a clipped gradient moves by its clip C, not by 2 C. Noise of
full passes follows mu of Gaussian DP; of Poisson batches dp-accounting's privacy loss distributions, whose
pair under replacement is q N(1) + (1-q) N(0) against q N(-1) + (1-q) N(0) (see benchmarks.sgd)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import sottovoce as sv
from benchmarks.leaderboard.tables import Board
from benchmarks.sgd import ADD_OR_REMOVE, REPLACE, noise_scale
from sottovoce.accounting.gdp import mu_of

CLIPS = (1 / 16, 1 / 4, 1.0)
RATES = tuple(4.0**power for power in range(-1, 6))
MOMENTA = (0.0, 0.9)
STEPS = (5, 15, 50, 150)
EPOCHS = 10
CHARGED = 6
RIDGE = 1e-6
FREE = "free"

Judged = list[tuple[float, float]]
Setting = tuple[float, ...]


@dataclass(frozen=True)
class Question:
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


Outcome = tuple[Judged, str]
Contender = Callable[[Question, Sequence[int]], Outcome]


def ours(method: str) -> Contender:
    def fit(asked: Question, seeds: Sequence[int]) -> Outcome:
        risk = asked.board.risk()
        runs = [sv.minimize(risk, budget=asked.budget, method=method, simulate=seed) for seed in seeds]
        return [asked.board.judge(run.weights) for run in runs], "untuned"

    return fit


def full_passes(asked: Question, seeds: Sequence[int]) -> Outcome:
    """DP gradient descent: the best of every clip, rate, momentum, number of steps and kind of end."""
    best = min((_tried(asked, steps, asked.mu) for steps in STEPS), key=lambda tried: tried[0])
    _, steps, setting, end = best
    return _descended(asked, steps, [setting], seeds, asked.mu)[0][end], _said(steps, setting, end)


def _tried(asked: Question, steps: int, mu: float) -> tuple[float, int, Setting, int]:
    grid = list(itertools.product(CLIPS, RATES, MOMENTA))
    found = _descended(asked, steps, grid, [1], mu)
    losses = np.array([[ends[0][0][0], ends[1][0][0]] for ends in found])
    place, end = np.unravel_index(int(np.argmin(losses)), losses.shape)
    return float(losses[place, end]), steps, grid[int(place)], int(end)


def charged_passes(asked: Question, seeds: Sequence[int]) -> Outcome:
    """As above, but each of six settings drawn at random pays: mu over root six for each, the best kept."""
    every = list(itertools.product(STEPS, itertools.product(CLIPS, RATES, MOMENTA)))
    kept: Judged = []
    for seed in seeds:
        drawn = np.random.default_rng(500 + seed).choice(len(every), CHARGED, replace=False)
        runs = [
            _descended(asked, every[i][0], [every[i][1]], [seed], asked.mu / math.sqrt(CHARGED))[0][1][0]
            for i in drawn
        ]
        kept.append(min(runs))
    return kept, f"best of {CHARGED} drawn, each charged"


def batches(asked: Question, seeds: Sequence[int]) -> Outcome:
    """DP-SGD: Poisson batches, ten epochs; the best of every clip, rate, momentum and kind of end."""
    grid = list(itertools.product(CLIPS, RATES, MOMENTA))
    found = _stochastic(asked, grid, [1])
    losses = np.array([[ends[0][0][0], ends[1][0][0]] for ends in found])
    place, end = np.unravel_index(int(np.argmin(losses)), losses.shape)
    setting = grid[int(place)]
    return _stochastic(asked, [setting], seeds)[0][int(end)], _said(EPOCHS, setting, int(end), "epochs")


def newton(asked: Question, seeds: Sequence[int]) -> Outcome:
    """Double-noise Newton (Ganesh et al. 2023), written here: noise on gradient and Hessian, floored."""
    grid = list(itertools.product((2, 4, 8), (0.5, 1.0, 2.0, 4.0)))
    tried = {setting: _newton(asked, setting, 1)[0] for setting in grid}
    best = min(tried, key=lambda setting: tried[setting])
    return [_newton(asked, best, seed) for seed in seeds], f"{best[0]} steps, floor {best[1]:g}"


def _newton(asked: Question, setting: tuple[int, float], seed: int) -> tuple[float, float]:
    (steps, floor), board, risk = setting, asked.board, asked.board.risk()
    share, dim = asked.mu / math.sqrt(2 * steps), board.X.shape[1]
    gradient_scale = asked.apart / board.n / share
    hessian_scale = (math.sqrt(2.0) if asked.apart == 2.0 else 1.0) / 4.0 / board.n / share
    rng, w = np.random.default_rng(9000 + seed), np.zeros(dim)
    for _ in range(steps):
        noise = rng.standard_normal((dim, dim))
        values, vectors = np.linalg.eigh(risk.hessian(w) + hessian_scale * (noise + noise.T) / 2.0)
        values = np.maximum(values, floor * hessian_scale * math.sqrt(2.0 * dim))
        noisy = risk.gradient(w) + gradient_scale * rng.standard_normal(dim)
        w = w - vectors @ ((vectors.T @ noisy) / values)
    return board.judge(w)


def _descended(
    asked: Question, steps: int, grid: Sequence[Setting], seeds: Sequence[int], mu: float
) -> list[tuple[Judged, Judged]]:
    """For every setting, judged by seed: the last iterate, and the mean of the last half."""
    board = asked.board
    clip = np.array([setting[0] for setting in grid])
    scale = asked.apart * clip * math.sqrt(steps) / (board.n * mu)
    signed = board.X * board.y[:, None].astype(np.float32)

    def gradient(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return _clipped_sum(signed, w, clip) / board.n + scale * rng.standard_normal(w.shape)

    return [*_flights(asked, grid, gradient, steps, seeds)]


def _stochastic(
    asked: Question, grid: Sequence[Setting], seeds: Sequence[int]
) -> list[tuple[Judged, Judged]]:
    board = asked.board
    size = min(2048, board.n // 8)
    steps = math.ceil(EPOCHS * board.n / size)
    promise = REPLACE if asked.apart == 2.0 else ADD_OR_REMOVE
    multiplier = noise_scale(asked.epsilon, board.delta, size / board.n, steps, promise)
    clip = np.array([setting[0] for setting in grid])
    signed = board.X * board.y[:, None].astype(np.float32)

    def gradient(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = rng.choice(board.n, rng.binomial(board.n, size / board.n), replace=False, shuffle=False)
        noise = multiplier * clip * rng.standard_normal(w.shape)
        return (_clipped_sum(signed[drawn], w, clip) + noise) / size

    return [*_flights(asked, grid, gradient, steps, seeds)]


def _clipped_sum(signed: np.ndarray, w: np.ndarray, clip: np.ndarray) -> np.ndarray:
    """Sum of gradients, each clipped, for every column of w."""
    lengths = np.maximum(np.linalg.norm(signed, axis=1), 1e-9)
    slopes = 1.0 / (1.0 + np.exp(np.clip(signed @ w.astype(np.float32), -30.0, 30.0)))
    slopes = np.minimum(slopes, (clip / lengths[:, None]).astype(np.float32))
    return np.asarray(-(signed.T @ slopes), dtype=np.float64)


def _flights(asked: Question, grid: Any, gradient: Any, steps: int, seeds: Sequence[int]) -> Any:
    rate, momentum = (np.array([setting[i] for setting in grid]) for i in (1, 2))
    clip = np.array([setting[0] for setting in grid])
    length = rate * np.where(momentum > 0.0, 0.1, 1.0) * np.sqrt(15.0 / steps / clip)
    found: list[tuple[Judged, Judged]] = [([], []) for _ in grid]
    for seed in seeds:
        rng = np.random.default_rng(9000 + seed)
        w = np.zeros((asked.board.X.shape[1], len(grid)))
        velocity, mean = np.zeros_like(w), np.zeros_like(w)
        for step in range(steps):
            velocity = momentum * velocity + gradient(w, rng) + RIDGE * w
            w = w - length * velocity
            if step >= steps // 2:
                mean += w / (steps - steps // 2)
        for place, (last, averaged) in enumerate(zip(w.T, mean.T, strict=True)):
            found[place][0].append(asked.board.judge(last))
            found[place][1].append(asked.board.judge(averaged))
    return found


def _said(steps: int, setting: Setting, end: int, unit: str = "steps") -> str:
    clip, rate, momentum = setting
    return f"{steps} {unit}, clip {clip:g}, rate {rate:g}, momentum {momentum:g}, {('last', 'mean')[end]}"


CONTENDERS: dict[str, Contender] = {
    "sottovoce (default)": ours("auto"),
    "sottovoce majorize": ours("majorize"),
    "DP-GD, tuned for free": full_passes,
    "DP-SGD, tuned for free": batches,
    "double-noise Newton, tuned for free": newton,
    "DP-GD, tuning charged": charged_passes,
}
