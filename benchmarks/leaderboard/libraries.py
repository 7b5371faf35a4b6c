"""Rivals by their own libraries: Opacus here, diffprivlib and jax-privacy in environments of their own.

Opacus and jax-privacy take the noise multiplier that dp-accounting's privacy loss distributions ask for: that
of their own promise under zero-out, and that of a replaced record, which neither offers (jax-privacy's plan
doubles a sensitivity that dp-accounting has doubled already). diffprivlib promises pure epsilon for a
replaced record; a null record is a record like any other, so the same run keeps zero-out."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leaderboard.query import Board, Outcome, Query, tuned
from benchmarks.rival_process import PYTHONS
from benchmarks.sgd import ADD_OR_REMOVE, REPLACE, noise_scale

RATES = (4.0, 16.0, 64.0, 256.0)
BANDS = 4
SHOWN = 3
"""Seeds of Opacus and jax-privacy, the slowest."""
EPOCHS = 10
SIZE = 4096
SHARES = (0.5, 0.8, 0.9, 0.95)
ENDS = ("last", "mean")


class Process:
    """A library's side: it holds the rows and answers each line of JSON with one."""

    def __init__(self, python: str, script: Path, board: Board) -> None:
        self._folder = tempfile.TemporaryDirectory()
        np.savez(Path(self._folder.name) / "rows.npz", X=board.X.astype(np.float64), y=board.y)
        command = [python, "-P", str(script), self._folder.name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **settings: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(settings) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@cache
def process(library: str, script: str, board: Board) -> Process:
    return Process(PYTHONS[library], Path(__file__).parents[1] / script, board)


def multiplier(asked: Query, chance: float, steps: int) -> float:
    """Noise on a batch's sum of gradients of norm at most 1."""
    promise = REPLACE if asked.apart == 2.0 else ADD_OR_REMOVE
    return noise_scale(asked.epsilon, asked.board.delta, chance, steps, promise)


def perturbed(asked: Query, seeds: Sequence[int]) -> Outcome:
    """diffprivlib's logistic regression (Chaudhuri et al. 2011) at its best C, one for both relations."""
    return _perturbed(Query(asked.board, asked.epsilon, "replace-one"), tuple(seeds))


@cache
def _perturbed(asked: Query, seeds: Sequence[int]) -> Outcome:
    side = process("diffprivlib", "objective_process.py", asked.board)

    def fit(inverse: float, seed: int) -> list[np.ndarray]:
        return [np.array(side.ask(epsilon=asked.epsilon, C=inverse, random_state=seed)["weights"])]

    grid = [4.0 * math.expm1((1.0 - share) * asked.epsilon / 2.0) for share in SHARES]
    judged, inverse, _ = tuned(asked, grid, fit, seeds, kept=2)
    return judged, f"C {inverse:.3g}"


def banded(asked: Query, seeds: Sequence[int]) -> Outcome:
    """jax-privacy's logistic regression: cyclic Poisson batches, noise correlated by a banded strategy.

    A record can be drawn in one step of each cycle of BANDS, with a chance as many times greater; noise grows
    by the norm of the strategy's column, so that steps/BANDS independent draws are as private."""
    n = asked.board.n
    side = process("jax", "leaderboard/banded_process.py", asked.board)

    cycles, chance = math.ceil(EPOCHS * n / SIZE / BANDS), BANDS * SIZE / n
    noise = multiplier(asked, chance, cycles)
    plan = {"bands": BANDS, "steps": BANDS * cycles, "chance": chance, "size": SIZE, "multiplier": noise}

    def fit(rate: float, seed: int) -> list[np.ndarray]:
        return [np.array(w) for w in side.ask(**plan, rate=rate, seed=seed)]

    judged, rate, end = tuned(asked, RATES, fit, seeds[:SHOWN], kept=1)
    return judged, f"{BANDS} bands, rate {rate:g}, {ENDS[end]}"


def opacus(asked: Query, seeds: Sequence[int]) -> Outcome:
    """DP-SGD by Opacus: its Poisson loader, its gradients of single records, its optimizer."""
    steps = math.ceil(EPOCHS * asked.board.n / SIZE)
    noise = multiplier(asked, SIZE / asked.board.n, steps)

    def fit(rate: float, seed: int) -> list[np.ndarray]:
        return _by_opacus(asked.board, noise, steps, rate, seed)

    judged, rate, end = tuned(asked, RATES, fit, seeds[:SHOWN], kept=1)
    return judged, f"rate {rate:g}, {ENDS[end]}"


def _by_opacus(board: Board, noise: float, steps: int, rate: float, seed: int) -> list[np.ndarray]:
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader

    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    model = torch.nn.Linear(board.X.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    private, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=rate),
        data_loader=DataLoader(_rows(board), batch_size=SIZE, collate_fn=lambda drawn: drawn),
        noise_multiplier=noise,
        max_grad_norm=1.0,
    )
    mean = np.zeros(board.X.shape[1])
    for step, (x, y) in zip(
        range(steps), itertools.chain.from_iterable(itertools.repeat(loader)), strict=False
    ):
        optimizer.zero_grad()
        torch.nn.functional.softplus(-y * private(x)[:, 0]).mean().backward()
        optimizer.step()
        if step >= steps // 2:
            mean += _weights(model) / (steps - steps // 2)
    return [_weights(model), mean]


def _weights(model: Any) -> np.ndarray:
    return np.asarray(model.weight.detach().numpy()[0], dtype=np.float64)


@cache
def _rows(board: Board) -> Any:
    """Tensors that hand out a batch at once."""
    import torch

    class Rows(torch.utils.data.TensorDataset):
        def __getitems__(self, drawn: list[int]) -> tuple[torch.Tensor, ...]:
            return tuple(tensor[drawn] for tensor in self.tensors)

    return Rows(torch.from_numpy(board.X), torch.from_numpy(board.y.astype(np.float32)))
