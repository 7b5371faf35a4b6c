"""How many steps `fit_torch` should take where weights are many for the examples.

    python -m benchmarks.fit_torch_steps [--cases "digits;images"] [--seeds 1] [--whole 0.95] [--table]

Data that no other table of `benchmarks.fit_torch` shows: scikit-learn's digits, with one hidden layer and,
as pictures, with a small CNN, and breast cancer; made-up rows of three classes; 5,000 images of
Fashion-MNIST's training file past its first 20,000, judged by the 4,000 after them. 100 steps on a fifth of
the examples beside 200 on a tenth, zero-out, delta = 1e-5, simulated noise. `--whole` is the share of
examples whose gradients are to be left whole. Each run is a line of
benchmarks/results/fit_torch_steps.jsonl as it ends; runs that are there are not made again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import sottovoce as sv
from benchmarks.fit_torch import images
from sottovoce.methods import clipped_adam

RESULTS = Path(__file__).parent / "results" / "fit_torch_steps.jsonl"
EPSILONS = (1.0, 3.0, 8.0)
STEPS = (200, 100)


def shuffled(X: Any, y: Any, trained: int) -> tuple[np.ndarray, np.ndarray, int]:
    order = np.random.default_rng(0).permutation(len(y))
    return X[order].astype(np.float32), y[order].astype(np.int64), trained


def digits() -> tuple[np.ndarray, np.ndarray, int]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return shuffled(X / 8.0 - 1.0, y, 1400)


def pictures() -> tuple[np.ndarray, np.ndarray, int]:
    X, y, trained = digits()
    return X.reshape(-1, 1, 8, 8), y, trained


def cancer() -> tuple[np.ndarray, np.ndarray, int]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = np.log1p(X)
    return shuffled(2.0 * (X - X.min(0)) / (X.max(0) - X.min(0)) - 1.0, y, 400)


def made_up(rows: int) -> tuple[np.ndarray, np.ndarray, int]:
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 4000, 20, n_informative=8, n_classes=3, random_state=1)
    return (X / 2.0).astype(np.float32), y.astype(np.int64), rows


def fashion() -> tuple[np.ndarray, np.ndarray, int]:
    X, y = images("train")
    return X[20_000:29_000], y[20_000:29_000], 5000


def hidden(inputs: int, classes: int) -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, classes))


def small_cnn() -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )


def fashion_cnn() -> Any:
    import torch

    from benchmarks.fit_torch import network

    return network({"X": np.zeros((1, 1, 28, 28))}, torch.initial_seed())


class Case(NamedTuple):
    data: Callable[[], tuple[np.ndarray, np.ndarray, int]]
    network: Callable[[], Any]


CASES = {
    "cancer": Case(cancer, lambda: hidden(30, 2)),
    "pictures": Case(pictures, small_cnn),
    "digits": Case(digits, lambda: hidden(64, 10)),
    "images": Case(fashion, fashion_cnn),
    "2,000 rows": Case(lambda: made_up(2000), lambda: hidden(20, 3)),
    "5,000 rows": Case(lambda: made_up(5000), lambda: hidden(20, 3)),
    "10,000 rows": Case(lambda: made_up(10_000), lambda: hidden(20, 3)),
}


def ran(name: str, epsilon: float, steps: int, seed: int, whole: float) -> dict[str, float]:
    import torch

    def loss(outputs: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(outputs, targets, reduction="none")

    X, y, trained = CASES[name].data()
    torch.manual_seed(seed)
    module = CASES[name].network()
    risk = sv.autodiff.TorchRisk(module, loss, (X[:trained], y[:trained]), dtype=torch.float32)
    with mock.patch.object(clipped_adam, "UNCLIPPED", whole):
        method = clipped_adam.ClippedAdam(steps=steps)
        budget = sv.Budget(epsilon, 1e-5, "zero-out")
        found = sv.minimize(risk, budget=budget, method=method, simulate=seed)
    with torch.no_grad():
        outputs, labels = (
            risk.module_with(found)(torch.from_numpy(X[trained:])),
            torch.from_numpy(y[trained:]),
        )
    accuracy = float((outputs.argmax(1) == labels).double().mean())
    return {"n": risk.n, "dim": risk.dim, "loss": float(loss(outputs, labels).mean()), "accuracy": accuracy}


def kept() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table() -> str:
    """Changes in log loss and points of accuracy from 200 steps to 100, by what n and the weights are."""
    runs = {(r["case"], r["epsilon"], r["steps"], r["seed"]): r for r in kept() if r["whole"] == 0.95}
    lines = ["| | n / sqrt(d) | " + " | ".join(f"{epsilon:g}" for epsilon in EPSILONS) + " |"]
    for name in dict.fromkeys(key[0] for key in runs):
        cells = []
        for epsilon in EPSILONS:
            pairs = [
                (runs[name, epsilon, 100, seed], run)
                for (case, at, steps, seed), run in runs.items()
                if (case, at, steps) == (name, epsilon, 200) and (name, epsilon, 100, seed) in runs
            ]
            if pairs:
                loss, accuracy = (
                    np.mean([few[key] - many[key] for few, many in pairs]) for key in ("loss", "accuracy")
                )
            cells.append(f"{loss:+.3f}, {100.0 * accuracy:+.1f} ({len(pairs)})" if pairs else "")
        size = next(run["n"] / math.sqrt(run["dim"]) for key, run in runs.items() if key[0] == name)
        lines.append(f"| {name} | {size:.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_torch_steps", description=__doc__)
    parser.add_argument("--cases", default=";".join(CASES))
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--steps", default=",".join(map(str, STEPS)))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--whole", type=float, default=0.95)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    numbers = (
        [float(text) for text in given.epsilons.split(",")],
        [int(text) for text in given.steps.split(",")],
    )
    for seed, name, epsilon, steps in itertools.product(range(given.seeds), given.cases.split(";"), *numbers):
        place = {"case": name, "epsilon": epsilon, "steps": steps, "seed": seed, "whole": given.whole}
        if given.table or any(place.items() <= run.items() for run in kept()):
            continue
        with RESULTS.open("a") as file:
            file.write(json.dumps(place | ran(name, epsilon, steps, seed, given.whole)) + "\n")
    print(table())


if __name__ == "__main__":
    main()
