"""Coverage and width of private intervals on simulated data: `python -m benchmarks.inference --runs 1000`.

Every run draws records from a known population, trains with simulated noise through `minimize`, and asks its
summary whether each interval holds the truth. Runs are kept, one a line, and never repeated. No two settings
share a record or a draw of noise."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, softmax

import sottovoce as sv
from sottovoce.accounting.gdp import mu_of
from sottovoce.results.inference.expected import expected_errors

STORE = Path(__file__).with_name("inference_runs.jsonl")
PAGE = Path(__file__).with_name("inference_coverage.md")
SHARE, DELTA = 0.3, 1e-6
FIRST_SEED = 3000
"""Constants were chosen on seeds below 1000, and those up to 2000 judged earlier versions of the formula."""

COMPARED = 20
"""Runs of a setting whose errors are compared with those of statsmodels."""

ROUNDS = (100, 300, 1000)
LARGE = 100_000

INNER = 0.02
"""What tells the second column of the flat design from the first."""


@dataclass(frozen=True)
class Setting:
    """One population, one budget. The coefficient in the middle is 0."""

    model: str
    n: int
    d: int
    epsilon: float
    design: str = "plain"
    method: str = "majorize"

    @property
    def name(self) -> str:
        trained = "" if self.method == "majorize" else f" {self.method}"
        return f"{self.model} n={self.n} d={self.d} eps={self.epsilon:g} {self.design}{trained}"

    @property
    def dear(self) -> bool:
        """Whether a run takes more than a tenth of a second, or has no ends to look at."""
        return self.n == LARGE or self.method != "majorize" or self.design == "flat"

    def seeds(self, seed: int) -> tuple[list[int], int]:
        """For the records and for the noise: a setting's own."""
        own = zlib.crc32(self.name.encode())
        return [seed, own], seed + own

    @property
    def slopes(self) -> np.ndarray:
        size = 0.3 if self.model == "regression" else 0.6
        slopes = np.linspace(-size, size, self.d) / (self.d / 4.0 if self.model == "regression" else 1.0)
        slopes[self.d // 2] = 0.0
        return slopes

    def truth(self) -> np.ndarray:
        """Coefficients, the intercept last; for softmax those of the second class, then of the third."""
        if self.model == "softmax":
            return np.concatenate([np.append(self.slopes, -0.2), np.append(-0.5 * self.slopes, 0.1)])
        if self.model == "misspecified":
            return self._nearest()
        return np.append(self.slopes, 0.1 if self.model == "regression" else -0.3)

    def rows(self, rng: np.random.Generator) -> np.ndarray:
        if self.model == "misspecified":
            return rng.choice([-1.0, 1.0], size=(self.n, self.d))
        X = rng.normal(size=(self.n, self.d))
        if self.design == "correlated":
            X = X @ np.linalg.cholesky(0.7 * np.ones((self.d, self.d)) + 0.3 * np.eye(self.d)).T
        if self.design == "rare":
            X[:, 0] = rng.random(self.n) < 0.01
        if self.design == "flat":
            X[:, 1] = X[:, 0] + INNER * X[:, 1]
        return np.clip(X, -4.0, 4.0)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = self.rows(rng)
        Z = np.column_stack([X, np.ones(self.n)])
        if self.model == "regression":
            noise = 0.15 * (1.0 + (X[:, 0] > 0)) * rng.uniform(-1.0, 1.0, self.n)
            return X, Z @ self.truth() + noise
        if self.model == "softmax":
            scores = np.column_stack([np.zeros(self.n), Z @ self.truth().reshape(2, -1).T])
            return X, (softmax(scores, axis=1).cumsum(axis=1) < rng.random((self.n, 1))).sum(axis=1)
        return X, (rng.random(self.n) < self._chances(X)).astype(int)

    def _chances(self, X: np.ndarray) -> np.ndarray:
        scores = X @ self.slopes - 0.3
        return expit(scores + (2.0 * X[:, 0] * X[:, 1] if self.model == "misspecified" else 0.0))

    def _nearest(self) -> np.ndarray:
        """The logistic model nearest to a population with an interaction that it leaves out."""
        X = np.array(list(itertools.product([-1.0, 1.0], repeat=self.d)))
        Z, chances, w = np.column_stack([X, np.ones(len(X))]), self._chances(X), np.zeros(self.d + 1)
        for _ in range(50):
            p = expit(Z @ w)
            w -= np.linalg.solve((Z * (p * (1 - p))[:, None]).T @ Z, Z.T @ (p - chances))
        return w


def settings() -> Iterator[Setting]:
    for n, d, epsilon in itertools.product((5_000, 20_000, LARGE), (4, 12), (0.5, 1.0, 3.0)):
        yield Setting("logistic", n, d, epsilon)
    for design, epsilon in itertools.product(("correlated", "rare", "flat"), (1.0, 3.0)):
        yield Setting("logistic", 20_000, 4, epsilon, design)
    yield Setting("logistic", LARGE, 4, 1.0, "rare")
    for n, d, epsilon in itertools.product((5_000, 20_000), (4, 12), (1.0, 3.0)):
        yield Setting("regression", n, d, epsilon)
    for model, n, epsilon in itertools.product(("softmax", "misspecified"), (20_000, LARGE), (1.0, 3.0)):
        yield Setting(model, n, 4, epsilon)
    yield Setting("logistic", 5_000, 4, 3.0, method="adapt")
    yield Setting("logistic", 20_000, 4, 1.0, method="adapt")
    yield Setting("logistic", 20_000, 12, 3.0, method="adapt")
    yield Setting("logistic", 20_000, 10, 1.0, method="adapt")
    yield Setting("logistic", LARGE, 10, 1.0, method="adapt")
    yield Setting("logistic", LARGE, 4, 1.0, "rare", method="adapt")
    yield Setting("regression", 20_000, 12, 1.0, method="adapt")
    yield Setting("softmax", 20_000, 4, 1.0, method="adapt")


def risk_of(setting: Setting, X: np.ndarray, y: np.ndarray) -> Any:
    radius = 4.0 * math.sqrt(setting.d) if setting.model != "misspecified" else math.sqrt(setting.d)
    public: dict[str, Any] = {"radius": 1.001 * math.hypot(radius, 1.0), "intercept": True}
    if setting.model == "regression":
        records = sv.Records.from_arrays(X, y, target=(-2.0, 2.0), **public)
        return sv.Risk(records, sv.losses.PseudoHuber(0.3), sv.regularizers.L2(1e-6))
    labels = tuple(range(3 if setting.model == "softmax" else 2))
    records = sv.Records.from_arrays(X, y, labels=labels, **public)
    if setting.model == "softmax":
        return sv.SoftmaxRisk(records, sv.regularizers.L2(1e-6))
    return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))


def run(setting: Setting, seed: int) -> dict[str, Any]:
    drawn, noise = setting.seeds(seed)
    X, y = setting.draw(np.random.default_rng(drawn))
    result = sv.minimize(
        risk_of(setting, X, y),
        budget=sv.Budget(epsilon=setting.epsilon, delta=DELTA),
        inference=sv.Inference(SHARE, robust=setting.model == "misspecified"),
        method=setting.method,
        simulate=noise,
    )
    truth = setting.truth()
    summary = result.summary()
    together = result.summary(simultaneous=True).lines if summary.resolved else ()
    own = plain_errors(setting, X, y) if seed < FIRST_SEED + COMPARED else None
    return {
        "setting": setting.name,
        "seed": seed,
        "resolved": summary.resolved,
        "held": [
            int(line.low <= b <= line.high) if line.resolved else None
            for line, b in zip(summary.lines, truth, strict=True)
        ],
        "together": int(all(line.low <= b <= line.high for line, b in zip(together, truth, strict=True)))
        if summary.resolved
        else None,
        "strays": [
            round((line.estimate - b) / line.error, 3) if math.isfinite(line.error) else None
            for line, b in zip(summary.lines, truth, strict=True)
        ],
        "p": round(summary.lines[setting.d // 2].p_value, 5) if summary.resolved else None,
        "ratio": None
        if own is None
        else [
            round(line.error / e, 3) if math.isfinite(line.error) else None
            for line, e in zip(summary.lines, own, strict=True)
        ],
    }


def plain_errors(setting: Setting, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Standard errors of statsmodels on the same records, without privacy."""
    import statsmodels.api as sm

    Z = np.column_stack([X, np.ones(setting.n)])
    if setting.model == "regression":
        return np.asarray(sm.OLS(y, Z).fit(cov_type="HC0").bse)
    if setting.model == "softmax":
        return np.asarray(sm.MNLogit(y, Z).fit(disp=0).bse).T.ravel()
    robust = {"cov_type": "HC0"} if setting.model == "misspecified" else {}
    return np.asarray(sm.Logit(y, Z).fit(disp=0, **robust).bse)


def kept(store: Path) -> dict[str, dict[int, dict[str, Any]]]:
    found: dict[str, dict[int, dict[str, Any]]] = {}
    if store.exists():
        for text in store.read_text().splitlines():
            row = json.loads(text)
            found.setdefault(row["setting"], {})[row["seed"]] = row
    return found


def planned(setting: Setting) -> bool:
    """Whether `plan` calls it resolved, before data is read."""
    X, y = Setting(setting.model, 50, setting.d, 1.0).draw(np.random.default_rng(0))
    problem = replace(risk_of(setting, X, y).problem, n=setting.n)
    return expected_errors(problem, mu_of(setting.epsilon, DELTA), SHARE).resolved


def described(setting: Setting, rows: list[dict[str, Any]]) -> str:
    seen = np.array([row["held"] for row in rows], dtype=float)
    told = np.count_nonzero(~np.isnan(seen), axis=0)
    held = np.nansum(seen, axis=0)[told > 0] / told[told > 0]
    held = held if held.size else np.array([np.nan])
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        ratio = np.nanmedian(np.array(ratios, dtype=float), axis=0) if ratios else np.array([np.nan])
    resolved = [row for row in rows if row["resolved"]]
    p = stats.kstest([row["p"] for row in resolved], "uniform").pvalue if len(resolved) > 20 else math.nan
    shown = "none" if np.isnan(ratio).all() else f"{np.nanmin(ratio):.2f} to {np.nanmax(ratio):.2f}"
    cells = [
        setting.name,
        str(len(rows)),
        "yes" if planned(setting) else "no",
        f"{100 * np.mean([row['resolved'] for row in rows]):.0f} %",
        f"{100 * np.mean(~np.isnan(seen)):.0f} %",
        f"{held.min():.3f}",
        f"{held.mean():.3f}",
        f"{held.max():.3f}",
        f"{np.mean([row['together'] for row in resolved]):.3f}" if resolved else "",
        shown,
        "" if math.isnan(p) else f"{p:.2g}",
    ]
    return f"| {' | '.join(cells)} |"


HEADS = (
    "setting",
    "runs",
    "plan",
    "resolved",
    "determined",
    "least",
    "mean",
    "most",
    "all at once",
    "errors / statsmodels",
    "null p uniform",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--large", type=int, default=300, help="runs of settings that are dear or lost")
    parser.add_argument("--only", default="", help="settings whose name contains this")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop asking after so many")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    found = kept(given.store)
    wanted = [setting for setting in settings() if given.only in setting.name]
    ends = time.monotonic() + 60.0 * given.minutes
    with given.store.open("a") as store:
        for reached, setting in itertools.product(sorted({*ROUNDS, given.runs}), wanted):
            done = found.setdefault(setting.name, {})
            most = given.large if setting.dear or not planned(setting) else given.runs
            for seed in range(FIRST_SEED, FIRST_SEED + min(reached, most)):
                if seed not in done and time.monotonic() < ends:
                    done[seed] = run(setting, seed)
                    store.write(json.dumps(done[seed]) + "\n")
                    store.flush()
    lines = [
        described(setting, list(found[setting.name].values()))
        for setting in settings()
        if found.get(setting.name)
    ]
    head = f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}"
    given.page.write_text(f"{head}\n" + "\n".join(lines) + "\n")
    print(given.page.read_text())


if __name__ == "__main__":
    main()
