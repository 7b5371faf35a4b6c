"""Every contender at every epsilon on one task; finished cells are kept, so a contest can be interrupted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.contenders import Contender
from benchmarks.task import Task
from sottovoce.planning import bench

Cell = dict[str, Any]
RESULTS = Path(__file__).parent / "results"


class Kept:
    """Finished cells in a JSON file, each written as soon as it is there, with machine and date."""

    def __init__(self, name: str) -> None:
        self._path = RESULTS / f"{name}.json"
        self.cells: list[Cell] = json.loads(self._path.read_text())["cells"] if self._path.exists() else []

    def has(self, **key: object) -> bool:
        return any(all(cell.get(name) == value for name, value in key.items()) for cell in self.cells)

    def forget(self, contenders: Sequence[str]) -> None:
        """Measure these again."""
        self.cells = [cell for cell in self.cells if cell["contender"] not in contenders]

    def add(self, cell: Cell) -> None:
        self.cells.append(cell)
        facts = {"measured": time.strftime("%Y-%m-%d %H:%M"), **bench.machine(), "cells": self.cells}
        RESULTS.mkdir(exist_ok=True)
        spare = self._path.with_suffix(".part")
        spare.write_text(json.dumps(facts, indent=1) + "\n")
        spare.replace(self._path)


def stored(name: str) -> dict[str, Any]:
    """What was measured, with machine and date."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def hold(
    kept: Kept,
    task: Task,
    contenders: Sequence[Contender],
    epsilons: Iterable[float],
    seeds: Sequence[int],
    trials: int,
) -> None:
    """Fill the missing cells and print each; settings are compared on the first `trials` of the seeds."""
    for epsilon in epsilons:
        for contender in contenders:
            if kept.has(contender=contender.name, epsilon=epsilon):
                continue
            cell = measure(task, contender, epsilon, seeds, trials)
            kept.add(cell)
            mean = sum(cell["excess"]) / len(seeds)
            shown = f"{mean:.5f} worst {max(cell['excess']):.5f}, {cell['passes']} passes"
            print(f"epsilon {epsilon:<5g} {contender.name:28} excess {shown}, {cell['setting']}", flush=True)


def measure(task: Task, contender: Contender, epsilon: float, seeds: Sequence[int], trials: int) -> Cell:
    """The contender at its best setting: exact figures by seed, most passes and mean seconds of a fit."""
    settings = contender.settings(epsilon)
    fits: dict[tuple[str, int], tuple[Any, int, float]] = {}

    def fitted(name: str, seed: int) -> tuple[Any, int, float]:
        if (name, seed) not in fits:
            began = time.perf_counter()
            w, passes = contender.fit(task, epsilon, settings[name], seed)
            fits[name, seed] = w, passes, time.perf_counter() - began
        return fits[name, seed]

    def mean_excess(name: str) -> float:
        return sum(task.excess(fitted(name, seed)[0]) for seed in seeds[:trials]) / trials

    tried = {name: mean_excess(name) for name in settings}
    best = min(tried, key=lambda name: tried[name])
    runs = [fitted(best, seed) for seed in seeds]
    judged = [task.judge(w) for w, _, _ in runs]
    return {
        "contender": contender.name,
        "promise": contender.promise,
        "epsilon": epsilon,
        "setting": best,
        "tried": tried,
        "seeds": list(seeds),
        **{figure: [found[figure] for found in judged] for figure in judged[0]},
        "passes": max(passes for _, passes, _ in runs),
        "seconds": sum(seconds for _, _, seconds in runs) / len(runs),
    }
