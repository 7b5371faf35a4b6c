"""Populations with known coefficients, and answers about a quadratic risk with known noise."""

from __future__ import annotations

import numpy as np

import sottovoce as sv
from sottovoce.losses import Logistic
from sottovoce.results.inference.findings import LastAnswers


def overlapping(n: int = 40_000, dim: int = 4, seed: int = 0) -> sv.Risk:
    """Two classes that overlap, log odds 0, 2, 4, 6, ... times columns of length 1 at most together."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, dim)) / np.sqrt(dim)
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * X @ np.arange(dim))), 1, -1)
    return sv.Risk(sv.Records.from_arrays(X, y, labels=(-1, 1)), Logistic(), sv.regularizers.L2(1e-6))


def symmetric_noise(rng: np.random.Generator, size: int, scale: float) -> np.ndarray:
    upper = np.triu(rng.normal(size=(size, size)), 1) * scale / np.sqrt(2.0)
    return upper + upper.T + np.diag(scale * rng.normal(size=size))


def quadratic(
    rng: np.random.Generator,
    hessian: np.ndarray,
    distance: np.ndarray,
    *,
    n: int = 1000,
    gradient_scale: float = 0.01,
    hessian_scale: float = 0.02,
) -> LastAnswers:
    """Answers at `distance` from the minimizer 0 of a population whose scores have covariance `hessian`."""
    size = len(hessian)
    score = np.linalg.cholesky(hessian) @ rng.normal(size=size) / np.sqrt(n)
    return LastAnswers(
        n=n,
        outputs=1,
        weights=distance,
        moved=np.zeros(size),
        third=0.0,
        spread=float(size),
        basis=np.eye(size),
        gradient=hessian @ distance + score + gradient_scale * rng.normal(size=size),
        hessian=hessian + symmetric_noise(rng, size, hessian_scale),
        moment=hessian,
        gradient_scale=gradient_scale,
        hessian_scale=hessian_scale,
        moment_scale=0.0,
        robust=False,
        likelihood=True,
        constant=None,
    )
