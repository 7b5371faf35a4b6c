"""A two-layer network with tanh, trained privately, beats what any linear model could do."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.batch_descent import BatchDescent

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.autodiff import models  # noqa: E402


def test_a_private_network_tells_rings_apart() -> None:
    risk = sv.autodiff.TorchRisk(
        models.two_layers(2, 8, 3),
        models.cross_entropy,
        models.network_data(4000),
        gradient_clip=1.0,
        curvature_clip=0.5,
        loss_bound=1.5,
        curvature="products",
    )
    result = sv.minimize(
        risk, budget=sv.Budget(8.0, 1e-5), method=BatchDescent(steps=80, fraction=0.1), simulate=0
    )
    X, y = models.network_data(4000, seed=1)
    with torch.no_grad():
        guesses = risk.module_with(result)(torch.as_tensor(X, dtype=torch.float32)).argmax(dim=1).numpy()
    most_common = np.bincount(y).max() / len(y)
    assert np.mean(guesses == y) > most_common + 0.15
    assert result.stop is sv.Stop.FINISHED
