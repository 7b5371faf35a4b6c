"""DP gradient descent and DP-SGD with clipped gradients, tuned for free: the rivals of benchmarks.adapt.

One epsilon buys mu; K full-batch steps get noise 2 C sqrt(K)/(n mu) under replacement of one record. Poisson
batches get the noise that dp-accounting asks for under the same relation. Every setting of a grid is run at
once on three seeds, the best by the exact figure is judged on five others. What was found is kept in
benchmarks/results/adapt-rivals.json: a change of our method needs no rival anew.

    python -m benchmarks.adapt_rival        all cells of the small tables"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import sottovoce as sv
from benchmarks.adapt_problems import SMALL, SMALL_EPSILONS, Table, small
from benchmarks.sgd import REPLACE, noise_scale

KEPT = Path(__file__).parent / "results" / "adapt-rivals.json"
STEPS = (1, 5, 15, 50, 150)
CLIPS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
RATES = tuple(2.0**power for power in range(-1, 8))
MOMENTA = (0.0, 0.9)
BATCHES = ((0.1, 100), (0.3, 50))
"""Chances of a record to be drawn, and steps."""


def rivals(task: Table, epsilon: float, figure: str) -> dict[str, object]:
    """Both rivals on a table and the standard error of each, from the file if they are in it."""
    found: dict[str, object] = {}
    for name, tune in (("DP-GD", tuned), ("DP-SGD", tuned_batches)):
        key = f"{task.name}, {epsilon:g}, {name}, {figure}"
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        if f"{key}, error" not in kept:
            kept[key], kept[f"{key}, error"] = tune(task, epsilon, figure)
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        found |= {name: kept[key], f"{name}, error": kept[f"{key}, error"]}
    return found


def tuned(task: Table, epsilon: float, figure: str) -> tuple[float, float]:
    """Mean of the figure over five fresh seeds at the best setting of DP gradient descent, and its error."""
    budget = sv.Budget(epsilon=epsilon, delta=task.delta)
    mu = np.sqrt(sv.Ledger(budget).run(budget).mu_squared_left)
    return _best(task, [(1.0, steps, 2.0 * np.sqrt(steps) / mu) for steps in STEPS], figure)


def tuned_batches(task: Table, epsilon: float, figure: str) -> tuple[float, float]:
    """The same for DP-SGD: noise on a batch's sum of vectors, in units of the clipping norm."""
    plans = [
        (chance, steps, noise_scale(epsilon, task.delta, chance, steps, REPLACE)) for chance, steps in BATCHES
    ]
    return _best(task, plans, figure)


def _best(task: Table, plans: list[tuple[float, int, float]], figure: str) -> tuple[float, float]:
    best: tuple[float, tuple[float, int, float], tuple[float, ...], int] | None = None
    for plan in plans:
        grid = list(itertools.product(CLIPS, RATES, MOMENTA if plan[1] > 1 else (0.0,)))
        reached = _judged(task, plan, grid, range(3), figure).mean(axis=0)
        place, averaged = np.unravel_index(int(np.argmin(reached)), reached.shape)
        if best is None or reached[place, averaged] < best[0]:
            best = float(reached[place, averaged]), plan, grid[place], int(averaged)
    assert best is not None
    fresh = _judged(task, best[1], [best[2]], range(100, 105), figure)[:, 0, best[3]]
    return float(fresh.mean()), float(fresh.std(ddof=1) / np.sqrt(fresh.size))


def _judged(
    task: Table, plan: tuple[float, int, float], grid: Sequence[tuple[float, ...]], seeds: range, figure: str
) -> np.ndarray:
    """The figure for every seed and setting, at the last iterate and at the mean of the last half."""
    chance, steps, scale = plan
    clip, rate, momentum = (np.array(column, dtype=np.float32) for column in zip(*grid, strict=True))
    rate = rate * np.where(momentum > 0.0, 0.1, 1.0) * np.sqrt(15.0 / steps / clip)
    signed = task.X * task.y[:, None].astype(np.float32)
    lengths = np.maximum(np.linalg.norm(task.X, axis=1), 1e-9).astype(np.float32)
    found = np.zeros((len(seeds), len(grid), 2))
    for run, seed in enumerate(seeds):
        rng = np.random.default_rng(9000 + seed)
        w = np.zeros((task.X.shape[1], len(grid)), dtype=np.float32)
        velocity, mean = np.zeros_like(w), np.zeros_like(w)
        for step in range(steps):
            drawn = slice(None) if chance == 1.0 else rng.random(task.n) < chance
            rows = signed[drawn]
            slopes = 1.0 / (1.0 + np.exp(np.clip(rows @ w, -30.0, 30.0)))
            slopes = np.minimum(slopes, clip / lengths[drawn, None])
            noise = rng.standard_normal(w.shape) * (scale * clip)
            gradient = (noise - rows.T @ slopes) / (chance * task.n) + 1e-6 * w
            velocity = (momentum * velocity + gradient).astype(np.float32)
            w = (w - rate * velocity).astype(np.float32)
            if step >= steps // 2:
                mean += w / (steps - steps // 2)
        for place, held in enumerate((w, mean)):
            found[run, :, place] = [task.judge(column.astype(np.float64))[figure] for column in held.T]
    return found


def main() -> None:
    for name in SMALL:
        task = small(name)
        for epsilon in SMALL_EPSILONS:
            print(name, epsilon, rivals(task, epsilon, "loss"), flush=True)


if __name__ == "__main__":
    main()
