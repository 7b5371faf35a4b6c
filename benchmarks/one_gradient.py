"""What one gradient at 0 tells a method that is told nearly all else for free, on small tables.

    python -m benchmarks.one_gradient

The whole budget goes into one gradient at 0, where a record moves it least; nothing is spent on moments,
second moments or a certificate. The method is told the exact second moments of the weighted rows, and three
numbers by the exact loss on held-out rows over three seeds: how far columns are stretched, how much is added
to the second moments, and how long the weights are. It is judged on five other seeds, as the rivals of
benchmarks.adapt_rival are. A private method has no such knowledge: this shows what it is worth. Adult is left
out: its classes are of unequal size, so that one linear step from 0 is far off. Rows go to docs.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import sottovoce as sv
from benchmarks.adapt_problems import SMALL, SMALL_EPSILONS, Table, small
from benchmarks.adapt_rival import KEPT

PAGE = Path(__file__).parents[1] / "docs" / "one-gradient.md"
POWERS = (0.0, 0.5, 0.85)
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
LENGTHS = np.geomspace(0.12, 9.0, 16)
HEAD = """# One gradient, and all else told

This page shows how much of a tuned rival's result is knowledge that a private method does not have. It is
written by `python -m benchmarks.one_gradient`. The figures are the log loss on held-out rows, means of five
seeds that chose nothing. [Learned coordinates](adapt.md#where-it-is-behind) says what follows from them.

| column | method | told for free |
| --- | --- | --- |
| one gradient, all else told | one gradient at 0 for the whole budget | \
the exact second moments, the stretch of the columns, the penalty and the length of the weights |
| rival | the better of DP-GD and DP-SGD | rate, steps, clipping, momentum and averaging |
| adapt | the default | nothing |

| table | epsilon | one gradient, all else told | rival | adapt | not private |
| --- | --- | --- | --- | --- | --- |
"""


class Told:
    """A table in stretched, centred columns, each row's influence capped at their root mean square length."""

    def __init__(self, task: Table, power: float) -> None:
        X = task.X.astype(np.float64)
        spread = X.var(axis=0) + 1e-3 * X.var(axis=0).mean()
        self.task, self.scale, self.means = task, spread ** (-power / 2.0), X.mean(axis=0)
        self.constant = float(X[:, -1].mean()) if task.constant else 0.0
        Z = X * self.scale
        if task.constant:
            self.means[-1] = 0.0
            typical = float(np.sqrt(np.mean(X[:, :-1].var(axis=0) * self.scale[:-1] ** 2)))
            self.scale[-1] = typical / abs(self.constant)
            Z = (X - self.means * (X[:, -1:] / self.constant)) * self.scale
        lengths = np.linalg.norm(Z, axis=1)
        self.cap = float(np.sqrt(np.mean(lengths**2)))
        counts = np.minimum(1.0, self.cap / np.maximum(lengths, 1e-300))
        self.gradient = -0.5 * (Z * (counts * task.y)[:, None]).mean(axis=0)
        self.moments = (Z * counts[:, None]).T @ Z / len(Z)
        self.predictors = Z

    def weights(self, noise: float, ridge: float, length: float, seed: int) -> np.ndarray:
        answer = self.gradient + noise * self.cap * np.random.default_rng(seed).standard_normal(
            self.scale.size
        )
        added = ridge * np.trace(self.moments) / self.scale.size
        u = -np.linalg.solve(self.moments + added * np.eye(self.scale.size), answer)
        w = u * (length / float(np.sqrt(np.mean((self.predictors @ u) ** 2)))) * self.scale
        if self.task.constant:
            w[-1] -= float(self.means @ w) / self.constant
        return w

    def loss(self, noise: float, ridge: float, length: float, seeds: range) -> float:
        found = [self.task.judge(self.weights(noise, ridge, length, seed))["loss"] for seed in seeds]
        return float(np.mean(found))


def told_all_else(task: Table, epsilon: float) -> float:
    budget = sv.Budget(epsilon=epsilon, delta=task.delta)
    noise = 1.0 / (task.n * float(np.sqrt(sv.Ledger(budget).run(budget).mu_squared_left)))
    tried = [
        (told.loss(noise, ridge, float(length), range(3)), told, ridge, float(length))
        for told in (Told(task, power) for power in POWERS)
        for ridge in RIDGES
        for length in LENGTHS
    ]
    _, told, ridge, length = min(tried, key=lambda found: found[0])
    return told.loss(noise, ridge, length, range(100, 105))


def main() -> None:
    kept = json.loads((KEPT.parent / "adapt.json").read_text())["small"]
    rows = {(row["table"], row["epsilon"]): row for row in kept}
    lines = []
    for name in SMALL:
        if name.startswith("adult"):
            continue
        task = small(name)
        for epsilon in SMALL_EPSILONS:
            row = rows[name, epsilon]
            figures = (
                told_all_else(task, epsilon),
                min(row["DP-GD"], row["DP-SGD"]),
                row["adapt"],
                row["not private"],
            )
            lines.append(
                f"| {name} | {epsilon:g} | " + " | ".join(f"{figure:.4f}" for figure in figures) + " |"
            )
            print(lines[-1], flush=True)
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
