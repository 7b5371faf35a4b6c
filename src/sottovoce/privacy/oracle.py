"""The only objects that see both data and those who ask: charge the ledger, compute, add noise, release.

One answers a method from all records, one from secret batches, one counts for evaluation and tuning."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

from sottovoce.accounting import Budget, Ledger, Relation, Units
from sottovoce.accounting.events import (
    Draw,
    GaussianEvent,
    PureEvent,
    QueryKind,
    SubsampledGaussianEvent,
)
from sottovoce.errors import LedgerError, ParameterError
from sottovoce.privacy import release, sampling
from sottovoce.privacy.noise import Noise, calibrate, noise_for, require_payable
from sottovoce.privacy.prices import SEARCHES, BatchPrices, Prices, require_known
from sottovoce.privacy.sources import Source, source_of
from sottovoce.problem import Calibration

if TYPE_CHECKING:
    from sottovoce.accounting import Run
    from sottovoce.arrays import Vector
    from sottovoce.models.protocol import ExactRisk
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
        source = source_of(risk, calibration=calibration, relation=run.budget.relation)
        self._over(source, run, noise, entropy)

    def _over(self, source: Source, run: Run, noise: Noise, entropy: sampling.Entropy) -> None:
        super().__init__(source.bounds, run)
        self._bounds.require_calibrated()
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
        return BatchOracle(self._source, self._run, self._noise, self._entropy, size=size)


def plain_event(query: Query[T], calibrated: NoiseCalibration) -> GaussianEvent:
    return GaussianEvent(
        query.kind, calibrated.sensitivity, calibrated.scale, calibrated.entries, calibrated.step
    )


@final
class BatchOracle(BatchPrices):
    """Gradients and Hessians of batches of fixed size, drawn without replacement and never shown.

    Formal guarantee: each query is charged, before a batch is drawn, as a Gaussian answer amplified by
    sampling. Its sensitivity is that of a mean over the batch when one of its records is replaced, whatever
    the relation: for that, amplification by batches of fixed size is proved. Every query has a fresh batch:
    answers from one and the same are not independent given the data and may not be amplified apart."""

    def __init__(
        self,
        source: Source,
        run: Run,
        noise: Noise,
        entropy: sampling.Entropy,
        *,
        size: int,
    ) -> None:
        super().__init__(source.bounds, run, size=size)
        self._source = source
        self._priced = source.batch(self._size, *self._batch)
        self._noise = noise
        self._entropy = entropy

    def _sensitivity(self, query: Query[T]) -> float:
        return self._priced.sensitivity(query, self._priced.request(query))

    def ask(self, query: Query[T], units: int) -> Released[T]:
        query = require_known(query).admitted(self.problem)
        deviation = self.sampling(query)
        request = self._priced.request(query)
        calibrated = self._calibrated(
            query, self._priced.sensitivity(query, request), self._affordable(units)
        )
        event = SubsampledGaussianEvent(
            query=query.kind,
            sensitivity=calibrated.sensitivity,
            scale=calibrated.scale,
            entries=calibrated.entries,
            step=calibrated.step,
            batch=self._size,
            population=self.problem.n,
            draw=self._draw,
        )
        packing = self.packing(query)
        released = release.gaussian(
            self._run,
            self._noise,
            event,
            calibrated,
            lambda: packing.pack(self._drawn().answer(request)),
            query,
        )
        public = self._source.public(query)
        return released.read(
            lambda noisy: packing.unpack(noisy) + public, widening=packing.widening, sampling=deviation
        )

    def _drawn(self) -> Source:
        """A fresh batch, its sums divided by the size that is public, not by the one it has."""
        chosen = sampling.draw if self._draw is Draw.FIXED else sampling.poisson
        return self._source.subset(chosen(self.problem.n, self._size, self._entropy), n=self._size)


@final
@dataclass(frozen=True, repr=False)
class CountOracle:
    """A run and its noise: the one place where evaluation and tuning pay and release."""

    run: Run
    noise: Noise

    @classmethod
    def open(
        cls,
        budget: Budget,
        name: str,
        ledger: Ledger | None,
        simulate: int | None,
        *,
        unit: str = "record",
        **reserved: Any,
    ) -> Self:
        """A run that has its budget to itself until this is left as a context; see `Ledger.start`."""
        if not isinstance(budget, Budget):
            raise ParameterError("budget must be a Budget, for example Budget(epsilon=0.5, delta=1e-6).")
        if ledger is not None and not isinstance(ledger, Ledger):
            raise ParameterError("ledger must be a Ledger: Ledger(cap), or Ledger.open(path, dataset=...).")
        noise = noise_for(simulate)
        account = Ledger(budget, unit=unit) if ledger is None else ledger
        if noise.simulated and account.persistent:
            raise LedgerError(
                "a persistent ledger takes no simulated runs. Leave the ledger out, or the seed."
            )
        return cls(account.start(budget, name, unit=unit, **reserved), noise)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: Any) -> None:
        self.run.__exit__(*failure)

    @property
    def relation(self) -> Relation:
        return self.run.budget.relation

    def counts(
        self,
        compute: Callable[[], Vector],
        sensitivity: float,
        entries: int,
        units: Units,
        query: object = None,
    ) -> tuple[Vector, float]:
        """Whole numbers that move by at most `sensitivity` in l2, with Gaussian noise, and its scale.

        `query` tells this from other numbers that a run asks for. Integers are exact in float64, so floating
        point adds nothing to the sensitivity."""
        calibration = calibrate(sensitivity, self.run.currency.mu_squared(units), entries)
        event = GaussianEvent(
            query=QueryKind.EVALUATION,
            sensitivity=calibration.sensitivity,
            scale=calibration.scale,
            entries=entries,
            step=calibration.step,
        )
        released = release.gaussian(self.run, self.noise, event, calibration, compute, query)
        return released.value, released.scale

    def best(self, compute: Callable[[], Sequence[int]], sensitivity: int, units: Units) -> int:
        """Index of the largest of several whole scores; a record adds 0 to Delta (`sensitivity`) to each.

        Report noisy max: with Laplace noise of scale 2 Delta / epsilon on each, the index is epsilon-DP.
        Given the others' noise, i wins when its own noise reaches a threshold, which a neighbour lowers by at
        most 2 Delta. Scores are sums of merits from 0 to Delta, so zeroing a record out lowers all of them:
        then the threshold moves by the difference of two falls, at most Delta. Sums and comparisons are
        made in integers; ties go to the first."""
        epsilon = self.run.currency.pure_epsilon(units)
        threshold_sensitivity = 2 * sensitivity if self.relation is Relation.REPLACE_ONE else sensitivity

        def noisiest() -> int:
            noisy = [score + self.noise.laplace(threshold_sensitivity, epsilon) for score in compute()]
            return noisy.index(max(noisy))

        return release.pure(self.run, PureEvent(QueryKind.SELECTION, epsilon), noisiest)
