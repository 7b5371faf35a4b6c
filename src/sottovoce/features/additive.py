"""An additive model: a curve of every number, its knots placed by marginals that the run asks for first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, final

from sottovoce.accounting.gdp import mu_of
from sottovoce.data.layout import RowLayout
from sottovoce.features.curves import curved, curves_of, declared_curves, knot_count
from sottovoce.features.marginals import Marginal, coded, read_off
from sottovoce.features.selection import Bends, gains
from sottovoce.features.zoom import SHARE as ZOOM_SHARE
from sottovoce.features.zoom import narrowed, tightened
from sottovoce.models.staged import Opening, StagedRisk
from sottovoce.queries import ColumnMeans

if TYPE_CHECKING:
    from sottovoce.accounting import Budget
    from sottovoce.data.schema import Schema
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries

SHARE = 0.03
"""Part of the budget for the marginals. Knots need no more precision than a few percent of the records."""


@final
class Additive(StagedRisk):
    """The risk of an additive model over a table: `first` is over rows of `coded(schema)`, and `risk_over`
    reads the same table by another schema and makes a risk of it.

    Curves are those of the columns `names`. With `chooses`, a small part of the budget asks which of them are
    worth one; the others stay lines. With `narrows`, ranges that records fill only a small part of are drawn
    in first, as marginals tell."""

    def __init__(
        self,
        schema: Schema,
        first: ExactRisk,
        risk_over: Callable[[Schema], ExactRisk],
        budget: Budget,
        *,
        names: frozenset[str],
        chooses: bool,
        narrows: bool,
    ) -> None:
        self._plain = schema
        self._risk_over = risk_over
        self.first = first
        self._chooses = chooses
        self._narrows = narrows
        self._knots = knot_count(first.problem.n, mu_of(budget.epsilon, budget.delta), len(schema.columns))
        self._names = names
        self.schema = curved(schema, self._knots, only=names)
        self.marginals: tuple[Marginal, ...] = ()

    @property
    def n(self) -> int:
        """Records, or persons."""
        return self.first.problem.n

    @property
    def problem(self) -> Problem:
        """Public constants of the risk to come: wherever knots lie, there are as many features. Before
        columns are chosen, those of curves in all of them."""
        return self._problem_of(self.schema)

    def _problem_of(self, schema: Schema) -> Problem:
        before, layout = self.first.problem, RowLayout.of(schema)
        return replace(
            before,
            dim=before.outputs * layout.dim,
            constant=layout.constant,
            indicators=layout.indicators,
        )

    def settled(self, asking: Callable[[ExactRisk], Queries]) -> tuple[ExactRisk, tuple[Opening, ...]]:
        ask = asking(self.first)
        whole = ask.units_left
        answer = ask.ask(ColumnMeans(), int(SHARE * whole))
        self.marginals = read_off(self._plain, answer)
        opening = [Opening("marginals", answer.units)]
        if self._narrows:
            self._narrow(asking, whole, opening)
        self.schema = curved(self._plain, self._knots, self.marginals, self._names)
        risk = self._risk_over(self.schema)
        if not self._chooses:
            return risk, tuple(opening)
        bends, before = asking(risk), ask.units_left
        among = Bends.of(self._plain, self.schema, self.marginals)
        found = gains(bends, among, RowLayout.of(self.schema).unit, whole)
        opening.append(Opening("bends", before - ask.units_left))
        kept = found.worthwhile(bends, self._problem_of(self._plain).dim) | declared_curves(self._plain)
        if kept != curves_of(self.schema):
            self.schema = curved(self._plain, self._knots, self.marginals, kept)
            risk = self._risk_over(self.schema)
        return risk, tuple(opening)

    def _narrow(self, asking: Callable[[ExactRisk], Queries], whole: int, opening: list[Opening]) -> None:
        """Draw in ranges that were declared far too wide, and look at those columns again."""
        inner = narrowed(self._plain, self.marginals)
        wide = [new for new, old in zip(inner.columns, self._plain.columns, strict=True) if new != old]
        if not wide:
            return
        again = replace(self._plain, columns=tuple(wide), interactions=())
        answer = asking(self._risk_over(coded(again))).ask(ColumnMeans(), int(ZOOM_SHARE * whole))
        opening.append(Opening("marginals again", answer.units))
        drawn, found = tightened(again, read_off(again, answer))
        columns = {column.name: column for column in drawn.columns}
        seen = {marginal.name: marginal for marginal in found}
        self._plain = replace(
            self._plain, columns=tuple(columns.get(column.name, column) for column in self._plain.columns)
        )
        self.marginals = tuple(seen.get(marginal.name, marginal) for marginal in self.marginals)
