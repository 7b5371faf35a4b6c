"""Processor time of an epoch of private steps beside Opacus, the same batches and networks, one thread.

    OMP_NUM_THREADS=1 python -m benchmarks.torch_speed PYTHON [--tables adult] [--rounds 3] [--modes ew,ghost]

Adult with one hidden layer of 64 and batches of 512, 10,000 images of Fashion-MNIST with a small CNN and
batches of 256; Poisson batches, zero-out. PYTHON has Opacus. Ours is what `fit_torch` does in an epoch:
batches drawn, charged, summed, exact noise, Adam's step. Opacus runs in each of its modes, with batches
handed over as tensors, which flatters it, and by its own loader; its noise is PyTorch's, not exact.
`ours, packed` fills calls one example after the other, which is not private: it says what places cost.
Processes take turns; the median over epochs and rounds is told, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

import sottovoce as sv
from benchmarks.fit_torch import network, table

BATCH = {"adult": 512, "fashion": 256}
MODES = ("hooks", "functorch", "ew", "ghost")
EPOCHS = 3


def ours(data: dict[str, np.ndarray], simulate: int | None) -> dict[str, Any]:
    """Seconds of each epoch: the steps of `ClippedAdam`, after a first epoch that is not counted."""
    import torch

    from sottovoce.methods.base import State
    from sottovoce.methods.clipped_adam import AdamState, ClippedAdam
    from sottovoce.privacy.noise import entropy_for, noise_for
    from sottovoce.privacy.oracle import Oracle
    from sottovoce.results.certificate import Levels

    torch.set_num_threads(1)

    def loss(outputs: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(outputs, targets, reduction="none")

    size, n = int(data["batch"]), len(data["y"])
    risk = sv.autodiff.TorchRisk(network(data, 0), loss, (data["X"], data["y"]), dtype=torch.float32)
    steps = -(-n // size)
    method = ClippedAdam(steps=steps * (EPOCHS + 1), passes=EPOCHS + 1.0)
    budget = sv.Budget(3.0, 1e-5, "zero-out")
    run = sv.Ledger(budget, currency="renyi", order=8).run(budget)
    oracle = Oracle(risk, run, noise_for(simulate), entropy=entropy_for(simulate))
    levels = Levels(confidence=0.99, gradient_tests=1, curvature_tested=False)
    state = State(ask=oracle, levels=levels, w=risk.start, watch=lambda row: None)
    walk = AdamState(method, oracle.batched(size), oracle.units_left // method.steps, 1.0, risk.start)
    seconds = []
    for _ in range(EPOCHS + 1):
        begun = time.process_time()
        for _ in range(steps):
            walk.advance(state)
        seconds.append(time.process_time() - begun)
    return {
        "seconds": seconds[1:],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def packed(data: dict[str, np.ndarray], simulate: int | None) -> dict[str, Any]:
    """The same with examples at the next free place of a call, whoever else is there."""
    from sottovoce.data import places

    at = places.calls
    with mock.patch.object(places, "calls", lambda numbers, length: at(np.arange(len(numbers)), length)):
        return ours(data, simulate)


def measured(name: str, python: str, rounds: int, modes: list[str]) -> dict[str, dict[str, list[float]]]:
    """Of each way, seconds of all epochs and peaks of all rounds."""
    data = table(name, Path())
    held = {"X": data["X"], "y": data["y"], "batch": np.array(BATCH[name])}
    found: dict[str, dict[str, list[float]]] = {}
    # Only the root is on the rival's path: in this folder are modules named like some of Python's own.
    rival = [python, "-P", "-m", "benchmarks.torch_speed_process"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", allow_pickle=False, **held)
        own = [sys.executable, "-m", "benchmarks.torch_speed", "--within", folder]
        ways = {
            "ours": own,
            "ours, noise simulated": [*own, "--simulate"],
            "ours, packed": [*own, "--packed"],
            **{f"Opacus, {mode}": [*rival, folder, mode, str(EPOCHS)] for mode in modes if python},
        }
        for _ in range(rounds):
            for way, command in ways.items():
                held_by = environment if way.startswith("Opacus") else os.environ
                ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=held_by)
                for figure, values in json.loads(ran.stdout).items():
                    kept = found.setdefault(way, {}).setdefault(figure, [])
                    kept.extend(values if isinstance(values, list) else [values])
    return found


def page(name: str, found: dict[str, dict[str, list[float]]]) -> str:
    """Medians, and the ratios to the fastest mode."""
    middle = {way: {figure: median(values) for figure, values in held.items()} for way, held in found.items()}
    lines = [f"{name}: seconds, by its loader, peak MB"]
    for way, held in middle.items():
        loaded = f"{held['by its loader']:.3f}" if "by its loader" in held else "-"
        lines.append(f"  {way:24} {held['seconds']:.3f}  {loaded:>6}  {held['peak']:.0f}")
    rivals = [held for way, held in middle.items() if way.startswith("Opacus")]
    for figure in ("seconds", "by its loader") if rivals else ():
        fastest = min(held[figure] for held in rivals)
        ratios = (f"{way} {middle[way]['seconds'] / fastest:.2f}" for way in middle if way.startswith("ours"))
        lines.append(f"  over the fastest, {figure}: {', '.join(ratios)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_speed", description=__doc__)
    parser.add_argument("python", nargs="?", default="")
    parser.add_argument("--tables", default="adult,fashion")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--simulate", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--packed", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.within:
        with np.load(asked.within / "data.npz") as stored:
            run = packed if asked.packed else ours
            print(json.dumps(run(dict(stored), 0 if asked.simulate else None)))
        return
    for name in asked.tables.split(","):
        print(page(name, measured(name, asked.python, asked.rounds, asked.modes.split(","))), flush=True)


if __name__ == "__main__":
    main()
