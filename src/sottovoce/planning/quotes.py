"""An oracle without data: it quotes prices and noise for questions that are never asked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

import numpy as np

from sottovoce.accounting import Ledger
from sottovoce.accounting.events import Query
from sottovoce.methods.loop import Evidence, Walk
from sottovoce.planning.outline import QueryNoise
from sottovoce.privacy.lattice import calibrate
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.privacy.symmetric import packing_for
from sottovoce.questions import Answer
from sottovoce.training import account_for, goal_for

if TYPE_CHECKING:
    from sottovoce.accounting import Budget, Run
    from sottovoce.arrays import Vector
    from sottovoce.certificate import Levels
    from sottovoce.methods.loop import Goal, Method
    from sottovoce.planning.outline import Outline
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.questions import Problem
    from sottovoce.result import Tolerance
    from sottovoce.risks.protocol import ExactRisk

_FAR = 16.0
"""Length of trained weights, in units of 1/radius: there one record moves the gradient nearly its most."""


@final
@dataclass(frozen=True, kw_only=True)
class Quotes:
    """A run that will not take place: the oracle's own prices and noise, and no data behind it."""

    outline: Outline
    method: Method
    goal: Goal
    budget: Budget
    run: Run
    ask: Oracle

    @classmethod
    def of(
        cls, outline: Outline, method: Method, goal: Goal, budget: Budget, order: float | None = None
    ) -> Quotes:
        """In the ledger that the run would open, or a Renyi one of a given `order`."""
        problem = outline.problem
        if order is None:
            ledger = account_for(method, problem, np.zeros(problem.dim), goal, budget)
        else:
            ledger = Ledger(budget, currency="renyi", order=order)
        run = ledger.run(budget, method.name)
        # the oracle reads bounds and constants alone as long as no question is put to it
        ask = Oracle(cast("ExactRisk", outline), run, SimulatedNoise(0), goal.calibration)
        bounds = replace(outline.bounds, calibration=goal.calibration)
        return cls(
            outline=replace(outline, bounds=bounds),
            method=method,
            goal=goal,
            budget=budget,
            run=run,
            ask=ask,
        )

    def aiming(self, tolerance: Tolerance | None, *, same_order: bool = False) -> Quotes:
        """The same budget for another wish; with `same_order`, at the Renyi order of this one."""
        calibration, confidence = self.goal.calibration.value, self.goal.confidence
        goal = goal_for(self.method, self.problem, self.budget, tolerance, confidence, calibration)
        order = self.run.ledger.order if same_order else None
        return Quotes.of(self.outline, self.method, goal, self.budget, order)

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

    def walk(self, levels: Levels, w: Vector | None = None) -> Walk:
        """A walk that stands at `w`, or at weights as long as trained ones, and has seen nothing."""
        return Walk(ask=self.ask, levels=levels, w=self.far if w is None else w, watch=lambda row: None)

    def seen(self, w: Vector, norm: float, scale: float) -> Evidence:
        """The evidence that a noisy gradient of this norm would be."""
        value = np.zeros_like(w)
        value[0] = norm
        return Evidence(w=w, gradient=Answer(value, scale, 1))

    @cached_property
    def _far_moves(self) -> float:
        return self.outline.bounds.gradient(self.far)

    def gradient_scale(self, units: int) -> float:
        """Noise sd of a gradient at weights as long as trained ones."""
        return calibrate(self._far_moves, self._mu_squared(units, 0), self.problem.dim).scale

    def gradient(self, units: int, times: int = 1, *, first: int | None = None, size: int = 0) -> QueryNoise:
        """A gradient at `units`, the first of them at `first`; of `size` records, or all."""
        bounds, dim = self._bounds(size), self.problem.dim
        return self._noise(
            Query.GRADIENT.value,
            (bounds.gradient(self.far), bounds.gradient(self.start)),
            dim,
            units,
            times=times,
            first=first,
            size=size,
            spread=math.sqrt(dim),
        )

    def hessian(self, units: int, times: int = 1, *, first: int | None = None, size: int = 0) -> QueryNoise:
        bounds, dim = self._bounds(size), self.problem.dim
        wide = packing_for(self.goal.calibration.value == "published").widening
        return self._noise(
            Query.HESSIAN.value,
            (wide * bounds.hessian(self.far), wide * bounds.hessian(self.start)),
            dim * (dim + 1) // 2,
            units,
            times=times,
            first=first,
            size=size,
            spread=math.sqrt(2.0 * dim),
        )

    def gram(self, units: int) -> QueryNoise:
        moves, columns = self.outline.bounds.gram(), self.problem.columns
        entries, spread = columns * (columns + 1) // 2, math.sqrt(2.0 * columns)
        return self._noise(Query.GRAM.value, (moves, moves), entries, units, spread=spread)

    def gram_diagonal(self, units: int) -> QueryNoise:
        moves, columns = self.outline.bounds.gram_diagonal(), self.problem.columns
        return self._noise(
            Query.GRAM_DIAGONAL.value, (moves, moves), columns, units, spread=math.sqrt(columns)
        )

    def trials(self, units: int, count: int, times: int) -> QueryNoise:
        """Decreases per unit of length, `count` at a time."""
        steps = np.zeros((count, self.problem.dim))
        steps[:, 0] = 1.0 / self.problem.radius
        bounds = self.outline.bounds
        moves = (bounds.trials(self.far, steps), bounds.trials(self.start, steps))
        return self._noise(Query.TRIALS.value, moves, count, units, times=times, spread=math.sqrt(count))

    def search(self, units: int, shrink: float, count: int, times: int) -> QueryNoise:
        """Decreases along a line, per unit of its longest step."""
        bounds, direction = self.outline.bounds, self.far / _FAR * self.problem.radius
        moves = (
            bounds.grid(self.far, direction, 1.0, shrink, count),
            bounds.grid(self.start, direction, 1.0, shrink, count),
        )
        return self._noise(Query.LINE_SEARCH.value, moves, count, units, times=times, spread=math.sqrt(count))

    def comparisons(self, units: int, times: int) -> QueryNoise:
        """AboveThreshold along a line, per unit of its longest step: two Laplace variables a comparison."""
        epsilon, unit = self.run.currency.pure_epsilon(units), self.far / _FAR * self.problem.radius
        far, start = (
            comparison_noise(self.outline.bounds.difference(w, unit), epsilon) for w in (self.far, self.start)
        )
        return QueryNoise(
            query=Query.LINE_SEARCH.value,
            times=times,
            share=units / self.units,
            scale=far,
            norm=far,
            first=start,
        )

    def scalar(self, query: Query, units: int, times: int = 1) -> QueryNoise:
        """The gradient's norm or the smallest eigenvalue."""
        bounds = self.outline.bounds
        of = bounds.gradient_norm if query is Query.GRADIENT_NORM else bounds.smallest_eigenvalue
        return self._noise(query.value, (of(self.far), of(self.start)), 1, units, times=times, spread=1.0)

    def _bounds(self, size: int) -> Bounds:
        return self.outline.holding(size).bounds if size else self.outline.bounds

    def _noise(
        self,
        query: str,
        moves: tuple[float, float],
        entries: int,
        units: int,
        *,
        spread: float,
        times: int = 1,
        first: int | None = None,
        size: int = 0,
    ) -> QueryNoise:
        far, start = moves
        scale = calibrate(far, self._mu_squared(units, size), entries).scale
        opening = calibrate(start, self._mu_squared(first or units, size), entries).scale
        return QueryNoise(
            query=query,
            times=times,
            share=units / self.units,
            scale=scale,
            norm=scale * spread,
            first=opening,
            part=size / self.problem.n if size else 1.0,
        )

    def _mu_squared(self, units: int, size: int) -> float:
        if not size:
            return self.ask.mu_squared(max(1, units))
        return self.run.currency.multiplier(max(1, units), size, self.problem.n) ** -2


def comparison_noise(sensitivity: float, epsilon: float) -> float:
    """Sd of what AboveThreshold adds to a comparison: Laplace noise of scales 4 and 2, over epsilon."""
    return math.sqrt(2.0 * (4.0**2 + 2.0**2)) * sensitivity / epsilon
