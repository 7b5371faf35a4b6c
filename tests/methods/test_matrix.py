"""Every method meets every kind of risk in every situation."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.registry import METHODS, by_name
from tests import problems
from tests.covering import covering

RISKS = {
    "logistic + Tukey": ("labels", sv.losses.Logistic(), sv.regularizers.Tukey(1e-3)),
    "sigmoid + L2": ("labels", sv.losses.Sigmoid(), sv.regularizers.L2(1e-3)),
    "Savage + L2": ("labels", sv.losses.Savage(), sv.regularizers.L2(1e-3)),
    "Cauchy regression": ("target", sv.losses.Cauchy(), sv.regularizers.L2(1e-3)),
}
SITUATIONS = {
    "easy, from a point of zero gradient": (
        2000,
        sv.Budget(20.0, 1e-3),
        sv.Tolerance(gradient=0.1, curvature=0.2),
    ),
    "noisy": (400, sv.Budget(1.0, 1e-5), sv.Tolerance(gradient=0.05, curvature=0.05)),
    "budget too small": (60, sv.Budget(0.05, 1e-9), sv.Tolerance(gradient=0.01, curvature=0.01)),
}


@cache
def risk_of(name: str, n: int, *, symmetric: bool) -> sv.Risk:
    kind, loss, regularizer = RISKS[name]
    if kind == "labels":
        X, y = problems.arrays(n, 3, seed=1)
        if symmetric:
            y = np.tile([1, -1], n // 2)
            X[1::2] = X[::2]
        records = sv.Records.from_arrays(X, y, labels=(-1, 1))
    else:
        rng = np.random.default_rng(1)
        X = rng.standard_normal((n, 3)) / 2.0
        y = np.tile([1.0, -1.0], n // 2) if symmetric else X @ np.ones(3)
        if symmetric:
            X[1::2] = X[::2]
        records = sv.Records.from_arrays(X, y, target=(-2.0, 2.0))
    return sv.Risk(records, loss, regularizer)


@pytest.mark.parametrize(("method", "risk", "situation"), covering(product(METHODS, RISKS, SITUATIONS)))
def test_every_method_runs_within_its_budget_and_says_why_it_stopped(
    method: str, risk: str, situation: str
) -> None:
    n, budget, tolerance = SITUATIONS[situation]
    chosen = risk_of(risk, n, symmetric=situation.startswith("easy"))
    batched = by_name(method).amplified(
        chosen.problem, np.zeros(3), sv.methods.Goal(tolerance=tolerance, confidence=0.99), budget
    )
    ledger = (
        sv.Ledger(budget, currency="renyi", order=1024 if budget.epsilon < 0.1 else 16)
        if batched
        else sv.Ledger(budget)
    )
    result = sv.minimize(chosen, budget=budget, method=method, tolerance=tolerance, ledger=ledger, simulate=3)
    assert ledger.units_spent <= ledger.units_cap
    assert isinstance(result.stop, sv.Stop)
    assert str(result.stop)
    assert np.all(np.isfinite(result.weights))
    assert result.certificate.gradient_norm_at_most >= 0.0
    if situation.startswith("easy"):
        assert result.stop is sv.Stop.CERTIFIED
    if result.stop is sv.Stop.CERTIFIED:
        assert result.certificate.meets(result.tolerance)
    if situation == "budget too small":
        assert result.stop in (sv.Stop.OUT_OF_BUDGET, sv.Stop.STEPS_EXHAUSTED)
        assert not result.certificate.meets(result.tolerance)


PAPERS = [name for name, method in METHODS.items() if method.published]


@pytest.mark.parametrize(
    ("situation", "method"), covering(product(["noisy", "budget too small"], PAPERS), together=1)
)
def test_every_method_of_the_paper_runs_as_published(method: str, situation: str) -> None:
    n, budget, _ = SITUATIONS[situation]
    tolerance = sv.Tolerance(gradient=0.3, curvature=0.5)
    risk = risk_of("logistic + Tukey", n, symmetric=False)
    result = sv.minimize(
        risk, budget=budget, method=method, tolerance=tolerance, simulate=3, calibration="published"
    )
    assert result.stop in (sv.Stop.WITHIN_NOISE, sv.Stop.OUT_OF_BUDGET, sv.Stop.STEPS_EXHAUSTED)


def test_published_calibration_is_refused_where_it_is_not_the_papers_or_not_private() -> None:
    risk = risk_of("logistic + Tukey", 400, symmetric=False)
    common = {"budget": sv.Budget(1.0, 1e-5), "tolerance": sv.Tolerance(gradient=0.1), "simulate": 0}
    with pytest.raises(sv.errors.ParameterError, match="not the paper's"):
        sv.minimize(risk, method="majorize", calibration="published", **common)  # type: ignore[arg-type]
    with pytest.raises(sv.errors.ParameterError, match="tight"):
        sv.minimize(risk, method="opt", calibration="loose", **common)  # type: ignore[arg-type]
    X, y = problems.arrays(400, 3)
    wide = sv.Risk(sv.Records.from_arrays(5 * X, y, radius=3.0, labels=(-1, 1)), sv.losses.Logistic())
    with pytest.raises(sv.errors.ParameterError, match="not be private"):
        sv.minimize(wide, method="opt", calibration="published", start=np.full(3, 4.0), **common)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [name for name in METHODS if name.endswith("-b")])
def test_a_gdp_ledger_is_refused_for_mini_batches_before_anything_is_charged(method: str) -> None:
    ledger = sv.Ledger(sv.Budget(1.0, 1e-5))
    with pytest.raises(sv.errors.LedgerError, match="renyi"):
        sv.minimize(
            risk_of("sigmoid + L2", 400, symmetric=False),
            budget=ledger.cap,
            method=method,
            tolerance=sv.Tolerance(gradient=0.1),
            ledger=ledger,
        )
    assert not ledger.history
