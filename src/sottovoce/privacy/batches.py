"""Answers from secret batches: the oracle's mini-batch side, charged to a Renyi ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast, final

import numpy as np

from sottovoce.accounting.events import Draw, GaussianEvent, SharedBatchEvent, SubsampledGaussianEvent
from sottovoce.errors import ParameterError
from sottovoce.privacy import release, sampling
from sottovoce.privacy.prices import BatchPrices, insist_known, pair
from sottovoce.questions import Answer, Gradient, Hessian

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.accounting import Run
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.privacy.noise import Noise, Noising
    from sottovoce.questions import Question
    from sottovoce.risks.protocol import ExactRisk

T = TypeVar("T")


@final
@dataclass(frozen=True)
class _Pending:
    """A Hessian that has been paid for together with the gradient of its batch."""

    question: Hessian
    noising: Noising
    paid: release.Paid


@final
class BatchOracle(BatchPrices):
    """Gradients and Hessians of batches of fixed size, drawn without replacement and never shown.

    Formal guarantee: each question is charged, before a batch is drawn, as a Gaussian answer amplified by
    sampling. Its sensitivity is that of a mean over the batch when one of its records is replaced, whatever
    the relation: for that, amplification by batches of fixed size is proved. Fresh batches are amplified one
    by one. With `shared`, a gradient and the Hessian after it come from one batch and are amplified once,
    together, at 1/sigma^2 = 1/sigma_g^2 + 1/sigma_H^2, in every iteration, asked for or not."""

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
        super().__init__(bounds, run, size=size, shared=shared)
        self._risk = risk
        self._noise = noise
        self._entropy = entropy
        self._pending: _Pending | None = None

    def ask(self, question: Question[T], units: int) -> Answer[T]:
        question = insist_known(question).admitted(self.problem)
        deviation = self.sampling(question)
        if self._shared and isinstance(question, Hessian):
            return cast("Answer[T]", self._promised(question))
        units = self._affordable(units)
        if self._shared:
            gradient, hessian = pair(question)
            return cast("Answer[T]", self._paired(gradient, hessian.admitted(self.problem), units))
        noising = self.noising(question, units)
        event = SubsampledGaussianEvent(
            query=question.kind,
            sensitivity=noising.sensitivity,
            scale=noising.scale,
            entries=noising.entries,
            step=noising.step,
            batch=self._size,
            population=self.problem.n,
            draw=self._draw,
        )
        packing = self.packing(question)
        charged, (paid,) = release.gaussian(
            self._run, self._noise, event, (noising, lambda: packing.pack(question.exact(self._batch())))
        )
        return Answer(packing.unpack(paid.draw()), noising.scale * packing.widening, charged, deviation)

    def _paired(self, gradient: Gradient, hessian: Hessian, units: int) -> Answer[Vector]:
        noise = [self.noising(part, units, parts=2) for part in (gradient, hessian)]
        plain = (
            GaussianEvent(part.kind, one.sensitivity, one.scale, one.entries, one.step)
            for part, one in zip((gradient, hessian), noise, strict=True)
        )
        batch: list[ExactRisk] = []

        def drawn() -> ExactRisk:
            if not batch:
                batch.append(self._batch())
            return batch[0]

        charged, (first, second) = release.gaussian(
            self._run,
            self._noise,
            SharedBatchEvent(tuple(plain), self._size, self.problem.n),
            (noise[0], lambda: gradient.exact(drawn())),
            (noise[1], lambda: self.packing(hessian).pack(hessian.exact(drawn()))),
        )
        self._pending = _Pending(hessian, noise[1], second)
        return Answer(first.draw(), noise[0].scale, charged, self.sampling(gradient))

    def _promised(self, question: Hessian) -> Answer[Matrix]:
        pending, self._pending = self._pending, None
        if pending is None or not np.array_equal(pending.question.w, question.w):
            raise ParameterError(
                "with a shared batch a Hessian follows the gradient at the same weights, once."
            )
        packing = self.packing(question)
        value = packing.unpack(pending.paid.draw())
        return Answer(value, pending.noising.scale * packing.widening, 0, self.sampling(question))

    def _batch(self) -> ExactRisk:
        """A fresh batch as a risk, its sums divided by the size that is public, not by the one it has."""
        chosen = sampling.draw if self._draw is Draw.FIXED else sampling.poisson
        return self._risk.subset(chosen(self.problem.n, self._size, self._entropy), n=self._size)
