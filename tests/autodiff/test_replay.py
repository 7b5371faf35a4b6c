"""A run over a neighbour that hears the same answers says the same, byte for byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.privacy.noise import SimulatedNoise

pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.attacks.replay.pairs import hearing, said
from tests.autodiff import models
from tests.doubles import Recorder, Replay

BUDGET = sv.Budget(6.0, 1e-4)
METHODS = [
    ("opt", "matrix"),
    ("opt", "products"),
    ("opt-ls", "matrix"),
    ("2opt-ls", "products"),
    ("opt-b", "matrix"),
    ("opt-b", "products"),
    ("cubic", "matrix"),
    (BatchDescent(steps=6, fraction=0.2), "products"),
    (BatchDescent(steps=6, fraction=0.2), "matrix"),
]
STRANGERS = [np.nan, np.inf, 1e300, 0.0, -1e6]


def emitted(
    data: tuple[np.ndarray, np.ndarray], method: Any, curvature: str, noise: Any, seed: int
) -> list[bytes]:
    batched = not isinstance(method, str) or method.endswith("-b")
    ledger = sv.Ledger(BUDGET, currency="renyi", order=32.0) if batched else sv.Ledger(BUDGET)
    risk = sv.autodiff.TorchRisk(
        models.Squared(3),
        models.quarter_square,
        data,
        gradient_clip=1.0,
        curvature_clip=2.0,
        curvature=curvature,
    )
    with hearing(noise):
        return said(
            lambda: sv.minimize(
                risk,
                budget=BUDGET,
                method=method,
                ledger=ledger,
                simulate=seed,
                tolerance=sv.Tolerance(gradient=0.3, curvature=0.5),
            ),
            ledger,
        )


@pytest.mark.parametrize(("method", "curvature"), METHODS, ids=str)
@pytest.mark.parametrize("stranger", STRANGERS[:2])
def test_neighbours_are_told_apart_by_released_answers_alone(method, curvature: str, stranger: float) -> None:  # type: ignore[no-untyped-def]
    A, y = models.phase_data(700, 3, seed=4)
    there = A.copy()
    there[123] = stranger
    recorder = Recorder(SimulatedNoise(7))
    first = emitted((A, y), method, curvature, recorder, seed=7)
    replay = Replay(recorder.tape, simulated=True)
    second = emitted((there, y), method, curvature, replay, seed=8)
    assert recorder.tape
    assert replay.spent
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize(("method", "curvature"), METHODS, ids=str)
@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("seed", range(10))
def test_many_neighbours(method, curvature: str, stranger: float, seed: int) -> None:  # type: ignore[no-untyped-def]
    A, y = models.phase_data(int(20 + 300 * seed), 3, seed)
    there, other = A.copy(), y.copy()
    there[seed], other[seed] = stranger, -stranger
    recorder = Recorder(SimulatedNoise(seed))
    first = emitted((A, y), method, curvature, recorder, seed)
    replay = Replay(recorder.tape, simulated=True)
    assert emitted((there, other), method, curvature, replay, seed + 1) == first
    assert replay.spent
