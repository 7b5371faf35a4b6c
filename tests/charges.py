"""What a model is charged for at weights of a known norm, without what floating point adds."""

from __future__ import annotations

import math

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.arrays import Vector
from sottovoce.losses import Loss
from sottovoce.models.softmax_bounds import SLOPE, longest_residual
from sottovoce.privacy.rounding import Arithmetic
from sottovoce.privacy.sensitivity import Facts, sensitivity
from sottovoce.trusted import requests

REPLACE_ONE = Relation.REPLACE_ONE


def facts(
    *,
    radius: float,
    n: int,
    target_reach: float = 0.0,
    weight: float = 1.0,
    least_weight: float = 1.0,
    influence: float | None = None,
    energy: float | None = None,
    outputs: int = 1,
) -> Facts:
    """Sums of one row of length 0 round nothing."""
    held = weight * radius if influence is None else influence
    return Facts(
        n=n,
        radius=radius,
        weight=weight,
        lightest=least_weight,
        influence=held,
        energy=weight * radius**2 if energy is None else energy,
        target_reach=target_reach,
        arithmetic=Arithmetic(n=1, dim=1, block_length=1, radius=0.0),
        outputs=outputs,
    )


def interval(loss: Loss, known: Facts, w: Vector) -> tuple[float, float]:
    return known.reach(loss.law, w).interval


def vector_sum(loss: Loss, known: Facts, weight_norm: float) -> requests.VectorSum:
    w = np.array([weight_norm])
    return requests.VectorSum(loss.law, loss.slope_band(*interval(loss, known, w)), w)


def gradient_at(
    loss: Loss, *, weight_norm: float, relation: Relation = REPLACE_ONE, **public: float
) -> float:
    known = facts(**public)  # type: ignore[arg-type]
    return sensitivity(vector_sum(loss, known, weight_norm), known, relation)


def value_at(loss: Loss, *, weight_norm: float, relation: Relation = REPLACE_ONE, **public: float) -> float:
    known, w = facts(**public), np.array([weight_norm])  # type: ignore[arg-type]
    span = loss.value_span(*interval(loss, known, w))
    return sensitivity(requests.NumberSum(loss.law, span, w), known, relation)


def hessian_at(loss: Loss, *, weight_norm: float, relation: Relation = REPLACE_ONE, **public: float) -> float:
    known = facts(**public)  # type: ignore[arg-type]
    return sensitivity(_matrix_sum(loss, known, weight_norm), known, relation)


def eigenvalue_at(
    loss: Loss, *, weight_norm: float, relation: Relation = REPLACE_ONE, **public: float
) -> float:
    known = facts(**public)  # type: ignore[arg-type]
    asked = requests.SmallestEigenvalue(_matrix_sum(loss, known, weight_norm), np.zeros((1, 1)))
    return sensitivity(asked, known, relation)


def drops(loss: Loss, steps: Vector, *, relation: Relation = REPLACE_ONE, **public: float) -> float:
    """Of steps over their lengths."""
    known, lengths = facts(**public), np.linalg.norm(steps, axis=1)  # type: ignore[arg-type]
    asked = requests.StepDrops(loss.law, steepest(loss), np.zeros(1), steps, lengths)
    return sensitivity(asked, known, relation)


def line(
    loss: Loss, length: float, lengths: Vector, *, relation: Relation = REPLACE_ONE, **public: float
) -> float:
    """Along a direction of this length."""
    known = facts(**public)  # type: ignore[arg-type]
    asked = requests.LineDrops(loss.law, steepest(loss), np.zeros(1), np.array([length]), np.asarray(lengths))
    return sensitivity(asked, known, relation)


def softmax_gradient(
    reach: float, classes: int, *, relation: Relation = REPLACE_ONE, **public: float
) -> float:
    """Where no two scores of a row are further apart than `reach`."""
    asked = requests.ClassVector(np.zeros(1), longest_residual(reach, classes))
    return sensitivity(asked, facts(**public, outputs=classes), relation)  # type: ignore[arg-type]


def softmax_hessian(*, relation: Relation = REPLACE_ONE, **public: float) -> float:
    return sensitivity(requests.ClassMatrix(np.zeros(1)), facts(**public, outputs=3), relation)  # type: ignore[arg-type]


def softmax_eigenvalue(*, relation: Relation = REPLACE_ONE, **public: float) -> float:
    asked = requests.SmallestEigenvalue(requests.ClassMatrix(np.zeros(1)), np.zeros((1, 1)))
    return sensitivity(asked, facts(**public, outputs=3), relation)  # type: ignore[arg-type]


def softmax_drops(steps: Vector, classes: int, *, relation: Relation = REPLACE_ONE, **public: float) -> float:
    """Of steps over their lengths."""
    asked = requests.ClassSteps(SLOPE, np.zeros(1), steps, np.linalg.norm(steps, axis=1))
    return sensitivity(asked, facts(**public, outputs=classes), relation)  # type: ignore[arg-type]


def steepest(loss: Loss) -> float:
    return math.nextafter(loss.slope / loss.law.heaviest, math.inf)


def _matrix_sum(loss: Loss, known: Facts, weight_norm: float) -> requests.MatrixSum:
    w = np.array([weight_norm])
    return requests.MatrixSum(loss.law, loss.curvature_span(*interval(loss, known, w)), w)
