"""Saddles: where methods to second-order points end, by exact values.

    python -m benchmarks.saddles [--seeds 5] [--problems "Welsch;network"] [--methods spider,drift] [--table]

Strict saddles at the start: Welsch loss on y = +-<x, beta>, 200,000 rows; a symmetric rank-one factorization,
entries y_ij = u_i u_j seen with noise; a mixture of two regressions with coefficients +-m, by its likelihood;
a network v'tanh(Ux) that starts at 0, where all its units are alike. The last three are PyTorch modules.
Beside them the paper's losses on Covertype and IJCNN1, its tight tolerances, from its start, N(0, I).

Epsilon 1, replace one, delta 1e-6, on the paper's tables 1/n. All methods have the same tolerance;
`auto-free` (`--methods auto-free`) is `auto` without one, which spends the whole budget. A run succeeds
where, exact, the gradient is within the tolerance and the smallest eigenvalue not below it. Passes are
queries charged. Each run is a line of benchmarks/results/saddles.jsonl as it ends; runs that are there are
not made again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

import sottovoce as sv

RESULTS = Path(__file__).parent / "results" / "saddles.jsonl"
DATA = Path("/work/shared/data")
METHODS = ("spider", "drift", "cubic", "auto", "opt-ls", "2opt-ls", "tr", "dp-gd")
FREE = "-free"
"""Ends the name of a method that is told no tolerance."""

SEEDS = 100
"""The first seed: others were seen while constants were chosen."""


def welsch(columns: int, length: float, noise: float, scale: float) -> sv.Risk:
    """Half of 200,000 records follow one line, half its mirror image; rows have this length, at most 1."""
    rng, n = np.random.default_rng(0), 200_000
    X = rng.standard_normal((n, columns)) * length / np.sqrt(columns)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1) * (1.0 + 2.0**-20))[:, None]
    beta = rng.standard_normal(columns)
    y = rng.choice([-1.0, 1.0], n) * (X @ (beta / np.linalg.norm(beta))) + noise * rng.standard_normal(n)
    records = sv.Records.from_arrays(X, np.clip(y, -1.0, 1.0), target=(-1.0, 1.0))
    return sv.Risk(records, sv.losses.Welsch(scale))


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
    clips: dict[str, Any] = {"gradient_clip": 1.5, "curvature_clip": 2.0, "loss_bound": 2.0}
    return sv.autodiff.TorchRisk(RankOne(size), lambda seen, told: 0.5 * (seen - told) ** 2, data, **clips)


def mixture(n: int = 40_000, size: int = 6, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    mean = rng.standard_normal(size)
    X = np.clip(rng.standard_normal((n, size)), -3.0, 3.0)
    y = rng.choice([-1.0, 1.0], n) * (X @ (1.5 * mean / np.linalg.norm(mean))) + rng.standard_normal(n)
    clips: dict[str, Any] = {"gradient_clip": 4.0, "curvature_clip": 16.0, "loss_bound": 20.0}
    return sv.autodiff.TorchRisk(Line(size), two_lines, (X, y), **clips)


class Twin(nn.Module):
    """v'tanh(Ux), all weights 0 at the start."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.U = nn.Parameter(torch.zeros(hidden, inputs, dtype=torch.float64))
        self.v = nn.Parameter(torch.zeros(hidden, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x @ self.U.T) @ self.v


def network(n: int = 20_000, size: int = 4, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_normal((n, size)), -3.0, 3.0)
    score = 3.0 * np.tanh(X @ rng.standard_normal(size)) + X[:, 0] * X[:, 1]
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), 1.0, -1.0)
    clips: dict[str, Any] = {"gradient_clip": 1.0, "curvature_clip": 3.0, "loss_bound": 0.7}
    return sv.autodiff.TorchRisk(
        Twin(size, 3), lambda seen, told: nn.functional.softplus(-told * seen), (X, y), **clips
    )


def of_the_paper(dataset: str, loss: str) -> Any:
    from sottovoce_studies.problems import risk_on

    return risk_on(dataset, loss, str(DATA))


class Case(NamedTuple):
    make: Callable[[], Any]
    gradient: float
    curvature: float
    from_zero: bool = True


CASES = {
    "Welsch": Case(lambda: welsch(5, 0.5, 0.02, 0.2), 0.001, 0.004),
    "Welsch, longer rows": Case(lambda: welsch(9, 1.0, 0.0, 0.3), 0.001, 0.004),
    "rank one": Case(factorization, 0.02, 0.09),
    "mixture": Case(mixture, 0.1, 0.3),
    "network": Case(network, 0.02, 0.1),
    "Covertype, logistic": Case(lambda: of_the_paper("covtype", "logistic"), 0.03, 0.173, False),
    "Covertype, sigmoid": Case(lambda: of_the_paper("covtype", "sigmoid"), 0.02, 0.141, False),
    "IJCNN1, logistic": Case(lambda: of_the_paper("ijcnn1", "logistic"), 0.02, 0.141, False),
    "IJCNN1, sigmoid": Case(lambda: of_the_paper("ijcnn1", "sigmoid"), 0.02, 0.141, False),
}


@cache
def risk_of(problem: str) -> Any:
    return CASES[problem].make()


def ran(problem: str, method: str, seed: int) -> dict[str, Any]:
    """One run, and what it reached."""
    case, risk = CASES[problem], risk_of(problem)
    budget = sv.Budget(epsilon=1.0, delta=1e-6 if case.from_zero else 1.0 / risk.n)
    tolerance = sv.Tolerance(gradient=case.gradient, curvature=case.curvature)
    start = None if case.from_zero else np.random.default_rng(seed).standard_normal(risk.dim)
    ledger, began = sv.Ledger(budget), time.process_time()
    told = {"method": method.removesuffix(FREE), "tolerance": None if method.endswith(FREE) else tolerance}
    found = sv.minimize(risk, budget=budget, start=start, ledger=ledger, simulate=seed, **told)
    gradient = float(np.linalg.norm(risk.gradient(found.weights)))
    eigenvalue = float(risk.smallest_eigenvalue(found.weights))
    return {
        "passes": len(ledger.history),
        "stop": found.stop.name,
        "value": float(risk.value(found.weights)),
        "gradient": gradient,
        "eigenvalue": eigenvalue,
        "reached": gradient <= case.gradient and eigenvalue >= -case.curvature,
        "certified": bool(found.certificate.meets(tolerance)),
        "cpu": time.process_time() - began,
    }


def kept() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table(problems: list[str], methods: list[str]) -> str:
    """Passes, in the mean, how many runs reached a second-order point, and how many certify it."""
    runs: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for run in kept():
        runs[run["problem"], run["method"]].append(run)
    lines = ["| | " + " | ".join(methods) + " |", "| --- " * (len(methods) + 1) + "|"]
    for problem in problems:
        cells = []
        for method in methods:
            found = runs[problem, method]
            counts = [sum(run[name] for run in found) for name in ("reached", "certified")]
            passes = np.mean([run["passes"] for run in found]) if found else 0.0
            cells.append(f"{passes:.0f}, {counts[0]}/{counts[1]} of {len(found)}" if found else "")
        lines.append(f"| {problem} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saddles")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--problems", default=";".join(CASES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    problems, methods = given.problems.split(";"), given.methods.split(",")
    done = {(run["problem"], run["method"], run["seed"]) for run in kept()}
    asked = itertools.product(range(SEEDS, SEEDS + given.seeds), problems, methods)
    for seed, problem, method in () if given.table else asked:
        if (problem, method, seed) in done:
            continue
        line = {"problem": problem, "method": method, "seed": seed, **ran(problem, method, seed)}
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")
    print(table(problems, methods))


if __name__ == "__main__":
    main()
