"""Phase retrieval from the strict saddle at the origin: `opt-ls`, and noisy descent that knows no curvature.

    python -m benchmarks.saddle [--seeds N]

n = 20,000, epsilon 2, delta 1e-6. The descent has the same clip and budget and as many passes as `opt-ls`
took, all of the budget on gradients in equal shares; every one of several step lengths is shown, though which
is best is known only from the exact loss. Figures go to benchmarks/results/saddle.json.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from tests.autodiff.models import phase_risk

import sottovoce as sv
from sottovoce.accounting.gdp import mu_of
from sottovoce.planning import bench

RESULTS = Path(__file__).parent / "results" / "saddle.json"
N = 20_000
BUDGET = sv.Budget(epsilon=2.0, delta=1e-6)
TOLERANCE = sv.Tolerance(gradient=0.1, curvature=0.3)
LENGTHS = (0.03, 0.1, 0.3, 1.0)


def second_order(risk: Any, seed: int) -> tuple[float, int]:
    """Loss over that at the saddle, and passes."""
    ledger = sv.Ledger(BUDGET)
    result = sv.minimize(
        risk, budget=BUDGET, method="opt-ls", tolerance=TOLERANCE, ledger=ledger, simulate=seed
    )
    return risk.mean_loss(result.weights) / risk.mean_loss(risk.start), len(ledger.history)


def first_order(risk: Any, clip: float, passes: int, length: float, seed: int) -> float:
    """The same of noisy gradient descent with steps of `length` times the gradient."""
    scale = 2.0 * clip / risk.n * math.sqrt(passes) / mu_of(BUDGET.epsilon, BUDGET.delta)
    rng, w = np.random.default_rng(seed), np.array(risk.start)
    for _ in range(passes):
        w = w - length * (risk.gradient(w) + scale * rng.standard_normal(w.size))
    return float(risk.mean_loss(w) / risk.mean_loss(risk.start))


def compared(dim: int, seeds: int) -> dict[str, Any]:
    shares: dict[str, list[float]] = {"opt-ls": [], **{f"descent, length {a:g}": [] for a in LENGTHS}}
    passes = []
    for seed in range(seeds):
        risk = phase_risk(N, dim, seed)
        share, taken = second_order(risk, seed)
        shares["opt-ls"].append(share)
        passes.append(taken)
        for length in LENGTHS:
            share = first_order(risk, 0.9 * math.sqrt(dim), taken, length, seed)
            shares[f"descent, length {length:g}"].append(share)
    halved = {name: sum(share <= 0.5 for share in found) for name, found in shares.items()}
    return {"loss over that at the saddle": shares, "at most half": halved, "passes": passes}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saddle")
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    found = {"measured": time.strftime("%Y-%m-%d %H:%M"), **bench.machine()}
    found |= {f"dim {dim}": compared(dim, seeds) for dim in (20, 50)}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
