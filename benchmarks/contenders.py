"""Who takes part: ways to fit private logistic regression, each with the settings it may be tuned over.

A contender names its settings for an epsilon and fits the task with one of them: weights and passes over the
rows. The best setting is found by the exact loss and that tuning is not charged, so every rival is shown at
better than it could do. `majorize` and `cubic` have one setting, the default.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

import sottovoce as sv
from benchmarks.sgd import ADD_OR_REMOVE, REPLACE, noise_scale
from benchmarks.task import RIDGE, Task
from sottovoce.accounting.gdp import mu_of

Setting = tuple[float, ...]
Fit = tuple[np.ndarray, int]


@dataclass(frozen=True, kw_only=True)
class Contender(ABC):
    """`promise` is what the guarantee says: which neighbours, and whether delta is used."""

    name: str
    promise: str = REPLACE

    @abstractmethod
    def settings(self, epsilon: float) -> Mapping[str, Setting]:
        """Settings to choose from, by what a table calls them."""

    @abstractmethod
    def fit(self, task: Task, epsilon: float, setting: Setting, seed: int) -> Fit:
        """Weights and passes; noise is drawn from the seed."""


@final
@dataclass(frozen=True, kw_only=True)
class Ours(Contender):
    """A method of the library by name; the paper's methods take the best of several tolerances."""

    tolerances: tuple[float, ...] = ()

    def settings(self, epsilon: float) -> Mapping[str, Setting]:
        return {f"gradient {t:g}": (t,) for t in self.tolerances} or {"default": ()}

    def fit(self, task: Task, epsilon: float, setting: Setting, seed: int) -> Fit:
        budget = sv.Budget(epsilon=epsilon, delta=task.delta)
        ledger = sv.Ledger(budget)
        tolerance = sv.Tolerance(gradient=setting[0]) if setting else None
        result = sv.minimize(
            task.risk, budget=budget, method=self.name, tolerance=tolerance, ledger=ledger, simulate=seed
        )
        return result.weights, len(ledger.history)


@final
@dataclass(frozen=True, kw_only=True)
class GradientDescent(Contender):
    """Every record in every step, equal shares, the last tenth of the iterates averaged."""

    name: str = "DP gradient descent"
    grid: tuple[Setting, ...] = ((100, 60.0), (100, 90.0), (300, 30.0), (300, 60.0))

    def settings(self, epsilon: float) -> Mapping[str, Setting]:
        return {f"{steps:g} steps, rate {rate:g}": (steps, rate) for steps, rate in self.grid}

    def fit(self, task: Task, epsilon: float, setting: Setting, seed: int) -> Fit:
        steps, rate = int(setting[0]), setting[1]
        scale = 2.0 / task.n * math.sqrt(steps) / mu_of(epsilon, task.delta)

        def gradient(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return task.risk.gradient(w) + scale * rng.standard_normal(task.dim)

        return averaged_descent(gradient, task.dim, steps, rate, seed), steps


@final
@dataclass(frozen=True, kw_only=True)
class StochasticDescent(Contender):
    """DP-SGD: Poisson batches of gradients of norm at most 1, which no clipping touches."""

    name: str = "DP-SGD"
    batch: int = 4096
    rates: tuple[float, ...] = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
    lengths: tuple[int, ...] = (10, 20)

    def settings(self, epsilon: float) -> Mapping[str, Setting]:
        return {f"{e} epochs, rate {r:g}": (e, r) for e in self.lengths for r in self.rates}

    def fit(self, task: Task, epsilon: float, setting: Setting, seed: int) -> Fit:
        epochs, rate = int(setting[0]), setting[1]
        steps = math.ceil(epochs * task.n / self.batch)
        scale = noise_scale(epsilon, task.delta, self.batch / task.n, steps, self.promise)

        def gradient(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            size = rng.binomial(task.n, self.batch / task.n)
            rows = task.signed.take(rng.choice(task.n, size, replace=False, shuffle=False), axis=0)
            total = -(rows.T @ (1.0 / (1.0 + np.exp(rows @ w.astype(np.float32)))))
            return (total + scale * rng.standard_normal(task.dim)) / self.batch + RIDGE * w

        return averaged_descent(gradient, task.dim, steps, rate, seed), epochs


@final
@dataclass(frozen=True, kw_only=True)
class NoisyNewton(Contender):
    """Gradient and Hessian in every step, eigenvalues floored at a multiple of the noise."""

    name: str = "noisy Newton"

    def settings(self, epsilon: float) -> Mapping[str, Setting]:
        return {f"{s} steps, floor {f:g}": (s, f) for s in (3, 6) for f in (1.0, 2.0, 4.0)}

    def fit(self, task: Task, epsilon: float, setting: Setting, seed: int) -> Fit:
        steps, floor, dim = int(setting[0]), setting[1], task.dim
        share = mu_of(epsilon, task.delta) / math.sqrt(2 * steps)
        g_scale, h_scale = 2.0 / task.n / share, math.sqrt(2.0) / 4.0 / task.n / share
        rng, w = np.random.default_rng(seed), np.zeros(dim)
        for _ in range(steps):
            noise = rng.standard_normal((dim, dim))
            values, vectors = np.linalg.eigh(task.risk.hessian(w) + h_scale * (noise + noise.T) / 2.0)
            values = np.maximum(values, floor * h_scale * math.sqrt(2.0 * dim))
            noisy = task.risk.gradient(w) + g_scale * rng.standard_normal(dim)
            w = w - vectors @ ((vectors.T @ noisy) / values)
        return w, 2 * steps


@final
@dataclass(frozen=True, kw_only=True)
class OutputPerturbation(Contender):
    """The minimizer with ridge r moves by 2/(n r) and gets that much noise; found by six Newton steps."""

    name: str = "output perturbation"

    def settings(self, epsilon: float) -> Mapping[str, Setting]:
        return {f"ridge {r:g}": (r,) for r in (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)}

    def fit(self, task: Task, epsilon: float, setting: Setting, seed: int) -> Fit:
        (ridge,), steps = setting, 6
        w = np.zeros(task.dim)
        for _ in range(steps):
            slope = task.risk.gradient(w) + (ridge - RIDGE) * w
            w = w - np.linalg.solve(task.risk.hessian(w) + (ridge - RIDGE) * np.eye(task.dim), slope)
        scale = 2.0 / (task.n * ridge) / mu_of(epsilon, task.delta)
        return w + scale * np.random.default_rng(seed).standard_normal(task.dim), 2 * steps


@final
@dataclass(frozen=True, kw_only=True)
class OneRelease(Contender):
    """A yardstick, not private: the whole budget on one gradient, at the optimum, with exact curvature.

    The minimizer of the exact quadratic there plus noise times w plus r/2 ||w||^2."""

    name: str = "one release at the optimum"
    promise: str = "none: uses the exact optimum"

    def settings(self, epsilon: float) -> Mapping[str, Setting]:
        return {f"ridge {r:g}": (r,) for r in (1e-6, 3e-6, 6e-6, 1e-5, 2e-5, 4e-5, 8e-5)}

    def fit(self, task: Task, epsilon: float, setting: Setting, seed: int) -> Fit:
        w, _ = task.best
        scale = 2.0 / task.n / mu_of(epsilon, task.delta)
        noise = scale * np.random.default_rng(seed).standard_normal(task.dim)
        hessian = task.risk.hessian(w)
        return np.linalg.solve(hessian + setting[0] * np.eye(task.dim), hessian @ w - noise), 2


def averaged_descent(
    gradient: Callable[[np.ndarray, np.random.Generator], np.ndarray],
    dim: int,
    steps: int,
    rate: float,
    seed: int,
) -> np.ndarray:
    """Steps of one length from zeros; the mean of the last tenth of the iterates."""
    rng, kept = np.random.default_rng(seed), max(1, steps // 10)
    w, tail = np.zeros(dim), np.zeros(dim)
    for step in range(steps):
        w = w - rate * gradient(w, rng)
        if step >= steps - kept:
            tail += w
    return tail / kept


ADAPT = Ours(name="adapt")
MAJORIZE = Ours(name="majorize")
CUBIC = Ours(name="cubic")
LINE_SEARCH = Ours(name="2opt-ls", tolerances=(0.01, 0.003, 0.001))
DESCENT = GradientDescent()
SGD = StochasticDescent()
SGD_ADD_REMOVE = StochasticDescent(name="DP-SGD, add or remove", promise=ADD_OR_REMOVE)
