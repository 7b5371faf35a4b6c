"""Noisy descents written here: full passes, Poisson batches, and double-noise Newton steps.

Neighbours under zero-out are half as far apart: a clipped gradient moves by its clip C, not by 2 C. Noise of
full passes follows mu of Gaussian DP; of Poisson batches dp-accounting's privacy loss distributions, whose
pair under replacement is q N(1) + (1-q) N(0) against q N(-1) + (1-q) N(0) (see benchmarks.sgd)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.leaderboard.query import TRIALS, Judged, Outcome, Query, least, shortlist, tuned
from benchmarks.sgd import ADD_OR_REMOVE, REPLACE, noise_scale

CLIPS = (1 / 4, 1.0)
RATES = tuple(4.0**power for power in range(6))
MOMENTA = (0.0, 0.9)
STEPS = (15, 80)
EPOCHS = 10
CHARGED = 6
RIDGE = 1e-6

Setting = tuple[float, ...]
Ends = list[tuple[Judged, Judged]]
"""For every setting, judged by seed: the last iterate, and the mean of the last half."""


def full_passes(asked: Query, seeds: Sequence[int]) -> Outcome:
    """DP gradient descent: the best of every clip, rate, momentum, number of steps and kind of end."""
    tried = [
        _tuned(lambda grid, own, steps=steps: _descended(asked, steps, grid, own), seeds) for steps in STEPS
    ]
    best = least([judged for judged, _, _ in tried])
    judged, setting, end = tried[best]
    return judged, _said(f"{STEPS[best]} steps", setting, end)


def _tuned(fly: Callable[..., Ends], seeds: Sequence[int]) -> tuple[Judged, Setting, int]:
    """As `query.tuned`, all settings of the grid at once."""
    grid = list(itertools.product(CLIPS, RATES, MOMENTA))
    losses = np.array(
        [[np.mean([loss for loss, _ in judged]) for judged in ends] for ends in fly(grid, TRIALS)]
    )
    chosen = shortlist(losses)
    found = fly([grid[place] for place, _ in chosen], seeds)
    shown = [ends[end] for ends, (_, end) in zip(found, chosen, strict=True)]
    best = least(shown)
    return shown[best], grid[chosen[best][0]], chosen[best][1]


def charged_passes(asked: Query, seeds: Sequence[int]) -> Outcome:
    """As above, but each of six settings drawn at random pays: mu over root six for each, the best kept."""
    every = list(itertools.product(STEPS, itertools.product(CLIPS, RATES, MOMENTA)))
    kept: Judged = []
    for seed in seeds:
        drawn = np.random.default_rng(500 + seed).choice(len(every), CHARGED, replace=False)
        runs = [
            _descended(asked, every[i][0], [every[i][1]], [seed], 1.0 / math.sqrt(CHARGED))[0][1][0]
            for i in drawn
        ]
        kept.append(min(runs))
    return kept, f"best of {CHARGED} drawn, each charged"


def batches(asked: Query, seeds: Sequence[int]) -> Outcome:
    """DP-SGD: Poisson batches of 2,048, ten epochs; the best clip, rate, momentum and kind of end."""
    judged, setting, end = _tuned(lambda grid, own: _stochastic(asked, grid, own), seeds)
    return judged, _said(f"{EPOCHS} epochs", setting, end)


def newton(asked: Query, seeds: Sequence[int]) -> Outcome:
    """Double-noise Newton (Ganesh et al. 2023), written here: noise on gradient and Hessian, floored."""
    grid = list(itertools.product((3, 6, 12), (0.5, 1.0, 2.0)))
    judged, (steps, floor), _ = tuned(
        asked, grid, lambda setting, seed: [_newton(asked, setting, seed)], seeds
    )
    return judged, f"{steps} steps, floor {floor:g}"


def _newton(asked: Query, setting: tuple[int, float], seed: int) -> np.ndarray:
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
    return w


def _descended(
    asked: Query, steps: int, grid: Sequence[Setting], seeds: Sequence[int], share: float = 1.0
) -> Ends:
    """With this share of mu."""
    board = asked.board
    clip = np.array([setting[0] for setting in grid])
    scale = asked.apart * clip * math.sqrt(steps) / (board.n * share * asked.mu)

    def gradient(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return board.clipped_sum(slice(None), w, clip) / board.n + scale * rng.standard_normal(w.shape)

    return _flights(asked, grid, gradient, steps, seeds)


def _stochastic(asked: Query, grid: Sequence[Setting], seeds: Sequence[int]) -> Ends:
    board = asked.board
    size = min(2048, board.n // 8)
    steps = math.ceil(EPOCHS * board.n / size)
    promise = REPLACE if asked.apart == 2.0 else ADD_OR_REMOVE
    multiplier = noise_scale(asked.epsilon, board.delta, size / board.n, steps, promise)
    clip = np.array([setting[0] for setting in grid])

    def gradient(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = rng.choice(board.n, rng.binomial(board.n, size / board.n), replace=False, shuffle=False)
        noise = multiplier * clip * rng.standard_normal(w.shape)
        return (board.clipped_sum(drawn, w, clip) + noise) / size

    return _flights(asked, grid, gradient, steps, seeds)


def _flights(asked: Query, grid: Any, gradient: Any, steps: int, seeds: Sequence[int]) -> Ends:
    rate, momentum = (np.array([setting[i] for setting in grid]) for i in (1, 2))
    clip = np.array([setting[0] for setting in grid])
    length = rate * np.where(momentum > 0.0, 0.1, 1.0) * np.sqrt(15.0 / steps / clip)
    found: Ends = [([], []) for _ in grid]
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


def _said(length: str, setting: Setting, end: int) -> str:
    clip, rate, momentum = setting
    return f"{length}, clip {clip:g}, rate {rate:g}, momentum {momentum:g}, {('last', 'mean')[end]}"
