"""Private regression on eight UCI tables: `adapt` beside AdaSSP, linear and Hessian mixing, DP-GD and DP-SGD.

    git clone https://github.com/omrilev1/HessianMix      # tables, and the authors' calibration of noise
    python -m benchmarks.adapt_regression --rivals HessianMix [--seeds 5] [--relation zero-out] [--tables pol]

Rows are made alike for all: columns standardized, a constant, divided by the longest; targets centred and
divided by the largest; four fifths train, one fifth is judged by its mean square (in units of the target's
variance). None of these tables chose a constant of `adapt`. Delta is 1/n^2.

Under zero-out the rivals run as their authors calibrate them. Under replacement of one record DP-GD has
twice the noise, batches are priced by the central limit for two mixtures, AdaSSP has sensitivities sqrt2 (of
X'X) and 2 (of X'y), and mixing, whose proof is for zero-out, is run at epsilon/2 and
delta/(1 + e^(epsilon/2)), from which the promise follows by two steps over the record that is zeroed out.

`recommended` are the settings of the authors (mixing, AdaSSP; DP-GD: 20 steps, clip 1). `tuned` is the
best of those tried, by the judged rows, told for free. `charged` pays for the search of DP-GD and DP-SGD by
Papernot and Steinke's random stopping, a mean of ten settings drawn at random, the score of each told for
free. A sketch S X with S normal is drawn as k rows of N(0, X'X), which is its law.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

import sottovoce as sv
from sottovoce.accounting.gdp import mu_of

TABLES = {
    "airfoil": ("airfoil.txt", None),
    "bike": ("bike_train.csv", ","),
    "elevators": ("elevators_train.txt", ","),
    "kin40k": ("kin40k_train.txt", ","),
    "parkinsons": ("parkinsons.txt", None),
    "pol": ("pol_train.txt", ","),
    "protein": ("protein_train.txt", ","),
    "pumadyn32nm": ("pumadyn32nm_train.txt", ","),
}


class Table(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    held_out: np.ndarray
    truth: np.ndarray

    def judged(self, w: np.ndarray) -> float:
        return float(np.mean((self.held_out @ w - self.truth) ** 2) / np.var(self.truth))


def loaded(folder: Path, name: str) -> Table:
    """The table as the authors' repository holds it, shuffled by a fixed seed."""
    file, separator = TABLES[name]
    if name == "bike":
        held = np.loadtxt(folder / file, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4, 5, 6, 7, 8, 11))
        hours = np.loadtxt(folder / file, delimiter=",", skiprows=1, usecols=0, dtype=str)
        clock = np.array([float(text[11:13]) for text in hours]) * (2.0 * np.pi / 24.0)
        data = np.column_stack([np.cos(clock), np.sin(clock), held])
    else:
        data = np.loadtxt(folder / file, delimiter=separator)
    data = data[np.random.default_rng(7).permutation(len(data))]
    X, y = data[:, :-1], data[:, -1]
    cut = int(0.8 * len(y))
    spread = X[:cut].std(axis=0)
    X = (X - X[:cut].mean(axis=0))[:, spread > 0.0] / spread[spread > 0.0]
    X = np.column_stack([np.clip(X, -6.0, 6.0), np.ones(len(X))])
    X = X / (np.linalg.norm(X[:cut], axis=1).max() * (1.0 + 2.0**-20))
    X = X / np.maximum(1.0, np.linalg.norm(X, axis=1) * (1.0 + 2.0**-20))[:, None]
    y = y - y[:cut].mean()
    y = np.clip(y / np.abs(y[:cut]).max(), -1.0, 1.0)
    return Table(X[:cut], y[:cut], X[cut:], y[cut:])


def adapted(table: Table, epsilon: float, seed: int, relation: str) -> np.ndarray:
    records = sv.Records.from_arrays(table.X, table.y, target=(-1.0, 1.0), constant=True)
    risk = sv.Risk(records, sv.losses.PseudoHuber(), sv.regularizers.L2(1e-6))
    budget = sv.Budget(epsilon=epsilon, delta=len(table.y) ** -2.0, relation=relation)  # type: ignore[arg-type]
    return sv.minimize(risk, budget=budget, simulate=seed).weights


class Promise(NamedTuple):
    """(epsilon, delta) under a relation: what a rival's own calibration is asked for."""

    epsilon: float
    delta: float
    replace: bool

    @property
    def mixing(self) -> tuple[float, float]:
        """(epsilon, delta) under zero-out that promise this."""
        if not self.replace:
            return self.epsilon, self.delta
        return 0.5 * self.epsilon, self.delta / (1.0 + math.exp(0.5 * self.epsilon))


def adassp(table: Table, promise: Promise, rng: np.random.Generator, authors: Any) -> Iterator[np.ndarray]:
    """Wang 2018, a third of the budget each for the least eigenvalue, X'X and X'y, as in the repository."""
    X, y, delta = table.X, table.y, promise.delta
    gram, d = X.T @ X, X.shape[1]
    scale = authors.calibrateAnalyticGaussianMechanism(promise.epsilon / 3.0, delta / 3.0, 1.0)
    matrix, vector = (math.sqrt(2.0), 2.0) if promise.replace else (1.0, 1.0)
    least = max(0.0, np.linalg.eigvalsh(gram)[0] + scale * rng.standard_normal() - scale**2)
    noise = np.triu(rng.standard_normal((d, d)))
    noisy = gram + matrix * scale * (noise + noise.T - np.diag(np.diag(noise)))
    crossed = X.T @ y + vector * scale * rng.standard_normal(d)
    for factor in (1.0, 0.1, 0.3, 3.0):
        ridge = max(0.0, math.sqrt(d * math.log(20.0 * d**2 / delta)) * matrix * scale * factor - least)
        yield np.linalg.lstsq(noisy + ridge * np.eye(d), crossed, rcond=None)[0]


def _sketched(gram: np.ndarray, noise: float, k: int, rng: np.random.Generator) -> np.ndarray:
    """S X + noise N, S and N normal with k rows: rows of law N(0, X'X + noise^2)."""
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(np.maximum(values, 0.0) + noise**2)
    return np.asarray(rng.standard_normal((k, len(gram))) @ root.T)


def mixed(table: Table, promise: Promise, rng: np.random.Generator, authors: Any) -> Iterator[np.ndarray]:
    """Linear mixing (GaussMix): a sketch of (X, y) with noise that makes up for a small least eigenvalue."""
    epsilon, delta = promise.mixing
    Z, d = np.column_stack([table.X, table.y]), table.X.shape[1]
    gram = Z.T @ Z
    least, failing = np.linalg.eigvalsh(gram)[0], delta / 10.0
    tau = math.sqrt(2.0 * math.log(max(3.0 / delta, 2.0 / failing)))
    for rows in (2.5, 6.0, 1.5):
        k = max(int(rows * d), int(rows * math.log(2.0 / failing)))
        start = 2.0 * math.log(1.25 / delta) / epsilon**2
        gamma = authors.solve_gamma_renyi_full(start, k, delta, epsilon, 1.0)
        spared = max(0.0, least - math.sqrt(2.0) * gamma / math.sqrt(k) * (tau - rng.standard_normal()))
        sketch = _sketched(gram, math.sqrt(max(0.0, gamma - spared)), k, rng)
        yield np.linalg.lstsq(sketch[:, :-1], sketch[:, -1], rcond=None)[0]


def hessian_mixed(
    table: Table, promise: Promise, rng: np.random.Generator, authors: Any
) -> Iterator[np.ndarray]:
    """Iterative Hessian mixing: T steps, each with a noisy sketch of X and a noisy X'(residual)."""
    (epsilon, delta), X, y = promise.mixing, table.X, table.y
    d, failing, gram = X.shape[1], delta / 10.0, X.T @ X
    least = np.linalg.eigvalsh(gram)[0]
    tau = math.sqrt(2.0 * math.log(max(4.0 / delta, 4.0 / failing)))
    for steps, rows in ((3, 6.0), (1, 6.0), (6, 6.0), (3, 2.5)):
        k = max(int(rows * d), int(rows * math.log(4.0 * steps / failing)))
        start = 2.0 * math.log(1.25 / delta) / epsilon**2
        gamma = authors.solve_gamma_renyi_full_composition(start, k, 0.75 * delta, epsilon / 2.0, 0.0, steps)
        crossed = authors.calibrateAnalyticGaussianMechanism(epsilon / 2.0, delta / 4.0, 1.0)
        crossed *= math.sqrt(steps)
        spared = max(0.0, least - gamma / math.sqrt(k) * (tau - rng.standard_normal()))
        noise, w = math.sqrt(max(0.0, gamma - spared)), np.zeros(d)
        for _ in range(steps):
            sketch = _sketched(gram, noise, k, rng)
            pull = X.T @ np.clip(y - X @ w, -1.0, 1.0) + crossed * rng.standard_normal(d)
            w = w + np.linalg.solve(sketch.T @ sketch / k, pull)
        yield w


PLANS = [(passes, batch) for batch in (1.0, 0.1) for passes in (5, 20, 80)]
"""Passes over the rows, and the part of them in a batch: 1 for DP-GD."""

STEPS = [(clip, rate) for clip in (0.03, 0.1, 0.3, 1.0) for rate in (1.0, 4.0, 16.0, 64.0)]
"""Clips of a residual, and rates."""

Plan = tuple[int, float]
Step = tuple[float, float]


def descended(
    table: Table, mu: float, plan: Plan, tried: list[Step], rng: np.random.Generator, *, replace: bool
) -> np.ndarray:
    """Clipped gradients, all of `tried` at once; columns of the result are means of the last half.

    Batches are priced by the central limit of Poisson sampling: mu^2 is the number of steps times the
    square of the chance times what two of the mixtures differ by, over N(0, 1)."""
    X, y, n = table.X, table.y, len(table.y)
    passes, batch = plan
    steps = round(passes / batch)

    def spent(s: float) -> float:
        inverse = min(s**-2.0, 300.0)
        apart = 2.0 * (math.exp(inverse) - math.exp(-inverse)) if replace else math.expm1(inverse)
        return batch * math.sqrt(steps * apart) - mu

    sigma = (1.0 + replace) * math.sqrt(steps) / mu
    if batch < 1.0:
        sigma = optimize.brentq(spent, 0.06, 1e5)
    clip, rate = (np.array(column) for column in zip(*tried, strict=True))
    w, tail = np.zeros((X.shape[1], len(tried))), np.zeros((X.shape[1], len(tried)))
    for step in range(steps):
        held = np.flatnonzero(rng.random(n) < batch) if batch < 1.0 else slice(None)
        rows = X[held]
        pull = rows.T @ np.clip(rows @ w - y[held, None], -clip, clip)
        pull += sigma * clip * rng.standard_normal(w.shape)
        w = np.clip(w - rate * pull / (batch * n), -1e6, 1e6)
        if 2 * step >= steps:
            tail = tail + w / (steps - steps // 2)
    return tail


def charged_mu(epsilon: float, delta: float, mean: float = 10.0) -> float:
    """mu of each run when a geometric number of runs is tried and the best is taken.

    Papernot and Steinke 2022, theorem 2 with eta = 1, gamma = 1/mean: at order a the choice costs
    a m + 2 (1 - 1/b) b m + 2 log(mean)/b + log(mean)/(a - 1), m = mu^2/2, for any b > 1."""
    orders, others = (
        np.exp(np.linspace(0.01, 6.0, 120))[:, None] + 1e-3,
        np.exp(np.linspace(0.01, 6.0, 120))[None],
    )

    def spent(mu: float) -> float:
        m = 0.5 * mu**2
        renyi = orders * m + 2.0 * (others - 1.0) * m + 2.0 * math.log(mean) / others
        renyi = renyi + math.log(mean) / (orders - 1.0)
        given = renyi + np.log1p(-1.0 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1.0)
        return float(given.min())

    return (
        float(optimize.brentq(lambda mu: spent(mu) - epsilon, 1e-6, 20.0)) if spent(1e-6) < epsilon else 0.0
    )


def rivals(table: Table, epsilon: float, seeds: int, relation: str, authors: Any) -> dict[str, Any]:
    """Mean squares in units of the target's variance, and which tuned rival is best, with its error."""
    n, replace = len(table.y), relation == "replace-one"
    promise = Promise(epsilon, n**-2.0, replace)
    mu, less = mu_of(epsilon, n**-2.0), charged_mu(epsilon, n**-2.0)
    least = np.linalg.lstsq(table.X, table.y, rcond=None)[0]
    ends: dict[str, list[float]] = {}
    makers: dict[str, Callable[..., Iterator[np.ndarray]]] = {
        "AdaSSP": adassp,
        "linear mixing": mixed,
        "Hessian mixing": hessian_mixed,
    }
    for name, make in makers.items():
        tried = np.array(
            [
                [
                    min(table.judged(w), 10.0)
                    for w in make(table, promise, np.random.default_rng([s, 5]), authors)
                ]
                for s in range(seeds)
            ]
        )
        ends[f"{name}, recommended"] = tried[:, 0].tolist()
        ends[f"{name}, tuned"] = tried[:, int(np.argmin(tried.mean(axis=0)))].tolist()
    for name, plans in (("DP-GD", PLANS[:3]), ("DP-SGD", PLANS[3:])):
        found = {}
        for plan in plans:
            w = descended(table, mu, plan, STEPS, np.random.default_rng([1, plan[0]]), replace=replace)
            found |= {(plan, step): table.judged(column) for step, column in zip(STEPS, w.T, strict=True)}
        plan, step = min(found, key=lambda setting: found[setting])
        ends[f"{name}, tuned"] = [
            table.judged(
                descended(table, mu, plan, [step], np.random.default_rng([s, 6]), replace=replace)[:, 0]
            )
            for s in range(seeds)
        ]
    ends["DP-GD, recommended"] = [
        table.judged(
            descended(table, mu, (20, 1.0), [(1.0, 4.0)], np.random.default_rng([s, 7]), replace=replace)[
                :, 0
            ]
        )
        for s in range(seeds)
    ]
    ends["DP-GD or DP-SGD, charged"] = [_searched(table, less, s, replace=replace) for s in range(seeds)]
    means = {name: float(np.mean(values)) for name, values in ends.items()}
    best = min((name for name in means if name.endswith("tuned")), key=lambda name: means[name])
    return {
        "least squares": table.judged(least),
        **means,
        "best tuned": best,
        "best tuned, error": float(np.std(ends[best], ddof=1) / math.sqrt(seeds)),
    }


def ours(table: Table, row: dict[str, Any], seeds: int) -> dict[str, Any]:
    """The mean square of `adapt`, its error, and where it stands by two standard errors of the difference."""
    ends = [
        table.judged(adapted(table, row["epsilon"], 2000 + seed, row["relation"])) for seed in range(seeds)
    ]
    mean, error = float(np.mean(ends)), float(np.std(ends, ddof=1) / math.sqrt(seeds))
    gap, doubt = mean - row[row["best tuned"]], 2.0 * math.hypot(error, row["best tuned, error"])
    standing = "level" if abs(gap) <= doubt else "behind" if gap > 0.0 else "ahead"
    return {"adapt": mean, "adapt, error": error, "standing": standing}


def _searched(table: Table, mu: float, seed: int, *, replace: bool) -> float:
    rng = np.random.default_rng([seed, 8])
    if mu <= 0.0:
        return 1.0
    ends = []
    for _ in range(rng.geometric(0.1)):
        plan, step = PLANS[rng.integers(len(PLANS))], STEPS[rng.integers(len(STEPS))]
        ends.append(table.judged(descended(table, mu, plan, [step], rng, replace=replace)[:, 0]))
    return min(ends)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rivals", type=Path, required=True, help="a clone of HessianMix")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", default=".1,.3,1,3")
    parser.add_argument("--relation", choices=("replace-one", "zero-out"), default="replace-one")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--again", action="store_true", help="take the rivals from --out, run `adapt` anew")
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("authors", options.rivals / "utils_Hessian_mixing.py")
    assert spec is not None
    assert spec.loader is not None
    authors = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(authors)
    kept = json.loads(options.out.read_text()) if options.again else []
    rows: list[dict[str, Any]] = []
    for name in options.tables.split(","):
        table = loaded(options.rivals / "datasets", name)
        for epsilon in map(float, options.epsilons.split(",")):
            what = {"table": name, "n": len(table.y), "epsilon": epsilon, "relation": options.relation}
            row = next((row for row in kept if what.items() <= row.items()), None)
            if row is None:
                row = what | rivals(table, epsilon, options.seeds, options.relation, authors)
            rows.append(row | ours(table, row, options.seeds))
            print(json.dumps(rows[-1]), flush=True)
            if options.out:
                others = [row for row in kept if not any(what_of(row) == what_of(new) for new in rows)]
                options.out.write_text(json.dumps(rows + others, indent=1))


def what_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """Which cell a row is about."""
    return row["table"], row["epsilon"], row["relation"]


if __name__ == "__main__":
    main()
