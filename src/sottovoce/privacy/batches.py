"""Queries about secret batches: what they cost, amplified by their secrecy, and their answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar, final

from sottovoce.accounting.checks import whole
from sottovoce.accounting.events import Draw, SubsampledGaussianEvent
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError
from sottovoce.privacy import release, sampling
from sottovoce.privacy.noise import Noise, calibrate
from sottovoce.privacy.prices import PRICE_SLACK, Priced, require_known
from sottovoce.privacy.sources import Source, batch_bounds

if TYPE_CHECKING:
    from sottovoce.accounting import Run
    from sottovoce.models.bounds import Bounds
    from sottovoce.privacy.noise import NoiseCalibration
    from sottovoce.privacy.release import Released
    from sottovoce.queries import Query

T = TypeVar("T")


class BatchPrices(Priced):
    """Prices of queries about secret batches, amplified by their secrecy.

    Under zero-out batches are Poisson ones, their sums divided by the expected size: they move by one record
    over that size. Else they have a fixed size and move as when one of their records is replaced, whatever
    the relation: for that, amplification is proved."""

    def __init__(self, bounds: Bounds, run: Run, *, size: int) -> None:
        size = whole("the size of a batch", size)
        if size > bounds.problem.n:
            raise ParameterError(f"a batch holds between 1 and n={bounds.problem.n} records, got {size}.")
        super().__init__(bounds, run)
        self._size = size
        self._draw = Draw.under(bounds.relation)
        self._batch_bounds = batch_bounds(bounds, size, *self._batch)

    @property
    def _population(self) -> int:
        """How many records a batch is drawn from."""
        return self.problem.n

    @property
    def _batch(self) -> tuple[int, Relation]:
        """How many records a sum holds at most, and how two batches of neighbours differ."""
        if self._draw is Draw.FIXED:
            return self._size, Relation.REPLACE_ONE
        return self._population, Relation.ZERO_OUT

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size} of {self.problem.n} records, {self._run!r})"

    def calibrated(self, query: Query[T], units: int) -> NoiseCalibration:
        """The noise that `units` buy."""
        return self._calibrated(query, self._sensitivity(query), units)

    def _calibrated(self, query: Query[T], sensitivity: float, units: int) -> NoiseCalibration:
        multiplier = self._run.currency.multiplier(units, self._size, self._population, self._draw)
        mu_squared = (1.0 - 2.0**-45) / (multiplier * multiplier)
        return calibrate(sensitivity, mu_squared, query.entries(self.problem))

    def _sensitivity(self, query: Query[T]) -> float:
        """What the query will be charged for."""
        return query.sensitivity(self._batch_bounds)

    def price(self, query: Query[T], scale: float) -> int:
        query = require_known(query).admitted(self.problem)
        sensitivity = self._sensitivity(query) * PRICE_SLACK
        batch = (self._size, self._population, self._draw)
        return self._run.currency.price(
            SubsampledGaussianEvent(query.kind, sensitivity, scale, 1, 0.0, *batch)
        )

    def sampling(self, query: Query[T]) -> float:
        """Root mean square distance of a batch's answer from that of all records, at most."""
        return batch_deviation(query.term(self.problem), self.problem.n, self._size)


def batch_deviation(term: float, n: int, size: int) -> float:
    """Root mean square of ||g_S - g||: sup||term|| / sqrt(m), times what is left out of the batch."""
    left_out = (n - size) / max(1, n - 1)
    return term * math.sqrt(left_out / size)


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
        self._source = source
        super().__init__(source.bounds, run, size=size)
        self._priced = source.batch(self._size, *self._batch)
        self._noise = noise
        self._entropy = entropy

    @property
    def _population(self) -> int:
        return self._source.n

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
            population=self._population,
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
        return self._source.subset(chosen(self._population, self._size, self._entropy), n=self._size)
