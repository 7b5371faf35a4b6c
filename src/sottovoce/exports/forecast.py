"""Which coefficients of a declared table a budget will determine: from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

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

_HAZARD = 0.1
"""Hazard of an interval, where none is declared."""


@final
@dataclass(frozen=True)
class _Kind:
    """A kind of tables; what rows count on average there, in units of the declared cap, if they are weighed;
    and what noise is multiplied by, tables being less regular than made-up rows."""

    custom: Custom
    weight: float
    caution: float

    def scene(self, schema: Schema, problem: Problem, target: Target) -> Scene:
        survival = target.survival
        prior = Prior.of(
            problem,
            _highest(target),
            _HAZARD if survival and target.typical is None else target.typical,
            self.weight if schema.weighed_by or survival else 1.0,
            1 if survival is None else len(survival.grid),
        )
        return Scene(made_up_rows(schema, self.custom), prior, self.caution)


_KIND = _Kind(Custom(spread=0.4, correlation=0.0, rarer=0.6, absent=0.03), 1.0, 1.0)
_HARD = _Kind(Custom(spread=0.25, correlation=0.7, rarer=0.4, absent=0.0), 0.6, 1.5)
"""Chosen on `benchmarks.health_tables.CHOSE`."""


def coefficient_forecast(
    schema: Schema, loss: str, problem: Problem, budget: Budget, asked: Inference
) -> CoefficientForecast | None:
    """None where no part of the budget is kept for it, or where there are too many weights to say."""
    target = schema.target
    if not asked.share or problem.dim > LARGEST or target is None:
        return None
    kind, hard = (each.scene(schema, problem, target) for each in (_KIND, _HARD))
    return forecast(
        replace(problem, constant=problem.columns - 1),
        (kind, hard),
        terms_for(schema, loss),
        replace(asked, design=asked_in(schema)),
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
            "tells them apart), or leave inference out; Inference(share, anyway=True), or "
            "--anyway, spends it all the same."
        )
