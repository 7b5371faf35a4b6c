"""Saddles: where the default ends from three of them, beside `cubic`, by exact values.

    python -m benchmarks.adapt_saddles [runs] [saddle]

Start 0, which is a strict saddle of each: Welsch loss on y = +-<x, beta>, 200,000 rows; a symmetric rank-one
factorization, entries y_ij = u_i u_j seen with noise; a mixture of two regressions with coefficients +-m, by
its likelihood. The last two are PyTorch modules. Epsilon 1, delta 1e-6, replace one. A run ends at a
second-order point where the smallest eigenvalue there, exact, is not negative.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import sottovoce as sv

BUDGET = sv.Budget(epsilon=1.0, delta=1e-6)


def welsch(n: int = 200_000, columns: int = 5, seed: int = 0) -> sv.Risk:
    """Half the records follow one line, half its mirror image."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, columns)) / (2.0 * np.sqrt(columns))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1) * (1.0 + 2.0**-20))[:, None]
    beta = rng.standard_normal(columns)
    y = rng.choice([-1.0, 1.0], n) * (X @ (beta / np.linalg.norm(beta))) + 0.02 * rng.standard_normal(n)
    records = sv.Records.from_arrays(X, np.clip(y, -1.0, 1.0), target=(-1.0, 1.0))
    return sv.Risk(records, sv.losses.Welsch(0.2))


class RankOne(nn.Module):
    """w_i w_j for the places i and j."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(size, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.w[x[..., 0].long()] * self.w[x[..., 1].long()]


class Line(nn.Module):
    """<m, x>."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.m = nn.Parameter(torch.zeros(size, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.m


def two_lines(seen: Tensor, told: Tensor) -> Tensor:
    """Minus the log likelihood of y, but for a constant: half N(t, 1), half N(-t, 1)."""
    t = seen * told
    return 0.5 * (seen**2 + told**2) - torch.logaddexp(t, -t) + np.log(2.0)


def factorization(n: int = 40_000, size: int = 8, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    u = rng.choice([-1.0, 1.0], size) * rng.uniform(0.5, 1.0, size)
    places = rng.integers(0, size, (n, 2))
    y = u[places[:, 0]] * u[places[:, 1]] + 0.2 * rng.standard_normal(n)
    data = (places.astype(np.float64), y)
    clips = {"gradient_clip": 1.5, "curvature_clip": 2.0, "loss_bound": 2.0}
    return sv.autodiff.TorchRisk(RankOne(size), lambda seen, told: 0.5 * (seen - told) ** 2, data, **clips)


def mixture(n: int = 40_000, size: int = 6, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    mean = rng.standard_normal(size)
    X = np.clip(rng.standard_normal((n, size)), -3.0, 3.0)
    y = rng.choice([-1.0, 1.0], n) * (X @ (1.5 * mean / np.linalg.norm(mean))) + rng.standard_normal(n)
    clips = {"gradient_clip": 4.0, "curvature_clip": 16.0, "loss_bound": 20.0}
    return sv.autodiff.TorchRisk(Line(size), two_lines, (X, y), **clips)


SADDLES = {"Welsch": welsch, "rank one": factorization, "mixture": mixture}


def main(runs: int, chosen: list[str]) -> None:
    print("| saddle | method | second-order points | value at the start | at the end | least eigenvalue |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in chosen:
        risk = SADDLES[name]()
        for method in ("auto", "cubic"):
            ends = [
                sv.minimize(risk, budget=BUDGET, method=method, simulate=seed).weights for seed in range(runs)
            ]
            lowest = [float(risk.smallest_eigenvalue(w)) for w in ends]
            reached = f"{sum(value >= 0.0 for value in lowest)} of {runs}"
            value = np.mean([risk.value(w) for w in ends])
            figures = f"{risk.value(risk.start):.4f} | {value:.4f} | {min(lowest):.4f}"
            print(f"| {name} | {method} | {reached} | {figures} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10, sys.argv[2:] or list(SADDLES))
