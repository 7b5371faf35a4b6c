"""Answers from secret batches: the oracle's mini-batch side, charged to a Renyi ledger."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.accounting.checks import whole
from sottovoce.accounting.events import GaussianEvent, Query, SharedBatchEvent, SubsampledGaussianEvent
from sottovoce.errors import ParameterError
from sottovoce.privacy import arguments, sampling
from sottovoce.privacy.desk import PRICE_SLACK, Desk
from sottovoce.privacy.lattice import Calibration as Noising
from sottovoce.privacy.lattice import calibrate
from sottovoce.privacy.symmetric import packing_for
from sottovoce.questions import Answer, Calibration

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.accounting import Run
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.privacy.noise import Noise
    from sottovoce.questions import Problem
    from sottovoce.risks.protocol import ExactRisk


@final
@dataclass(frozen=True)
class _Pending:
    """A batch whose Hessian has been paid for together with its gradient."""

    w: Vector
    batch: ExactRisk
    noising: Noising


@final
class BatchOracle(Desk):
    """Gradients and Hessians of batches of fixed size, drawn without replacement and never shown.

    Formal guarantee: each question is charged, before a batch is drawn, as a Gaussian answer amplified by
    sampling, its sensitivity that of a mean over the batch. Fresh batches are amplified one by one. With
    `shared`, a gradient and the Hessian after it come from one batch and are amplified once, together, at
    1/sigma^2 = 1/sigma_g^2 + 1/sigma_H^2, in every iteration, asked for or not."""

    def __init__(
        self,
        risk: ExactRisk,
        run: Run,
        noise: Noise,
        bounds: Bounds,
        entropy: Callable[[int], bytes],
        *,
        size: int,
        shared: bool,
    ) -> None:
        size = whole("the size of a batch", size)
        if size > risk.n:
            raise ParameterError(f"a batch holds between 1 and n={risk.n} records, got {size}.")
        super().__init__(risk, run, noise)
        self._entropy = entropy
        self._size = size
        self._shared = bool(shared)
        self._pending: _Pending | None = None
        self._bounds = replace(
            bounds, problem=replace(bounds.problem, n=size), arithmetic=replace(bounds.arithmetic, n=size)
        )
        self._packing = packing_for(bounds.calibration is Calibration.PUBLISHED)

    def __repr__(self) -> str:
        return f"BatchOracle({self._size} of {self.problem.n} records, {self._run!r})"

    def gradient(self, w: Vector, units: int) -> Answer[Vector]:
        w = self._admit(w)
        mu_squared = self._mu_squared(units)
        if self._shared:
            return self._paired_gradient(w, mu_squared / 2.0)
        noising = calibrate(self._bounds.gradient(w), mu_squared, w.size)
        grant = self._run.charge(self._sampled(Query.GRADIENT, noising))
        released = self._noise.gaussian(self._draw().gradient(w), noising)
        return Answer(released, noising.scale, grant.units, self._gradient_sampling)

    def hessian(self, w: Vector, units: int) -> Answer[Matrix]:
        w = self._admit(w)
        if self._shared:
            return self._paired_hessian(w)
        noising = calibrate(self._bounds.hessian(w), self._mu_squared(units), self._entries)
        grant = self._run.charge(self._sampled(Query.HESSIAN, noising))
        return self._release_hessian(self._draw(), w, noising, grant.units)

    def curvature_product(self, w: Vector, direction: Vector, units: int) -> Answer[Vector]:
        if self._shared:
            raise ParameterError("a shared batch pairs a gradient with a Hessian; products need fresh ones.")
        w, unit = self._admit(w), arguments.unit_vector(direction, self.problem.dim)
        noising = calibrate(self._bounds.curvature_product(w), self._mu_squared(units), w.size)
        grant = self._run.charge(self._sampled(Query.CURVATURE_PRODUCT, noising))
        released = self._noise.gaussian(self._draw().curvature_product(w, unit), noising)
        return Answer(released, noising.scale, grant.units, self._hessian_sampling)

    def price(self, query: Query, w: Vector, scale: float) -> int:
        w = self._admit(w)
        if self._shared:
            other = self._bounds.hessian(w) if query is Query.GRADIENT else self._bounds.gradient(w)
            own = self._bounds.gradient(w) if query is Query.GRADIENT else self._bounds.hessian(w)
            parts = tuple(
                GaussianEvent(query, s * PRICE_SLACK, s / own * scale, 1, 0.0) for s in (own, other)
            )
            return self._run.currency.price(SharedBatchEvent(parts, self._size, self.problem.n))
        sensitivity = self._bounds.of(query, w) * PRICE_SLACK
        event = SubsampledGaussianEvent(query, sensitivity, scale, 1, 0.0, self._size, self.problem.n)
        return self._run.currency.price(event)

    @property
    def _entries(self) -> int:
        return self.problem.dim * (self.problem.dim + 1) // 2

    @property
    def _gradient_sampling(self) -> float:
        return gradient_sampling(self.problem, self._size)

    @property
    def _hessian_sampling(self) -> float:
        left_out = (self.problem.n - self._size) / max(1, self.problem.n - 1)
        largest = max(self.problem.curvature_low, self.problem.curvature_high) * self.problem.energy
        return largest * math.sqrt(left_out / self._size)

    def _paired_gradient(self, w: Vector, mu_squared: float) -> Answer[Vector]:
        gradient = calibrate(self._bounds.gradient(w), mu_squared, w.size)
        hessian = calibrate(self._bounds.hessian(w), mu_squared, self._entries)
        parts = (_plain(Query.GRADIENT, gradient), _plain(Query.HESSIAN, hessian))
        grant = self._run.charge(SharedBatchEvent(parts, self._size, self.problem.n))
        batch = self._draw()
        self._pending = _Pending(w, batch, hessian)
        released = self._noise.gaussian(batch.gradient(w), gradient)
        return Answer(released, gradient.scale, grant.units, self._gradient_sampling)

    def _paired_hessian(self, w: Vector) -> Answer[Matrix]:
        pending, self._pending = self._pending, None
        if pending is None or not np.array_equal(pending.w, w):
            raise ParameterError(
                "with a shared batch a Hessian follows the gradient at the same weights, once."
            )
        return self._release_hessian(pending.batch, w, pending.noising, 0)

    def _release_hessian(self, batch: ExactRisk, w: Vector, noising: Noising, units: int) -> Answer[Matrix]:
        released = self._noise.gaussian(self._packing.pack(batch.hessian(w)), noising)
        scale = noising.scale * self._packing.widening
        return Answer(self._packing.unpack(released), scale, units, self._hessian_sampling)

    def _draw(self) -> ExactRisk:
        return self._risk.subset(sampling.draw(self.problem.n, self._size, self._entropy))

    def _mu_squared(self, units: int) -> float:
        multiplier = self._run.currency.multiplier(self._affordable(units), self._size, self.problem.n)
        return (1.0 - 2.0**-45) / (multiplier * multiplier)

    def _sampled(self, query: Query, noising: Noising) -> SubsampledGaussianEvent:
        return SubsampledGaussianEvent(
            query=query,
            sensitivity=noising.sensitivity,
            scale=noising.scale,
            entries=noising.entries,
            step=noising.step,
            batch=self._size,
            population=self.problem.n,
        )


def gradient_sampling(problem: Problem, size: int) -> float:
    """Root mean square of ||g_S - g||: sup||term|| / sqrt(m), times what is left out of the batch."""
    left_out = (problem.n - size) / max(1, problem.n - 1)
    return problem.slope * problem.influence * math.sqrt(left_out / size)


def _plain(query: Query, noising: Noising) -> GaussianEvent:
    return GaussianEvent(query, noising.sensitivity, noising.scale, noising.entries, noising.step)
