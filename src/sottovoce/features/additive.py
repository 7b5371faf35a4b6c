"""An additive model: a curve of every number, its knots placed by marginals that the run asks for first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.accounting.gdp import mu_of
from sottovoce.data.layout import RowLayout
from sottovoce.features.curves import curved, curves_of, declared_curves, knot_count
from sottovoce.features.marginals import Marginal, coded, read_off
from sottovoce.features.selection import Bends, gains
from sottovoce.features.zoom import SHARE as ZOOM_SHARE
from sottovoce.features.zoom import narrowed, tightened
from sottovoce.methods.adapt import Adapt
from sottovoce.methods.adapt.inspection import Inspection, Stand
from sottovoce.models.staged import Opening, StagedRisk
from sottovoce.queries import ColumnMeans
from sottovoce.results.result import Stop

if TYPE_CHECKING:
    from sottovoce.accounting import Budget
    from sottovoce.arrays import Vector
    from sottovoce.data.schema import Schema
    from sottovoce.methods.base import Goal, State
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries
    from sottovoce.results.result import Outcome

SHARE = 0.03
"""Part of the budget for the marginals. Knots need no more precision than a few percent of the records."""

LOOK_SHARE = 0.05
"""Part of what is left then for the gradient along bends, at a linear fit."""

_FIRST_LOOK, _LAST_LOOK, _FITTED = 3, 9, 1.15
"""Gradients of that fit before the look, at least and at most; between them it is taken as soon as a gradient
is no longer than this many times what noise makes it. Lines that are not fitted leak into bends."""


@final
class Additive(StagedRisk):
    """The risk of an additive model over a table: `first` is over rows of `coded(schema)`, and `risk_over`
    reads the same table by another schema and makes a risk of it.

    Curves are those of the columns `names`. With `chooses`, a small part of the budget asks which of them are
    worth one, on the way to a linear fit; the others stay lines. With `narrows`, ranges that records fill
    only a small part of are drawn in first, as marginals tell."""

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
        self.current = first
        self.looked = False
        self.start = np.zeros(0)

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
        kept = declared_curves(self._plain) if self._chooses else self._names
        self._take(curved(self._plain, self._knots, self.marginals, kept))
        return self.current, tuple(opening)

    @property
    def looks(self) -> bool:
        return self._chooses

    def look(self, asking: Callable[[ExactRisk], Queries]) -> Inspection:
        return Look(self, asking)

    def _take(self, schema: Schema) -> None:
        self.schema, self.current = schema, self._risk_over(schema)

    def bent(self, asking: Callable[[ExactRisk], Queries], w: Vector, stand: Stand, units: int) -> bool:
        """Ask which columns are worth a curve at the weights w of lines, and take those; True if any is."""
        self.looked = True
        bent = curved(self._plain, self._knots, self.marginals, self._names)
        ask, among = asking(self._risk_over(bent)), Bends.of(self.schema, bent, self.marginals)
        found = gains(ask, among, w, stand, units)
        kept = found.worthwhile(ask, self.current.problem.dim) | declared_curves(self._plain)
        if kept == curves_of(self.schema):
            return False
        lines = self.schema
        self._take(curved(self._plain, self._knots, self.marginals, kept))
        self.start = Bends.of(lines, self.schema, self.marginals).lines_of(w)
        return True

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


def _is_time(stand: Stand) -> bool:
    noise = stand.gradient.scale * math.sqrt(stand.gradient.value.size)
    fitted = float(np.linalg.norm(stand.gradient.value)) <= _FITTED * noise
    return stand.step >= _LAST_LOOK or (stand.step >= _FIRST_LOOK and fitted)


@final
@dataclass(frozen=True, eq=False)
class Look(Inspection):
    """Asks which columns bend after a few steps of a linear fit: with curves that are worth their features
    the run begins again, without any it goes on."""

    staged: Additive
    asking: Callable[[ExactRisk], Queries]

    def aside(self, step: int, steps: int) -> int:
        return 0

    def made(self, state: State, stand: Stand) -> bool:
        if self.staged.looked or not _is_time(stand):
            return False
        before = state.ask.units_left
        found = self.staged.bent(self.asking, state.w, stand, int(LOOK_SHARE * before))
        state.record("bends", before - state.ask.units_left)
        return found

    def gone_on(self, state: State, goal: Goal) -> Outcome:
        ask = self.asking(self.staged.current)
        outcome = Adapt().run(ask, np.zeros(ask.problem.dim), goal, state.watch)
        if outcome.stop is Stop.OUT_OF_BUDGET and not outcome.weights.any():
            outcome = replace(outcome, weights=self.staged.start)
        return replace(outcome, trace=(*state.trace, *outcome.trace))
