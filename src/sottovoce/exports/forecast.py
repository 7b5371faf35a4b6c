"""Which coefficients of a declared table a budget will determine: from public facts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sottovoce.accounting.gdp import mu_of
from sottovoce.data.contrasts import asked_in
from sottovoce.data.made_up import Custom, made_up_rows
from sottovoce.errors import ParameterError
from sottovoce.exports.units import terms_for
from sottovoce.results.inference.forecast import LARGEST, CoefficientForecast, Prior, Scene, forecast
from sottovoce.results.inference.request import Inference

if TYPE_CHECKING:
    from sottovoce.accounting import Budget
    from sottovoce.data.columns import Target
    from sottovoce.data.schema import Schema
    from sottovoce.problem import Problem

_WEIGHT = 0.6
"""What rows are expected to count on average, in units of the declared cap."""


_HAZARD = 0.1
"""Hazard of an interval, where none is declared."""

_KIND = Custom(spread=0.4, correlation=0.0, rarer=0.6, absent=0.03)
_HARD = Custom(spread=0.25, correlation=0.7, rarer=0.4, absent=0.0)
_FAIR, _CAUTIOUS = 1.0, 1.5
"""Two kinds of tables, and what their noise is multiplied by; chosen on `benchmarks.health_tables.CHOSE`."""


def coefficient_forecast(
    schema: Schema, loss: str, problem: Problem, budget: Budget, share: float, *, robust: bool = False
) -> CoefficientForecast | None:
    """None where no part of the budget is kept for it, or where there are too many weights to say."""
    if not share or problem.dim > LARGEST or schema.target is None:
        return None
    target = schema.target
    return forecast(
        replace(problem, constant=problem.columns - 1),
        (Scene(made_up_rows(schema, _KIND), _FAIR), Scene(made_up_rows(schema, _HARD), _CAUTIOUS)),
        terms_for(schema, loss),
        Inference(share, robust, asked_in(schema)),
        prior=Prior.of(
            problem,
            _highest(target),
            _HAZARD if target.survival and target.typical is None else target.typical,
            _WEIGHT if schema.weighed_by or target.survival else 1.0,
            1 if target.survival is None else len(target.survival.grid),
        ),
        mu=mu_of(budget.epsilon, budget.delta),
        relation=budget.relation,
    )


def _highest(target: Target) -> float | None:
    """The largest count, in units of which slopes are; an event by the complementary log-log is one of 1."""
    if target.survival is not None and target.survival.link == "cloglog":
        return 1.0
    return target.high if target.count else None


def require_determined(expected: CoefficientForecast | None) -> None:
    """Refuse to spend where no coefficient will come of it."""
    if expected is not None and expected.nothing:
        raise ParameterError(
            "inference: no coefficient is expected to be determined with so many records, columns and this "
            "budget. Nothing was charged. Take a larger epsilon or share, fewer or coarser columns (`plan` "
            "tells them apart), or leave inference out; anyway=True, or --anyway, spends it all the same."
        )
