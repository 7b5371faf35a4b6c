"""Small modules and data for the tests of TorchRisk. Needs PyTorch: `pytest.importorskip` comes first."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import sottovoce as sv


class Linear(nn.Module):
    """<x, w>, as in a linear risk."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(dim, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.w


class Squared(Linear):
    """<x, w>^2: phase retrieval, which cannot tell w from -w."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) ** 2


def logistic(outputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.softplus(-targets * outputs)


def quarter_square(outputs: Tensor, targets: Tensor) -> Tensor:
    return 0.25 * (outputs - targets) ** 2


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs, targets, reduction="none")


def two_layers(inputs: int, hidden: int, classes: int, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, classes))


def linear_data(n: int = 300, dim: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, dim)) / np.sqrt(dim)).astype(np.float32)
    y = np.where(X @ rng.standard_normal(dim) + 0.3 * rng.standard_normal(n) > 0, 1, -1)
    return X, y


def linear_risk(n: int = 300, dim: int = 5, **declared: Any) -> Any:
    given: dict[str, Any] = {"gradient_clip": 1.0, "curvature_clip": 0.5, **declared}
    return sv.autodiff.TorchRisk(Linear(dim), logistic, linear_data(n, dim), **given)


def phase_data(n: int, dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Squares of the projections of one unit vector: f(0) = 3/4 in the mean, and 0 at the vector."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(dim)
    A = rng.standard_normal((n, dim))
    return A, (A @ (truth / np.linalg.norm(truth))) ** 2


def phase_risk(n: int, dim: int, seed: int, **declared: Any) -> Any:
    """Clips near the typical length of an example's gradient and Hessian, which grow as sqrt(d) and d."""
    clips = {"gradient_clip": 0.9 * dim**0.5, "curvature_clip": 0.5 * dim}
    given: dict[str, Any] = {**clips, "loss_bound": 0.8, **declared}
    return sv.autodiff.TorchRisk(Squared(dim), quarter_square, phase_data(n, dim, seed), **given)


def network_data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes by the distance from the origin: no linear model can tell them apart."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.digitize(np.linalg.norm(X, axis=1), [0.8, 1.5])
