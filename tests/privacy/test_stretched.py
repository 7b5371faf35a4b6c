"""Answers in other coordinates stay within their rounding bound of the exact ones, whatever M stretches."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from sottovoce.data.records import Records
from sottovoce.losses import Logistic
from sottovoce.models.linear import Risk
from sottovoce.queries import LowRankShrinkage, Preconditioner
from tests.accuracy import Accuracy

N, COLUMNS = 40, 4


def exact_answers(records, preconditioner, weights, u):
    """Gradient and Gram matrix in mpmath, from the stored rows, the stored counts and M itself."""
    block = records._rows.block(0)
    x = mpmath.matrix(block.features.astype(float).tolist())
    lift = mpmath.eye(COLUMNS)
    for j in range(COLUMNS):
        lift[j, preconditioner.constant] -= mpmath.mpf(float(preconditioner.shift[j]))
    M = mpmath.diag([mpmath.mpf(float(s)) for s in preconditioner.scale]) * lift
    if preconditioner.turn is not None:
        M = mpmath.matrix(preconditioner.turn.tolist()) * M
    if preconditioner.shrinkage is not None:
        V = mpmath.matrix(preconditioner.shrinkage.directions.tolist())
        shorter = mpmath.diag([1 - mpmath.mpf(float(f)) for f in preconditioner.shrinkage.factors])
        M = (mpmath.eye(COLUMNS) - V * shorter * V.T) * M
    gradient, gram = mpmath.zeros(COLUMNS, 1), mpmath.zeros(COLUMNS, COLUMNS)
    for i in range(N):
        z = M * x[i, :].T
        t = sum(z[j] * mpmath.mpf(float(u[j])) for j in range(COLUMNS)) * int(block.targets[i])
        count = mpmath.mpf(float(weights[i])) / N
        gradient -= z * count * int(block.targets[i]) / (1 + mpmath.exp(t))
        gram += z * z.T * count
    return gradient, gram


@pytest.mark.parametrize("kind", ["plain", "turned", "flattened"])
@pytest.mark.parametrize("power", [0, 6, 12])
def test_no_answer_in_other_coordinates_is_farther_from_exact_than_its_bound(power, kind):
    """Columns that sit at 1.1 and vary by 10^-power, centred and scaled back to size 1: much cancels."""
    rng = np.random.default_rng(power)
    X = np.column_stack([1.1 + 10.0**-power * rng.normal(size=(N, COLUMNS - 1)), np.ones(N)])
    records = Records.from_arrays(X, rng.choice([-1, 1], N), labels=(-1, 1), radius=2.5, constant=True)
    preconditioner = Preconditioner(
        scale=np.append(np.full(COLUMNS - 1, 10.0**power), 1.0),
        cap=10.0**power,
        shift=np.append(np.full(COLUMNS - 1, 1.1), 0.0),
        constant=COLUMNS - 1,
        turn=rng.normal(size=(COLUMNS, COLUMNS)) if kind == "turned" else None,
        shrinkage=LowRankShrinkage(np.eye(COLUMNS)[:, :2] + 0.1, np.array([0.1, 0.7]))
        if kind == "flattened"
        else None,
    )
    risk, u = (
        Risk(records, Logistic()).preconditioned(preconditioner),
        rng.normal(size=COLUMNS) * 10.0**-power,
    )
    with mpmath.workdps(60):
        gradient, gram = exact_answers(records, preconditioner, risk.sums._records._rows.weights, u)
        off = mpmath.norm(mpmath.matrix(risk.gradient(u).tolist()) - gradient)
        apart = mpmath.mnorm(mpmath.matrix(risk.gram().tolist()) - gram, "f")
    arithmetic, norm = risk.bounds.arithmetic, float(np.linalg.norm(u))
    assert off <= Accuracy(arithmetic).gradient(slope=1.0, curvature=0.25, weight_norm=norm)
    assert apart <= arithmetic.matrices(1.0)
    if power == 12:
        assert off > 1e-9
