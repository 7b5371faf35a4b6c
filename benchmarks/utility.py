"""What `majorize` and `cubic` reach on real data, as Markdown tables for docs/benchmarks.md.

    python -m benchmarks.utility settings [majorize cubic]   all 24 settings of the paper, five seeds each
    python -m benchmarks.utility tenth                       a tenth of the tight tolerance, certified at 99 %
    python -m benchmarks.utility robust                      regression with 20 % gross outliers

A pass is one query charged to the ledger: each reads every row once. Noise is simulated by seed; exact
values are computed from public data to check every certificate. IJCNN1 is read from the folder that
SOTTOVOCE_DATA names (default /work/shared/data).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

import sottovoce as sv
from sottovoce.datasets import covertype

FOLDER = Path(os.environ.get("SOTTOVOCE_DATA", "/work/shared/data"))
EPSILONS = (0.2, 0.6, 1.0)
SETTINGS = (
    ("covtype", "logistic", 0.06, 0.245),
    ("covtype", "logistic", 0.03, 0.173),
    ("covtype", "sigmoid", 0.04, 0.2),
    ("covtype", "sigmoid", 0.02, 0.141),
    ("ijcnn1", "logistic", 0.04, 0.2),
    ("ijcnn1", "logistic", 0.02, 0.141),
    ("ijcnn1", "sigmoid", 0.04, 0.2),
    ("ijcnn1", "sigmoid", 0.02, 0.141),
)
"""Data set, loss, gradient and curvature tolerance of the paper's tables."""


def records(name: str) -> sv.Records:
    if name == "covtype":
        table = covertype.load().two_classes()
        return sv.Records.from_arrays(table.standardized(), table.signs(), labels=(-1, 1))
    with np.load(FOLDER / "ijcnn1.npz") as stored:
        X, y = stored["X_train"].astype(np.float64), stored["y_train"].astype(int)
    public = json.loads((FOLDER / "constants.json").read_text())["ijcnn1"]
    X[:, 10:] = (X[:, 10:] - np.array(public["mean"][-12:])) / np.array(public["std"][-12:])
    return sv.Records.from_arrays(X / 3.0, y, labels=(-1, 1))


def risk_of(held: sv.Records, loss: str) -> sv.Risk:
    if loss == "logistic":
        return sv.Risk(held, sv.losses.Logistic(), sv.regularizers.Tukey(1e-3))
    return sv.Risk(held, sv.losses.Sigmoid(), sv.regularizers.L2(1e-3))


def minimum(risk: sv.Risk) -> tuple[np.ndarray, float]:
    """The minimizer of a convex risk and its value, by damped Newton steps to a gradient below 1e-10."""
    w = np.zeros(risk.dim)
    for _ in range(100):
        value, gradient = risk.value_and_gradient(w)
        if np.linalg.norm(gradient) < 1e-10:
            return w, value
        step = np.linalg.solve(risk.hessian(w), gradient)
        length = 1.0
        while risk.value(w - length * step) > value and length > 1e-6:
            length /= 2.0
        w = w - length * step
    raise ArithmeticError("Newton's method did not converge")


def spent_share(result: sv.Result, budget: sv.Budget) -> float:
    return sum(row.mu_squared for row in result.trace) / sv.Ledger(budget).run(budget).mu_squared_left


def settings(methods: list[str]) -> None:
    held = {name: records(name) for name in ("covtype", "ijcnn1")}
    print("| data | loss | gradient | curvature | epsilon | method | certified | passes | budget | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for data, loss, gradient, curvature in SETTINGS:
        risk = risk_of(held[data], loss)
        for epsilon in EPSILONS:
            for method in methods:
                print(setting_row(data, loss, risk, method, epsilon, gradient, curvature), flush=True)


def setting_row(
    data: str, loss: str, risk: sv.Risk, method: str, epsilon: float, gradient: float, curvature: float
) -> str:
    budget = sv.Budget(epsilon=epsilon, delta=1.0 / risk.n)
    results, seconds, most = [], 0.0, 0
    for seed in range(5):
        start = np.random.default_rng(seed).standard_normal(risk.dim)
        ledger = sv.Ledger(budget)
        began = time.perf_counter()
        result = sv.minimize(
            risk,
            budget=budget,
            ledger=ledger,
            method=method,
            tolerance=sv.Tolerance(gradient=gradient, curvature=curvature),
            start=start,
            simulate=seed,
        )
        seconds += time.perf_counter() - began
        most = max(most, len(ledger.history))
        assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most
        assert risk.smallest_eigenvalue(result.weights) >= result.certificate.curvature_at_least
        results.append(result)
    certified = sum(result.certificate.meets(result.tolerance) for result in results)
    used = max(spent_share(result, budget) for result in results)
    return (
        f"| {data} | {loss} | {gradient} | {curvature} | {epsilon} | {method} | {certified} of 5 | "
        f"at most {most} | {100 * used:.0f} % | {seconds / 5:.2f} |"
    )


def tenth() -> None:
    print(
        "| loss | tolerance | method | certified | gradient, certified | gradient, true | passes | budget |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    held = records("covtype")
    for loss, gradient, curvature in (("logistic", 0.003, 0.0173), ("sigmoid", 0.002, 0.0141)):
        risk = risk_of(held, loss)
        budget = sv.Budget(epsilon=0.2, delta=1.0 / risk.n)
        for method in ("majorize", "cubic"):
            ledgers = [sv.Ledger(budget) for _ in range(5)]
            results = [
                sv.minimize(
                    risk,
                    budget=budget,
                    ledger=ledgers[seed],
                    method=method,
                    tolerance=sv.Tolerance(gradient=gradient, curvature=curvature),
                    simulate=seed,
                    confidence=0.99,
                )
                for seed in range(5)
            ]
            certified = sum(result.certificate.meets(result.tolerance) for result in results)
            bound = max(result.certificate.gradient_norm_at_most for result in results)
            true = max(np.linalg.norm(risk.gradient(result.weights)) for result in results)
            for result in results:
                assert risk.smallest_eigenvalue(result.weights) >= result.certificate.curvature_at_least
            used = max(spent_share(result, budget) for result in results)
            most = max(len(ledger.history) for ledger in ledgers)
            print(
                f"| {loss} | {gradient} / {curvature} | {method} | {certified} of 5 | at most {bound:.4f} | "
                f"at most {true:.4f} | at most {most} | {100 * used:.0f} % |",
                flush=True,
            )


def robust(seeds: int = 5) -> None:
    """One in five training targets is replaced by a far one; the clean test error is the mean square."""
    losses = {
        "pseudo-huber(1)": sv.losses.PseudoHuber(),
        "cauchy(0.5)": sv.losses.Cauchy(0.5),
        "geman-mcclure(0.5)": sv.losses.GemanMcClure(0.5),
        "welsch(0.5)": sv.losses.Welsch(0.5),
    }
    errors: dict[str, list[float]] = {name: [] for name in losses}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60_000, 10))
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1) / 3.0)[:, None]
        X /= 3.0
        truth = rng.standard_normal(10)
        y = X @ truth + 0.05 * rng.standard_normal(len(X))
        train, test = slice(0, 50_000), slice(50_000, None)
        bad = rng.random(50_000) < 0.2
        observed = y[train].copy()
        observed[bad] = 4.0 + rng.random(bad.sum())
        held = sv.Records.from_arrays(X[train], observed, target=(-5.0, 5.0), intercept=True, radius=2**0.5)
        for name, loss in losses.items():
            risk = sv.Risk(held, loss, sv.regularizers.L2(1e-4))
            result = sv.minimize(risk, budget=sv.Budget(epsilon=1.0, delta=1e-6), simulate=seed)
            predicted = X[test] @ result.weights[:-1] + result.weights[-1]
            errors[name].append(float(np.mean((predicted - y[test]) ** 2)))
    base = float(np.mean(errors["pseudo-huber(1)"]))
    print("| loss | clean test error | share of pseudo-Huber's |")
    print("| --- | --- | --- |")
    for name, found in errors.items():
        print(f"| {name} | {np.mean(found):.5f} | {np.mean(found) / base:.3f} |")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["settings", *methods]:
            settings(methods or ["majorize", "cubic"])
        case ["tenth"]:
            tenth()
        case ["robust"]:
            robust()
        case _:
            print(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
