"""`python -m benchmarks.equal_terms`: `descent-b` under zero-out beside Opacus, on the same promise.

Needs Opacus beside PyTorch: pip install --no-deps opacus opt_einsum. 20,000 rows of Covertype to train on, as
many to test on, logistic loss, rows of norm at most 1, so that clipping at 1 touches no gradient. First the
charges of our runs, on a linear risk and on a module, are read by Opacus's and dp-accounting's accountants.
Then both train with as many steps on batches of the same expected size. Opacus is shown at its best learning
rate by the exact loss, which is not charged; ours has one setting, the default.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from typing import Any

import numpy as np
import torch
from torch import nn

import sottovoce as sv
from benchmarks.task import RIDGE, Task, split
from sottovoce.accounting.events import GaussianEvent, SubsampledGaussianEvent
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.training import account_for, goal_for

ROWS = 20_000
EPSILONS = (0.5, 1.0, 3.0)
DELTA = 1e-5
RATES = (2.0, 4.0, 8.0, 16.0, 32.0)

Charges = dict[tuple[float, float], int]
"""How often there was a Gaussian answer with this noise, in sensitivities, on batches of this rate."""


def some_rows() -> Task:
    held, rng = split(), np.random.default_rng(0)
    mine, test = (rng.choice(n, ROWS, replace=False) for n in (held.n, len(held.test_signs)))
    return Task(held.X[mine], held.y[mine], held.test_rows[test], held.test_signs[test])


class Scores(nn.Module):
    """<x, w>, from zeros."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weights = nn.Linear(dim, 1, bias=False)
        nn.init.zeros_(self.weights.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weights(x)[..., 0]


def logistic(scores: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    return nn.functional.softplus(-signs * scores)


def charges(ledger: sv.Ledger) -> Charges:
    """Multipliers to six digits: they are the same at every step but for the last ones."""
    found: Counter[tuple[float, float]] = Counter()
    for grant in ledger.history:
        event = grant.event
        assert isinstance(event, GaussianEvent | SubsampledGaussianEvent)
        rate = event.batch / event.population if isinstance(event, SubsampledGaussianEvent) else 1.0
        found[(float(f"{event.scale / event.sensitivity:.6g}"), rate)] += 1
    return dict(found)


def accountants(made: Charges) -> dict[str, float]:
    """Epsilon at DELTA of these charges, as others count them."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant
    from opacus.accountants import PRVAccountant, RDPAccountant

    added = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    found = {}
    for name, theirs in (("Opacus RDP", RDPAccountant()), ("Opacus PRV", PRVAccountant())):
        theirs.history = [(noise, rate, count) for (noise, rate), count in made.items()]
        found[name] = float(theirs.get_epsilon(DELTA))
    for name, other in (("dp-accounting RDP", RdpAccountant(None, added)), ("PLD", PLDAccountant(added))):
        for (noise, rate), count in made.items():
            other.compose(
                dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)), count
            )
        found[name] = float(other.get_epsilon(DELTA))
    return found


def ours(risk: Any, budget: sv.Budget, seed: int) -> tuple[np.ndarray, Charges]:
    """Weights, and what was charged for them to the ledger that the run would open by itself."""
    method = BatchDescent()
    goal = goal_for(method, risk.problem, budget, None, 0.99, "tight")
    ledger = account_for(method, risk.problem, np.zeros(risk.dim), goal, budget)
    result = sv.minimize(risk, budget=budget, method=method, ledger=ledger, simulate=seed)
    return result.weights, charges(ledger)


def opacus(task: Task, multiplier: float, steps: int, rate: float, learning: float, seed: int) -> np.ndarray:
    """DP-SGD as Opacus writes it down: Poisson batches, gradients clipped at 1, noise on their sum."""
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(seed)
    model = Scores(task.dim)
    data = TensorDataset(torch.from_numpy(task.X), torch.from_numpy(task.y.astype(np.float32)))
    private, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=learning, weight_decay=RIDGE),
        data_loader=DataLoader(data, batch_size=round(rate * task.n)),
        noise_multiplier=multiplier,
        max_grad_norm=1.0,
    )
    taken = 0
    while taken < steps:
        for x, y in loader:
            if taken == steps:
                break
            optimizer.zero_grad()
            logistic(private(x), y).mean().backward()
            optimizer.step()
            taken += 1
    return model.weights.weight.detach().numpy()[0].astype(np.float64)


def main() -> None:
    from opacus.accountants.utils import get_noise_multiplier

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    task, method = some_rows(), BatchDescent()
    size, steps = method.batch(task.n), method.planned(task.n)
    module = sv.autodiff.TorchRisk(
        Scores(task.dim),
        logistic,
        (task.X, task.y.astype(np.float32)),
        gradient_clip=1.0,
        curvature_clip=0.25,
        regularizer=sv.regularizers.L2(RIDGE),
        curvature="products",
        dtype=torch.float32,
    )
    print(f"n = {task.n}, delta {DELTA:g}, batches of {size}, {steps} steps, seeds {list(seeds)}")
    for epsilon in EPSILONS:
        budget = sv.Budget(epsilon, DELTA, "zero-out")
        theirs = get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=DELTA,
            sample_rate=size / task.n,
            steps=steps,
            accountant="rdp",
            epsilon_tolerance=0.001,
        )
        print(
            f"\nepsilon {epsilon:g}: Opacus's noise multiplier for the steps alone {theirs:.4f}", flush=True
        )
        for name, risk in (("linear", task.risk), ("module", module)):
            _, made = ours(risk, budget, seeds[0])
            said = ", ".join(f"{count} x {noise:g} at rate {rate:g}" for (noise, rate), count in made.items())
            print(f"descent-b on the {name} risk charged {said}")
            print(
                "  " + ", ".join(f"{name} {value:.4f}" for name, value in accountants(made).items()),
                flush=True,
            )
        rows = {
            "descent-b": [task.judge(ours(task.risk, budget, seed)[0]) for seed in seeds],
            "default method": [
                task.judge(sv.minimize(task.risk, budget=budget, simulate=seed).weights) for seed in seeds
            ],
        }
        tuned = {
            rate: [task.judge(opacus(task, theirs, steps, size / task.n, rate, seed)) for seed in seeds]
            for rate in RATES
        }
        best = min(tuned, key=lambda rate: float(np.mean([row["excess"] for row in tuned[rate]])))
        rows[f"Opacus, learning rate {best:g}"] = tuned[best]
        for name, found in rows.items():
            excess, accuracy = (np.mean([row[kind] for row in found]) for kind in ("excess", "accuracy"))
            print(f"{name:28} excess {excess:.5f}  test accuracy {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
