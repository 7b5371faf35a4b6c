"""What each visit may spend: as much as its answers need, never more than can be spared."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from sottovoce.errors import BudgetExceeded
from sottovoce.methods.base import Rule, State
from sottovoce.methods.curvature import curvature_of
from sottovoce.methods.paper.descent import CurvatureDescent
from sottovoce.queries import Gradient
from sottovoce.results.certificate import Levels

if TYPE_CHECKING:
    from sottovoce.methods.paper.trust_region import TrustRegion
    from sottovoce.queries import Derivatives
    from sottovoce.results.result import Stop, Tolerance


@final
@dataclass(frozen=True, kw_only=True)
class Sufficient:
    """Noise in proportion to what is measured, within what is left.

    A gradient's noise has norm `accuracy` times the larger of the tolerance and the last noisy gradient norm,
    so early visits are cheap; an even share of what is left over `visits` is spent where that is more. A
    second look at `confirm_accuracy` times the tolerance can certify. It is set aside, and so are `hessians`
    matrices accurate enough to certify; `kept` units are not touched: they belong to what comes later. Where
    less is left than a visit takes, nothing is asked and what is left goes there too; if nothing comes later,
    one last visit gets it all."""

    tolerance: Tolerance
    levels: Levels
    visits: int
    hessians: int = 1
    kept: int = 0
    accuracy: float = 0.4
    confirm_accuracy: float = 0.2
    curvature_accuracy: float = 0.5
    curvature_most: float = 0.2

    def descent_units(self, state: State, ask: Derivatives, *, confirms: bool) -> tuple[int, int, int]:
        """Units for the next gradient, for a Hessian after it, and for a second look that `confirms`."""
        curvature = self.curvature(state, ask) if self.hessians else 0
        confirmation = self.confirmation(state, ask) if confirms else 0
        gradient = self.gradient(state, ask, self.hessians * curvature + confirmation)
        return gradient, curvature, confirmation

    def trust_units(self, state: State, ask: Derivatives) -> tuple[int, int]:
        """Units for the next gradient and Hessian, asked together."""
        curvature = self.curvature(state, ask)
        return self.gradient(state, ask, curvature), curvature

    def gradient(self, state: State, ask: Derivatives, set_aside: int) -> int:
        """Units for the next gradient."""
        spendable = ask.units_left - self.kept
        seen = 0.0 if state.evidence is None else state.evidence.gradient_norm
        wanted = max(self.wanted(state, ask, seen), (spendable - set_aside) // self.visits)
        if self.kept and wanted > spendable - set_aside:
            raise BudgetExceeded("this phase has spent its share of the budget. Nothing was released.")
        return min(wanted, spendable)

    def wanted(self, state: State, ask: Derivatives, seen: float = 0.0) -> int:
        """What a gradient is worth where the last one had norm `seen`, whether or not it can be paid."""
        return self._gradient(state, ask, self.accuracy * max(self.tolerance.gradient, seen))

    def second_look(self, state: State, ask: Derivatives) -> int:
        """What a gradient that can certify is worth."""
        return self._gradient(state, ask, self.confirm_accuracy * self.tolerance.gradient)

    def confirmation(self, state: State, ask: Derivatives) -> int:
        """Units for a second look, at most half of what is left."""
        return max(1, min(self.second_look(state, ask), (ask.units_left - self.kept) // 2))

    def curvature(self, state: State, ask: Derivatives) -> int:
        """Units for a look at the curvature, at most a fixed part of what is left."""
        most = int((ask.units_left - self.kept) * self.curvature_most)
        return max(1, min(self.clear_curvature(state, ask), most))

    def clear_curvature(self, state: State, ask: Derivatives) -> int:
        """What a look at the curvature whose margin is `curvature_accuracy` of the tolerance is worth."""
        assert self.tolerance.curvature is not None
        level = self.levels.next_curvature
        noise = self.curvature_accuracy * self.tolerance.curvature
        return curvature_of(state.problem).price(state, ask, noise, level)

    def _gradient(self, state: State, ask: Derivatives, noise: float) -> int:
        return ask.price(Gradient(state.w), noise / math.sqrt(state.problem.dim))


@final
@dataclass(frozen=True, kw_only=True)
class PricedDescent(Rule):
    """Algorithm 1 with its queries priced anew at every visit."""

    rule: CurvatureDescent
    prices: Sufficient

    def advance(self, state: State) -> Stop | None:
        gradient, curvature, confirmation = self.prices.descent_units(
            state, self.rule.ask or state.ask, confirms=self.rule.ask is None
        )
        rule = replace(
            self.rule, gradient_units=gradient, curvature_units=curvature, confirm_units=confirmation
        )
        return rule.advance(state)


@final
@dataclass(frozen=True, kw_only=True)
class PricedTrustRegion(Rule):
    """A trust-region rule with its queries priced anew at every visit."""

    rule: TrustRegion
    prices: Sufficient

    def advance(self, state: State) -> Stop | None:
        gradient, curvature = self.prices.trust_units(state, self.rule.ask or state.ask)
        rule = replace(self.rule, gradient_units=gradient, curvature_units=curvature)
        return rule.advance(state)


def priced(rule: CurvatureDescent | TrustRegion, prices: Sufficient) -> Rule:
    """The rule, asking as much as these prices allow."""
    if isinstance(rule, CurvatureDescent):
        return PricedDescent(rule=rule, prices=prices)
    return PricedTrustRegion(rule=rule, prices=prices)


@final
@dataclass(frozen=True, kw_only=True)
class Screened(Rule):
    """Visit by mini-batch; where that looks like a solution, or can no longer be paid, with all records."""

    batch: Rule
    whole: Rule

    def advance(self, state: State) -> Stop | None:
        try:
            promising = self.batch.advance(state) is not None
        except BudgetExceeded:
            promising = True
        return self.whole.advance(state) if promising else None
