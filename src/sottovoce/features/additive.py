"""An additive model: a curve of every number, its knots placed by marginals that the run asks for first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, final

from sottovoce.accounting.gdp import mu_of
from sottovoce.data.layout import RowLayout
from sottovoce.features.curves import curved, knot_count
from sottovoce.features.marginals import Marginal, read_off
from sottovoce.queries import ColumnMeans
from sottovoce.risks.staged import StagedRisk

if TYPE_CHECKING:
    from sottovoce.accounting import Budget
    from sottovoce.data.schema import Schema
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries
    from sottovoce.risks.protocol import ExactRisk

SHARE = 0.05
"""Part of the budget for the marginals. Knots need no more precision than a few percent of the records."""


@final
class Additive(StagedRisk):
    """The risk of an additive model over a table: `first` is over rows of `coded(schema)`, and `risk_over`
    reads the same table by another schema and makes a risk of it."""

    def __init__(
        self, schema: Schema, first: ExactRisk, risk_over: Callable[[Schema], ExactRisk], budget: Budget
    ) -> None:
        self._schema = schema
        self._risk_over = risk_over
        self.first = first
        self._knots = knot_count(first.problem.n, mu_of(budget.epsilon, budget.delta), len(schema.columns))
        self.schema = curved(schema, self._knots)
        self.marginals: tuple[Marginal, ...] = ()

    @property
    def problem(self) -> Problem:
        """Public constants of the risk to come: wherever knots lie, there are as many features."""
        before, layout = self.first.problem, RowLayout.of(self.schema)
        return replace(
            before,
            dim=before.outputs * layout.dim,
            constant=layout.constant,
            indicators=layout.indicators,
        )

    def settled(self, ask: Queries) -> ExactRisk:
        answer = ask.ask(ColumnMeans(), int(SHARE * ask.units_left))
        self.marginals = read_off(self._schema, answer)
        self.schema = curved(self._schema, self._knots, self.marginals)
        return self._risk_over(self.schema)
