"""An additive model: a curve of every number, its knots placed by marginals that the run asks for first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.accounting.gdp import mu_of
from sottovoce.data.layout import RowLayout
from sottovoce.features.curves import curved, curves_of, declared_curves, knot_count
from sottovoce.features.marginals import Marginal, coded, read_off
from sottovoce.features.pairs import MOST_PAIRS, Products, paired, together
from sottovoce.features.selection import Bends, gains
from sottovoce.features.zoom import SHARE as ZOOM_SHARE
from sottovoce.features.zoom import narrowed, tightened
from sottovoce.methods.adapt import Adapt
from sottovoce.methods.adapt.inspection import Inspection, Stand
from sottovoce.methods.noise_propagation import UNACCOUNTED
from sottovoce.models.staged import Opening, StagedRisk
from sottovoce.queries import ColumnMeans
from sottovoce.results.inference.coefficient_noise import CoefficientNoise
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

LOOK_SHARE, PAIR_SHARE = 0.08, 0.04
"""Parts of what is left then for the gradient along bends, at a linear fit, and along products of pairs."""

_MOSTLY_LINES = 0.7
"""Where at least this part of the features is there without the curves to choose among, all of these are
taken without a look: what they add costs about as much noise, if half bend, as a look and a new start."""

_FIRST_LOOK, _LAST_LOOK, _FITTED = 3, 9, 1.15
"""Gradients of that fit before the look, at least and at most; between them it is taken as soon as a gradient
is no longer than this many times what noise makes it. Lines that are not fitted leak into bends."""


@final
class Additive(StagedRisk):
    """The risk of an additive model over a table: `first` is over rows of `coded(schema)`, and `risk_over`
    reads the same table by another schema and makes a risk of it.

    Curves are those of the columns `names`. With `chooses`, a small part of the budget asks which of them are
    worth one, on the way to a linear fit; the others stay lines. Another asks on the way to that fit which
    pairs of the numbers `pairs` act together. With `narrows`, ranges that records fill only a small part of
    are drawn in first, as marginals tell."""

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
        pairs: tuple[str, ...] = (),
    ) -> None:
        self._plain = schema
        self._risk_over = risk_over
        self.first = first
        self._chooses = chooses
        self._narrows = narrows
        self._knots = knot_count(first.problem.n, mu_of(budget.epsilon, budget.delta), len(schema.columns))
        self._names = names
        self._pairing = pairs
        widest = tuple(combinations(self._pairing, 2))[:MOST_PAIRS]
        self.schema = paired(curved(schema, self._knots, only=names), schema, widest)
        self.marginals: tuple[Marginal, ...] = ()
        self.current = first
        self._before = self.schema, self.current
        self._begun = 0

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
        kept = self._sure if self._chooses and self._may_save else self._names
        self._chooses = kept != self._names
        self._take(curved(self._plain, self._knots, self.marginals, kept))
        self._begun = ask.units_left
        return self.current, tuple(opening)

    @property
    def looks(self) -> bool:
        return self._chooses or bool(self._pairing)

    def look(self, asking: Callable[[ExactRisk], Queries]) -> Inspection:
        return Look(self, asking)

    @property
    def _sure(self) -> frozenset[str]:
        """Columns that are curves without a look: those declared, and those whose marginal hides in one bin
        where most records are, so that no bend of it could be seen."""
        hidden = {marginal.name for marginal in self.marginals if marginal.is_piled}
        return declared_curves(self._plain) | (self._names & hidden)

    @property
    def _may_save(self) -> bool:
        """Whether leaving out curves would save more than looking for them costs. By public numbers, and by
        which columns are curves anyway."""
        least, most = (
            RowLayout.of(curved(self._plain, self._knots, only=names)).dim
            for names in (self._sure, self._names)
        )
        return least < _MOSTLY_LINES * most

    def _take(self, schema: Schema) -> None:
        self._before = self.schema, self.current
        self.schema, self.current = schema, self._risk_over(schema)

    def restored(self) -> None:
        """Take back the features that were chosen last."""
        self.schema, self.current = self._before

    def bent(
        self, asking: Callable[[ExactRisk], Queries], w: Vector, stand: Stand, units: int, learned: int
    ) -> bool:
        """Ask which columns are worth a curve at the weights w of lines, and take those; True if any is."""
        self._chooses = False
        bent = curved(self.schema, self._knots, self.marginals, self._names, apart=True)
        ask, among = asking(self._risk_over(bent)), Bends.of(self.schema, bent, self.marginals)
        found = gains(ask, among, w, stand, units)
        kept = found.worthwhile(ask, w.size, stand.deviation, learned=learned) | self._sure
        if kept == curves_of(self.schema):
            return False
        self._take(curved(self._plain, self._knots, self.marginals, kept))
        return True

    def crossed(
        self, asking: Callable[[ExactRisk], Queries], w: Vector, stand: Stand, units: int, learned: int
    ) -> bool:
        """Ask which pairs of columns are worth a surface at the weights w; True if any is."""
        names, self._pairing = self._pairing, ()
        products = Products.of(self.schema, names, self.marginals)
        pairs = together(asking(self._risk_over(products.schema)), products, w, stand, units, learned)
        if not pairs:
            return False
        self._take(paired(self.schema, self._plain, pairs, self.marginals))
        return True

    def asked(self, asking: Callable[[ExactRisk], Queries], state: State, stand: Stand) -> bool:
        """Look at the state's weights at bends, if columns are to be chosen; where none is worth a curve, or
        all that are have one, at pairs. True: the features have changed."""
        looks = [("bends", self.bent, LOOK_SHARE)] if self._chooses else []
        looks += [("pairs", self.crossed, PAIR_SHARE)] if self._pairing else []
        learned = self._begun - state.ask.units_left
        for kind, look, share in looks:
            before = state.ask.units_left
            found = look(asking, state.w, stand, int(share * before), learned)
            if state.ask.units_left < before:
                state.record(kind, before - state.ask.units_left)
            if found:
                self._begun = state.ask.units_left
                return True
        return False

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
    """Asks which columns bend after a few steps of a linear fit, and which pairs of them act together after a
    few of one that has the curves: with features that are worth it the run begins again, else it goes on."""

    staged: Additive
    asking: Callable[[ExactRisk], Queries]

    def aside(self, step: int, steps: int) -> int:
        return 0

    def made(self, state: State, stand: Stand) -> bool:
        return self.staged.looks and _is_time(stand) and self.staged.asked(self.asking, state, stand)

    def gone_on(self, state: State, goal: Goal) -> Outcome:
        ask = self.asking(self.staged.current)
        method = Adapt().looking(self) if self.staged.looks else Adapt()
        outcome = method.run(ask, np.zeros(ask.problem.dim), goal, state.watch)
        if outcome.stop is Stop.OUT_OF_BUDGET and not outcome.weights.any():
            self.staged.restored()
            outcome = state.outcome(outcome.stop)
            return replace(outcome, noise=CoefficientNoise(reason=UNACCOUNTED))
        return replace(outcome, trace=(*state.trace, *outcome.trace))
