"""Losses under wrong labels: logistic against the nonconvex sigmoid and Savage, accuracy on clean rows.

Labels of the training rows are flipped, those held out are not. `majorize` with its defaults, L2 1e-6 for
every loss, three seeds, which also draw the flips. Part of `python -m benchmarks.study`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

import sottovoce as sv
from benchmarks.contest import Cell, Kept
from benchmarks.task import RIDGE, Task, accuracy

RATES = (0.0, 0.1, 0.2, 0.3)
EPSILONS = (1.0, 0.2)
LOSSES: dict[str, sv.losses.Loss] = {
    "logistic": sv.losses.Logistic(),
    "Savage": sv.losses.Savage(),
    "sigmoid": sv.losses.Sigmoid(),
}


def at_random(task: Task, chance: np.ndarray, rate: float) -> np.ndarray:
    """Any label, with this chance."""
    return np.less(chance, rate)


def one_class(task: Task, chance: np.ndarray, rate: float) -> np.ndarray:
    """This part of the spruce rows is called pine; no pine row is touched."""
    return (task.y > 0) & (chance < rate)


def surest(task: Task, chance: np.ndarray, rate: float) -> np.ndarray:
    """An adversary's choice: only rows that the exact logistic model has right and is surest of, a half."""
    margins = task.signed @ task.best[0]
    return (margins > np.median(margins)) & (chance < 2.0 * rate)


FLIPS: dict[str, Callable[[Task, np.ndarray, float], np.ndarray]] = {
    "at random": at_random,
    "one class": one_class,
    "surest half": surest,
}


def hold(kept: Kept, task: Task, seeds: Sequence[int]) -> None:
    """Fill the missing cells and print each; without noise all kinds of flips are one."""
    for epsilon, kind, rate in product(EPSILONS, FLIPS, RATES):
        cell: Cell = {"flips": kind, "rate": rate, "epsilon": epsilon}
        missing = [loss for loss in LOSSES if not kept.has(**cell, loss=loss)]
        if not missing or (rate == 0.0 and kind != "at random"):
            continue
        held = {seed: _records(task, FLIPS[kind], rate, seed) for seed in seeds}
        for loss in missing:
            found = [_accuracy(task, held[seed], LOSSES[loss], epsilon, seed) for seed in seeds]
            kept.add({**cell, "loss": loss, "seeds": list(seeds), "accuracy": found})
            print(f"{kind} {rate:g}, {loss}, epsilon {epsilon:g}: {np.mean(found):.4f}", flush=True)


def _records(task: Task, flips: Callable[..., np.ndarray], rate: float, seed: int) -> sv.Records:
    chance = np.random.default_rng(seed).random(task.n)
    labels = np.where(flips(task, chance, rate), -task.y, task.y)
    return sv.Records.from_arrays(task.X, labels, labels=(-1, 1))


def _accuracy(task: Task, held: sv.Records, loss: sv.losses.Loss, epsilon: float, seed: int) -> float:
    risk = sv.Risk(held, loss, sv.regularizers.L2(RIDGE))
    result = sv.minimize(risk, budget=sv.Budget(epsilon=epsilon, delta=task.delta), simulate=seed)
    return accuracy(task.test_rows, task.test_signs, result.weights)
