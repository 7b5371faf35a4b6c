"""The risk and its derivatives as plain NumPy formulas over all rows at once: no blocks, no threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import softmax

from sottovoce.arrays import Matrix, Vector
from sottovoce.losses import Kind, Loss
from tests.strategies import TARGET

TARGET_REACH = max(map(abs, TARGET))

QueryKind = Callable[[Loss, Matrix, Vector, Vector], "Vector | float"]


def arguments(loss: Loss, X: Matrix, y: Vector, w: Vector) -> Vector:
    return y * (X @ w) if loss.kind is Kind.MARGIN else X @ w - y


def mean_value(loss: Loss, X: Matrix, y: Vector, w: Vector) -> float:
    return float(loss.value(arguments(loss, X, y, w)).mean())


def mean_gradient(loss: Loss, X: Matrix, y: Vector, w: Vector) -> Vector:
    factors = loss.first(arguments(loss, X, y, w))
    return X.T @ (factors * y if loss.kind is Kind.MARGIN else factors) / len(y)


def mean_hessian(loss: Loss, X: Matrix, y: Vector, w: Vector) -> Matrix:
    return X.T @ (loss.second(arguments(loss, X, y, w))[:, None] * X) / len(y)


def target_reach(loss: Loss) -> float:
    return 0.0 if loss.kind is Kind.MARGIN else TARGET_REACH


def curvatures(loss: Loss) -> dict[str, float]:
    return {"curvature_low": loss.curvature_low, "curvature_high": loss.curvature_high}


def softmax_terms(W: Matrix, x: Vector, label: int) -> tuple[Matrix, Matrix]:
    """Gradient and Hessian of one record's softmax loss."""
    p = softmax(W @ x)
    hessian = np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
    return np.outer(p - np.eye(len(W))[label], x), hessian
