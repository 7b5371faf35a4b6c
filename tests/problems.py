"""Small data sets with known answers, shared by the tests."""

from __future__ import annotations

import numpy as np

import sottovoce as sv


def classification(n: int = 400, dim: int = 5, seed: int = 0, radius: float = 1.0) -> sv.Records:
    """Two noisy half-spaces, every row within the radius."""
    X, y = arrays(n, dim, seed)
    return sv.Records.from_arrays(X, y, radius=radius, labels=(-1, 1))


def arrays(n: int = 400, dim: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, dim)) / np.sqrt(dim)
    truth = rng.standard_normal(dim)
    y = np.where(X @ truth + 0.3 * rng.standard_normal(n) > 0, 1, -1)
    return X, y


def regression(n: int = 400, dim: int = 5, seed: int = 0) -> sv.Records:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, dim)) / np.sqrt(dim)
    y = X @ rng.standard_normal(dim) + 0.1 * rng.standard_normal(n)
    return sv.Records.from_arrays(X, y, radius=1.0, target=(-3.0, 3.0))


def logistic(n: int = 400, dim: int = 5, seed: int = 0) -> sv.Risk:
    return sv.Risk(classification(n, dim, seed), sv.losses.Logistic(), sv.regularizers.L2(1e-3))


def sigmoid(n: int = 400, dim: int = 5, seed: int = 0) -> sv.Risk:
    return sv.Risk(classification(n, dim, seed), sv.losses.Sigmoid(), sv.regularizers.L2(1e-3))
