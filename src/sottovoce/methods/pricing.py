"""What each visit may spend: as much as its answers need, never more than can be spared."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from sottovoce.accounting.events import Query
from sottovoce.certificate import Levels, spectral_margin
from sottovoce.errors import BudgetExceeded
from sottovoce.methods.descent import CurvatureDescent
from sottovoce.methods.loop import Rule, Walk

if TYPE_CHECKING:
    from sottovoce.methods.trust_region import TrustRegion
    from sottovoce.queries import Derivatives
    from sottovoce.result import Stop, Tolerance


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

    def gradient(self, walk: Walk, ask: Derivatives, set_aside: int) -> int:
        """Units for the next gradient."""
        spendable = ask.units_left - self.kept
        seen = 0.0 if walk.evidence is None else walk.evidence.gradient_norm
        wanted = self._gradient(walk, ask, self.accuracy * max(self.tolerance.gradient, seen))
        wanted = max(wanted, (spendable - set_aside) // self.visits)
        if self.kept and wanted > spendable - set_aside:
            raise BudgetExceeded("this phase has spent its share of the budget. Nothing was released.")
        return min(wanted, spendable)

    def confirmation(self, walk: Walk, ask: Derivatives) -> int:
        """Units for a second look, at most half of what is left."""
        price = self._gradient(walk, ask, self.confirm_accuracy * self.tolerance.gradient)
        return max(1, min(price, (ask.units_left - self.kept) // 2))

    def curvature(self, walk: Walk, ask: Derivatives) -> int:
        """Units for a Hessian whose margin is `curvature_accuracy` of the tolerance."""
        assert self.tolerance.curvature is not None
        level = self.levels.curvature(walk.curvature_tests + 1)
        margin = spectral_margin(1.0, walk.problem.dim, level)
        price = ask.price(Query.HESSIAN, walk.w, self.curvature_accuracy * self.tolerance.curvature / margin)
        return max(1, min(price, int((ask.units_left - self.kept) * self.curvature_most)))

    def _gradient(self, walk: Walk, ask: Derivatives, noise: float) -> int:
        return ask.price(Query.GRADIENT, walk.w, noise / math.sqrt(walk.problem.dim))


@final
@dataclass(frozen=True, kw_only=True)
class PricedDescent(Rule):
    """Algorithm 1 with its questions priced anew at every visit."""

    rule: CurvatureDescent
    prices: Sufficient

    def visit(self, walk: Walk) -> Stop | None:
        ask, prices = self.rule.ask or walk.ask, self.prices
        curvature = prices.curvature(walk, ask) if prices.hessians else 0
        confirmation = prices.confirmation(walk, ask) if self.rule.ask is None else 0
        gradient = prices.gradient(walk, ask, prices.hessians * curvature + confirmation)
        rule = replace(
            self.rule, gradient_units=gradient, curvature_units=curvature, confirm_units=confirmation
        )
        return rule.visit(walk)


@final
@dataclass(frozen=True, kw_only=True)
class PricedTrustRegion(Rule):
    """A trust-region rule with its questions priced anew at every visit."""

    rule: TrustRegion
    prices: Sufficient

    def visit(self, walk: Walk) -> Stop | None:
        ask, prices = self.rule.ask or walk.ask, self.prices
        curvature = prices.curvature(walk, ask)
        gradient = prices.gradient(walk, ask, curvature)
        rule = replace(self.rule, gradient_units=gradient, curvature_units=curvature)
        return rule.visit(walk)


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

    def visit(self, walk: Walk) -> Stop | None:
        try:
            promising = self.batch.visit(walk) is not None
        except BudgetExceeded:
            promising = True
        return self.whole.visit(walk) if promising else None
