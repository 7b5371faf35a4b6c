"""What sees both data and those who ask: charge the ledger, compute, add noise, release.

This one answers a method from all records, `batches` from secret ones, `counting` counts for evaluation and
tuning."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar, final

from sottovoce.accounting.events import (
    GaussianEvent,
    PureEvent,
)
from sottovoce.privacy import release, sampling
from sottovoce.privacy.laplace import require_payable
from sottovoce.privacy.noise import Noise
from sottovoce.privacy.prices import SEARCHES, Prices, require_known
from sottovoce.privacy.sources import Source, source_of
from sottovoce.problem import Calibration

if TYPE_CHECKING:
    from sottovoce.accounting import Run
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.privacy.batches import BatchOracle
    from sottovoce.privacy.noise import NoiseCalibration
    from sottovoce.privacy.release import Released
    from sottovoce.queries import Backtrack, Preconditioner, Query

T = TypeVar("T")


@final
class Oracle(Prices):
    """Answers a method's queries about a risk, each at the price the method names.

    Formal guarantee: every answer is a Gaussian (or AboveThreshold) mechanism whose event was charged to the
    run before the data was touched; a refused charge raises and computes nothing."""

    def __init__(
        self,
        risk: ExactRisk,
        run: Run,
        noise: Noise,
        calibration: Calibration = Calibration.TIGHT,
        entropy: sampling.Entropy = os.urandom,
    ) -> None:
        source = source_of(risk, calibration, run.budget.relation)
        self._over(source, run, noise, entropy)

    def _over(self, source: Source, run: Run, noise: Noise, entropy: sampling.Entropy) -> None:
        super().__init__(source.bounds, run)
        self._bounds.require_calibrated()
        source.require_kept(run)
        self._source = source
        self._noise = noise
        self._entropy = entropy

    def _sensitivity(self, query: Query[T]) -> float:
        return self._source.sensitivity(query, self._source.request(query))

    def ask(self, query: Query[T], units: int) -> Released[T]:
        query = require_known(query).admitted(self.problem)
        source, request, packing = self._source, self._source.request(query), self.packing(query)
        calibrated = self._calibrated(query, source.sensitivity(query, request), self._affordable(units))
        released = release.gaussian(
            self._run,
            self._noise,
            plain_event(query, calibrated),
            calibrated,
            lambda: packing.pack(source.answer(request)),
            query,
        )
        public = source.public(query)
        return released.read(lambda noisy: packing.unpack(noisy) + public, widening=packing.widening)

    def search(self, query: Backtrack, units: int) -> int | None:
        query = require_known(query, SEARCHES).admitted(self.problem)
        sensitivity, compared = self._source.comparisons(query)
        epsilon = self._run.currency.pure_epsilon(self._affordable(units))
        require_payable(sensitivity, epsilon)
        return release.pure(
            self._run,
            PureEvent(query.kind, epsilon),
            lambda: self._noise.first_above(compared, sensitivity, epsilon),
            query,
        )

    def preconditioned(self, preconditioner: Preconditioner) -> Oracle:
        other = object.__new__(Oracle)
        other._over(self._source.preconditioned(preconditioner), self._run, self._noise, self._entropy)
        return other

    def batched(self, size: int) -> BatchOracle:
        from sottovoce.privacy.batches import BatchOracle

        return BatchOracle(self._source, self._run, self._noise, self._entropy, size=size)


def plain_event(query: Query[T], calibrated: NoiseCalibration) -> GaussianEvent:
    return GaussianEvent(
        query.kind, calibrated.sensitivity, calibrated.scale, calibrated.entries, calibrated.step
    )
