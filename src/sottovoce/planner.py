"""What a budget can buy, before any data is read."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, final

from sottovoce import forecast
from sottovoce.accounting import Budget, Gdp
from sottovoce.accounting.convert import rho_published
from sottovoce.errors import ParameterError
from sottovoce.forecast import QueryNoise
from sottovoce.methods.loop import Method
from sottovoce.methods.registry import by_name
from sottovoce.queries import Problem
from sottovoce.regularizers import L2
from sottovoce.result import Tolerance

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.losses import Loss
    from sottovoce.regularizers import Regularizer

_MOST_RECORDS = 2**62
_EPSILONS = (1e-4, 1000.0)


@final
@dataclass(frozen=True, kw_only=True)
class Nearest:
    """Wishes near an impossible one: each alone, the others kept, would do. None: not even the largest."""

    gradient: float
    curvature: float
    n: int | None
    epsilon: float | None

    def __str__(self) -> str:
        ways = [f"tolerance gradient={self.gradient:.2g}, curvature={max(self.curvature, 0.0):.2g}"]
        if self.n is not None:
            ways.append(f"n={self.n}")
        if self.epsilon is not None:
            ways.append(f"epsilon={self.epsilon:.2g}")
        return " or ".join(ways)


@final
@dataclass(frozen=True, kw_only=True)
class Plan:
    """A forecast from public numbers: no promise, but what the noise alone allows.

    `gradient` and `curvature` are the smallest tolerances the method can expect to certify. `minimal_n` is
    the least n for the wanted tolerance by the same formulas, `paper_minimal_n` that of Gao & Wright's
    Theorem short_thm, errata repaired. `seconds` is measured on synthetic rows on this machine."""

    n: int
    dim: int
    method: str
    epsilon: float
    delta: float
    mu: float
    steps: int
    passes: int
    majorizer: str | None
    noise: tuple[QueryNoise, ...]
    gradient: float
    curvature: float
    confidence: float
    tolerance: Tolerance | None = None
    feasible: bool | None = None
    minimal_n: int | None = None
    paper_minimal_n: int | None = None
    nearest: Nearest | None = None
    seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{self.method} on n = {self.n} records with {self.dim} weights, epsilon = {self.epsilon:g}, "
            f"delta = {self.delta:.3g} (mu = {self.mu:.4g})",
            f"at most {self.steps} steps, about {self.passes} passes over the data"
            + ("" if self.seconds is None else f", about {self.seconds:.2g} seconds on this machine"),
        ]
        if self.majorizer is not None:
            lines.append(f"curvature is bounded from {self.majorizer}")
        lines += [
            f"noise of the {query.query}: sd {query.scale:.3g} an entry, norm about {query.norm:.3g}, "
            f"for {100 * query.share:.3g} % of mu^2"
            for query in self.noise
        ]
        lines.append(
            f"can expect to certify a gradient norm of {self.gradient:.3g} and a curvature of "
            f"{-max(self.curvature, 0.0):.3g}, with {100 * self.confidence:.6g} % confidence"
        )
        if self.tolerance is not None:
            wish = f"gradient {self.tolerance.gradient:g}, curvature {self.tolerance.curvature:.3g}"
            lines.append(f"wanted: {wish}: {'possible' if self.feasible else 'out of reach'}")
            lines.append(f"n needed: {_shown(self.minimal_n)} (the paper's: {_shown(self.paper_minimal_n)})")
        if self.nearest is not None:
            lines.append(f"nearest possible: {self.nearest}")
        return "\n".join(lines)


def plan(
    *,
    n: int,
    dim: int,
    loss: Loss,
    budget: Budget,
    regularizer: Regularizer | None = None,
    method: str | Method = "majorize",
    radius: float = 1.0,
    tolerance: Tolerance | None = None,
    confidence: float = 0.99,
    target: tuple[float, float] | None = None,
    intercept: bool = False,
    nonzeros: int | None = None,
    timed: bool = True,
) -> Plan:
    """Forecast a run from what is public: noise of every query, steps, and what can be certified.

    `dim` counts the intercept if there is one. With a `tolerance` the plan says whether it is within reach,
    how many records it takes, and which wish nearby would do. `timed=False` skips the timing probe."""
    if not isinstance(n, int) or not isinstance(dim, int) or n < 1 or dim < 1:
        raise ParameterError("n and dim must be whole numbers of at least 1.")
    if not isinstance(budget, Budget):
        raise ParameterError("budget must be a Budget, for example Budget(epsilon=1.0, delta=1e-6).")
    if not 0.0 < confidence < 1.0:
        raise ParameterError("confidence must be a number strictly between 0 and 1, for example 0.99.")
    chosen = by_name(method) if isinstance(method, str) else method
    problem = Problem.linear(
        n=n,
        dim=dim,
        radius=radius,
        loss=loss,
        regularizer=regularizer or L2(0.0),
        target=target,
        intercept=intercept,
        nonzeros=nonzeros,
    )
    wanted = None if tolerance is None else tolerance.resolved(problem)

    def expected(records: int, epsilon: float) -> forecast.Forecast:
        mu_squared = Gdp().mu_squared(Gdp().cap(Budget(epsilon=epsilon, delta=budget.delta)))
        return forecast.of(chosen, replace(problem, n=records), math.sqrt(mu_squared), confidence, wanted)

    here = expected(n, budget.epsilon)
    found = Plan(
        n=n,
        dim=dim,
        method=chosen.name,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mu=here.mu,
        steps=here.steps,
        passes=here.passes,
        majorizer=here.majorizer,
        noise=here.noise,
        gradient=here.gradient,
        curvature=here.curvature,
        confidence=confidence,
        tolerance=wanted,
        seconds=forecast.seconds(problem, loss, here) if timed else None,
    )
    if wanted is None:
        return found
    feasible = here.reaches(wanted)
    records = _least(lambda size: expected(size, budget.epsilon).reaches(wanted), 1, _MOST_RECORDS)
    nearest = None
    if not feasible:
        nearest = Nearest(
            gradient=max(wanted.gradient, here.gradient),
            curvature=max(wanted.curvature or 0.0, here.curvature),
            n=records,
            epsilon=_least_epsilon(lambda epsilon: expected(n, epsilon).reaches(wanted)),
        )
    return replace(
        found,
        feasible=feasible,
        minimal_n=records,
        paper_minimal_n=_papers(problem, wanted, budget, confidence),
        nearest=nearest,
    )


def _least(works: Callable[[int], bool], low: int, high: int) -> int | None:
    """The least whole number that works, if the largest does; more never hurts."""
    if not works(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle + 1, high)
    return low


def _least_epsilon(works: Callable[[float], bool]) -> float | None:
    """The least epsilon that works, to one part in a thousand, rounded up."""
    low, high = _EPSILONS
    if not works(high):
        return None
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _papers(problem: Problem, tolerance: Tolerance, budget: Budget, confidence: float) -> int:
    """n_min of the paper's short-step method for the same tolerance and zCDP budget."""
    from sottovoce.sample_complexity import Multipliers, Setting, short_step

    setting = Setting.of(problem, tolerance, failure=1.0 - confidence)
    rho = rho_published(budget.epsilon, budget.delta)
    return short_step(setting, Multipliers.short_step(rho, setting.short_visits)).records


def _shown(number: int | None) -> str:
    return "more than any table has" if number is None else f"{number}"
