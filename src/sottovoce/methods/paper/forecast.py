"""Forecasts of the paper's methods: what their own prices add up to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.accounting.renyi.exchange import rho_published
from sottovoce.errors import BudgetExceeded
from sottovoce.methods.forecast import Costs, Forecaster, just_tested
from sottovoce.methods.paper.constants import PUBLISHED_SLACK, trial_count
from sottovoce.methods.paper.gap import MeasuredGap, PublicGap
from sottovoce.methods.paper.opt import SearchedSteps
from sottovoce.methods.paper.phases import optimistic
from sottovoce.methods.paper.trust_region import TrustRegionMethod
from sottovoce.queries import Gradient, Hessian
from sottovoce.results.certificate import spectral_margin

if TYPE_CHECKING:
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.methods.paper.phases import PaperMethod, Schedule
    from sottovoce.methods.paper.pricing import Sufficient
    from sottovoce.planning.dry_run import DryRun


@final
@dataclass(frozen=True, kw_only=True)
class Bill:
    """What the queries of an expected run cost, in units; `glances` are those of mini-batches.

    `hessians` whole ones are set aside, and `asked` of them expected."""

    visits: int
    gradient: int
    search: int = 0
    confirmation: int = 0
    hessian: int = 0
    hessians: int = 0
    asked: int = 0
    glances: int = 0
    glance: int = 0
    glance_hessian: int = 0

    @property
    def total(self) -> int:
        glances = self.glances * (self.glance + self.glance_hessian)
        visits = self.visits * (self.gradient + self.search)
        return glances + visits + self.confirmation + self.hessians * self.hessian


@final
@dataclass(frozen=True)
class PaperForecaster(Forecaster):
    """T visits are enough by the analysis; forecasts count on ceil(sqrt(T)), as the paper's first phase does,
    and on ceil(sqrt(T / b)) where a search tries steps b times as long. All are priced as near the goal."""

    method: PaperMethod

    def reaches(self, dry_run: DryRun) -> bool:
        frame = self._frame(dry_run)
        assert frame.target.curvature is not None
        if frame.is_published:
            return self._within_noise(dry_run, frame)
        if self.curvature(dry_run) > frame.target.curvature:
            return False
        return self._bill(dry_run, frame).total <= dry_run.units

    def curvature(self, dry_run: DryRun) -> float:
        """At most a fixed part of the budget buys a Hessian, whose margin may be a fixed part of the wish."""
        floor = -dry_run.problem.curvature_floor
        if dry_run.goal.tolerance is None:
            return self.curvature(dry_run.aiming(just_tested(dry_run.problem)))
        frame = self._frame(dry_run)
        if not frame.curvature_tested:
            return floor
        if frame.is_published:
            return PUBLISHED_SLACK * self._published_noise(dry_run, frame)[1].norm
        prices = self.method.prices(frame, frame.phases[-1][0], 0)
        most = int(dry_run.units * prices.curvature_most)
        if isinstance(self.method, TrustRegionMethod):
            most = min(most, dry_run.units // (2 * self._expected(frame)))
        margin = dry_run.noise(Hessian, most).scale / self._clear_scale(dry_run, prices)
        return min(floor, margin)

    def costs(self, dry_run: DryRun) -> Costs:
        frame = self._frame(dry_run)
        visits = [count for count, _ in frame.phases]
        return Costs(
            steps=visits[-1],
            first_steps=visits[0] if len(visits) > 1 else None,
            noise=tuple(
                self._published_noise(dry_run, frame)
                if frame.is_published
                else self._billed_noise(dry_run, frame, self._bill(dry_run, frame))
            ),
        )

    def _frame(self, dry_run: DryRun) -> Schedule:
        gap = PublicGap() if isinstance(self.method.gap, MeasuredGap) else self.method.gap
        return self.method.frame(dry_run.problem, dry_run.goal, gap.bound(dry_run.prices, dry_run.start)[0])

    def _expected(self, frame: Schedule) -> int:
        visits = frame.phases[-1][0]
        if isinstance(self.method, SearchedSteps):
            visits = math.ceil(visits / self.method.search.longer)
        return optimistic(visits)

    def _bill(self, dry_run: DryRun, frame: Schedule) -> Bill:
        method, visits = self.method, self._expected(frame)
        prices = method.prices(frame, frame.phases[-1][0], 0)
        state, ask = dry_run.state(frame.levels), dry_run.prices
        gradient = prices.wanted(state, ask)
        hessian = prices.clear_curvature(state, ask) if prices.hessians else 0
        trusts = isinstance(method, TrustRegionMethod)
        glances, glance, glance_hessian = 0, 0, 0
        if method.batch is not None:
            batch = ask.batched(method.batch.size(dry_run.problem.n))
            glance = prices.wanted(state, batch)
            glance_hessian = prices.clear_curvature(state, batch) if trusts else 0
            # mini-batches may use half; visits beyond that, and the last, read all records
            glances = min(visits, dry_run.units // 2 // (glance + glance_hessian))
            visits = max(1, visits - glances)
        return Bill(
            visits=visits,
            gradient=gradient,
            search=gradient if isinstance(method, SearchedSteps) else 0,
            confirmation=0 if trusts else prices.second_look(state, ask),
            hessian=hessian,
            hessians=visits if trusts else prices.hessians,
            asked=visits if trusts else int(frame.curvature_tested),
            glances=glances,
            glance=glance,
            glance_hessian=glance_hessian,
        )

    def _first_units(self, dry_run: DryRun, frame: Schedule) -> tuple[int | None, int | None]:
        """What the very first gradient, and a Hessian with it, cost, where they are of all records."""
        visits, share = frame.phases[0]
        prices = self.method.prices(frame, visits, dry_run.units - int(dry_run.units * share))
        state = dry_run.state(frame.levels, dry_run.start)
        if self.method.batch is not None:
            return None, None
        try:
            if isinstance(self.method, TrustRegionMethod):
                return prices.trust_units(state, dry_run.prices)
            return prices.descent_units(state, dry_run.prices, confirms=True)[0], None
        except BudgetExceeded:
            return None, None

    def _billed_noise(self, dry_run: DryRun, frame: Schedule, bill: Bill) -> list[QueryNoise]:
        first, first_hessian = self._first_units(dry_run, frame)
        noise = [dry_run.noise(Gradient, bill.gradient, bill.visits, first=first)]
        if bill.confirmation:
            noise.append(dry_run.noise(Gradient, bill.confirmation))
        if bill.search:
            assert isinstance(self.method, SearchedSteps)
            share = self.method.search
            count = trial_count(share.gradient_shrink, share.longer)
            noise.append(dry_run.noise(dry_run.grid(share.gradient_shrink, count), bill.search, bill.visits))
        if bill.asked:
            noise.append(dry_run.noise(Hessian, bill.hessian, bill.asked, first=first_hessian))
        if bill.glances:
            assert self.method.batch is not None
            size = self.method.batch.size(dry_run.problem.n)
            noise.append(dry_run.noise(Gradient, bill.glance, bill.glances, size=size))
            if bill.glance_hessian:
                noise.append(dry_run.noise(Hessian, bill.glance_hessian, bill.glances, size=size))
        return noise

    def _clear_scale(self, dry_run: DryRun, prices: Sufficient) -> float:
        """Noise sd of a Hessian that shows a curvature tolerance of 1."""
        margin = spectral_margin(1.0, dry_run.problem.dim, prices.levels.curvature(1))
        return prices.curvature_accuracy / margin

    def _within_noise(self, dry_run: DryRun, frame: Schedule) -> bool:
        """Whether noise alone, and what a step leaves behind of it, passes the paper's test."""
        assert frame.target.curvature is not None
        gradient, hessian, *_ = self._published_noise(dry_run, frame)
        left = gradient.scale
        if self.method.batch is not None:
            batch = dry_run.prices.batched(self.method.batch.size(dry_run.problem.n))
            left = math.hypot(left, batch.sampling(Gradient(dry_run.far)))
        seen = math.hypot(gradient.norm, left)
        return seen <= frame.target.gradient and hessian.norm <= frame.target.curvature

    def _published_noise(self, dry_run: DryRun, frame: Schedule) -> list[QueryNoise]:
        """Of the first phase, whose visits are asked for in full whenever the test does not end it."""
        method, (visits, share) = self.method, frame.phases[0]
        times = self._expected(frame)
        if method.batch is not None:
            size = method.batch.size(dry_run.problem.n)
            units = method.published_batch_units(dry_run.units, visits, share)
            return [
                dry_run.noise(Gradient, units, times, size=size),
                dry_run.noise(Hessian, units, size=size),
            ]
        rho = share * rho_published(dry_run.budget.epsilon, dry_run.budget.delta)
        gradient, hessian, search = method.published_units(dry_run.prices, dry_run.far, visits, rho)
        noise = [dry_run.noise(Gradient, gradient, times), dry_run.noise(Hessian, hessian)]
        if isinstance(method, SearchedSteps):
            noise.append(dry_run.comparisons(search, times))
        return noise
