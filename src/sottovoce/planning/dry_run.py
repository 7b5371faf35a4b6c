"""A run that will not take place: prices and noise of queries that are never asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

import numpy as np

from sottovoce.accounting import Ledger
from sottovoce.methods.base import Evidence, State
from sottovoce.methods.forecast import QueryNoise
from sottovoce.privacy.prices import Prices
from sottovoce.queries import Answer, Gradient, Grid, Query, Trials
from sottovoce.queries.base import FIELDS
from sottovoce.training import account_for, goal_for

if TYPE_CHECKING:
    from sottovoce.accounting import Budget, Run
    from sottovoce.arrays import Vector
    from sottovoce.methods.base import Goal, Method
    from sottovoce.planning.outline import Outline
    from sottovoce.problem import Problem
    from sottovoce.results.certificate import Levels
    from sottovoce.results.result import Tolerance

T = TypeVar("T")

AtPoint: TypeAlias = "Callable[[Vector], Query[Any]]"
"""A query about a point that is not known yet."""

_FAR = 16.0
"""Length of trained weights, in units of 1/radius: there one record moves the gradient nearly its most."""


@final
class Planned(Answer[T]):
    """An answer that nobody gave: for prices, forecasts and tests. Nothing is released in its name."""

    __slots__ = ()

    def __init__(self, value: T, scale: float, units: int, sampling: float = 0.0) -> None:
        for name, held in zip(FIELDS, (value, scale, units, sampling), strict=True):
            object.__setattr__(self, name, held)


@final
@dataclass(frozen=True, kw_only=True)
class DryRun:
    """The prices of a run for one goal, where it starts and at weights as long as trained ones."""

    outline: Outline
    method: Method
    goal: Goal
    budget: Budget
    run: Run
    prices: Prices

    @classmethod
    def of(
        cls, outline: Outline, method: Method, goal: Goal, budget: Budget, order: float | None = None
    ) -> DryRun:
        """In the ledger that the run would open, or a Renyi one of a given `order`."""
        problem = outline.problem
        if order is None:
            ledger = account_for(method, problem, np.zeros(problem.dim), goal, budget)
        else:
            ledger = Ledger(budget, currency="renyi", order=order, unit=problem.promised_to)
        run = ledger.run(budget, method.name, unit=problem.promised_to)
        bounds = replace(outline.bounds, calibration=goal.calibration, relation=budget.relation)
        return cls(
            outline=replace(outline, bounds=bounds),
            method=method,
            goal=goal,
            budget=budget,
            run=run,
            prices=Prices(bounds, run),
        )

    def aiming(self, tolerance: Tolerance | None, *, same_order: bool = False) -> DryRun:
        """The same budget for another wish; with `same_order`, at the Renyi order of this one."""
        calibration, confidence = self.goal.calibration.value, self.goal.confidence
        goal = goal_for(self.method, self.problem, self.budget, tolerance, confidence, calibration)
        order = self.run.ledger.order if same_order else None
        return DryRun.of(self.outline, self.method, goal, self.budget, order)

    @property
    def problem(self) -> Problem:
        return self.outline.problem

    @property
    def units(self) -> int:
        """The whole budget."""
        return self.run.units_cap

    @property
    def start(self) -> Vector:
        return np.zeros(self.problem.dim)

    @property
    def far(self) -> Vector:
        """Weights as long as trained ones."""
        w = self.start
        w[0] = _FAR / self.problem.radius
        return w

    def state(self, levels: Levels, w: Vector | None = None) -> State:
        """A state that stands at `w`, or at weights as long as trained ones, and has seen nothing."""
        return State(ask=self.prices, levels=levels, w=self.far if w is None else w, watch=lambda row: None)

    def seen(self, w: Vector, norm: float, scale: float) -> Evidence:
        """The evidence that a noisy gradient of this norm would be."""
        value = np.zeros_like(w)
        value[0] = norm
        return Evidence(w=w, gradient=Planned(value, scale, 1))

    @cached_property
    def _far_gradient(self) -> Gradient:
        return Gradient(self.far)

    def gradient_scale(self, units: int) -> float:
        """Noise sd of a gradient at weights as long as trained ones."""
        return self.prices.calibrated(self._far_gradient, max(1, units)).scale

    def noise(
        self, at: AtPoint, units: int, times: int = 1, *, first: int | None = None, size: int = 0
    ) -> QueryNoise:
        """Of a query at `units`, the first time at `first`; about `size` records, or all."""
        asked = self.prices.batched(size) if size else self.prices
        query = at(self.far)
        wide = self.prices.packing(query).widening
        scale = wide * asked.calibrated(query, max(1, units)).scale
        opening = wide * asked.calibrated(at(self.start), max(1, first or units)).scale
        return QueryNoise(
            asked=query,
            times=times,
            share=units / self.units,
            scale=scale,
            norm=scale * query.spread(self.problem),
            first=opening,
            part=size / self.problem.n if size else 1.0,
        )

    def trials(self, count: int) -> AtPoint:
        """Decreases per unit of length, `count` at a time."""
        steps = np.zeros((count, self.problem.dim))
        steps[:, 0] = 1.0 / self.problem.radius
        return lambda w: Trials(w, steps)

    def grid(self, shrink: float, count: int) -> AtPoint:
        """Decreases along a line, per unit of its longest step."""
        return lambda w: Grid(w, self._unit, 1.0, shrink, count)

    def comparisons(self, units: int, times: int) -> QueryNoise:
        """AboveThreshold along a line, per unit of its longest step: two Laplace variables a comparison."""
        epsilon = self.run.currency.pure_epsilon(units)
        far, start = (
            comparison_noise(self.outline.bounds.difference(w, self._unit), epsilon)
            for w in (self.far, self.start)
        )
        return QueryNoise(
            asked=Grid(self.start, self._unit, 1.0, 0.5, 1),
            times=times,
            share=units / self.units,
            scale=far,
            norm=far,
            first=start,
        )

    @property
    def _unit(self) -> Vector:
        return self.far / _FAR * self.problem.radius


def comparison_noise(sensitivity: float, epsilon: float) -> float:
    """Sd of what AboveThreshold adds to a comparison: Laplace noise of scales 4 and 2, over epsilon."""
    return math.sqrt(2.0 * (4.0**2 + 2.0**2)) * sensitivity / epsilon
