"""Answers outside training that are charged before data is touched: the best of several, and noisy counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, final

from scipy.special import ndtri

from sottovoce.accounting import Budget, Currency, Ledger, Relation, Units
from sottovoce.accounting.events import GaussianEvent, PureEvent, Query
from sottovoce.errors import LedgerError, ParameterError
from sottovoce.privacy import release
from sottovoce.privacy.noise import Noise, calibrate, noise_for

if TYPE_CHECKING:
    from sottovoce.accounting import Run
    from sottovoce.arrays import Vector


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
    ) -> Self:
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
        return cls(account.run(budget, name, unit=unit), noise)

    @property
    def relation(self) -> Relation:
        return self.run.budget.relation

    def counts(
        self, compute: Callable[[], Vector], moves: float, entries: int, units: Units
    ) -> tuple[Vector, float]:
        """Whole numbers that move by at most `moves` in l2, with Gaussian noise, and its standard deviation.

        Integers are exact in float64, so floating point adds nothing to the sensitivity."""
        calibration = calibrate(moves, self.run.currency.mu_squared(units), entries)
        event = GaussianEvent(
            query=Query.EVALUATION,
            sensitivity=calibration.sensitivity,
            scale=calibration.scale,
            entries=entries,
            step=calibration.step,
        )
        _, (paid,) = release.gaussian(self.run, self.noise, event, (calibration, compute))
        return paid.draw(), calibration.scale

    def best(self, compute: Callable[[], Sequence[int]], moves: int, units: Units) -> int:
        """Index of the largest of several whole scores, to each of which a record adds from 0 to `moves`.

        Report noisy max: with Laplace noise of scale 2 moves / epsilon on each, the index is epsilon-DP.
        Given the others' noise, i wins when its own noise reaches a threshold, which a neighbour lowers by at
        most 2 moves. Scores are sums of merits from 0 to `moves`, so zeroing a record out lowers all of them:
        then the threshold moves by the difference of two falls, at most `moves`. Sums and comparisons are
        made in integers; ties go to the first."""
        epsilon = self.run.currency.pure_epsilon(units)
        threshold_moves = 2 * moves if self.relation is Relation.REPLACE_ONE else moves

        def noisiest() -> int:
            noisy = [score + self.noise.laplace(threshold_moves, epsilon) for score in compute()]
            return noisy.index(max(noisy))

        return release.pure(self.run, PureEvent(Query.SELECTION, epsilon), noisiest)


def budget_within(currency: Currency, units: Units, whole: Budget) -> Budget:
    """The largest budget with the whole's delta that costs at most `units`: bisection over epsilon."""
    delta = whole.delta
    low, high = 0.0, 1.0
    while high < 500.0 and _costs(currency, high, delta) <= units:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if _costs(currency, middle, delta) <= units:
            low = middle
        else:
            high = middle
    if _costs(currency, low, delta) < 1:
        raise ParameterError("the budget is too small to be divided so often. Try fewer candidates.")
    return replace(whole, epsilon=low)


def _costs(currency: Currency, epsilon: float, delta: float) -> Units:
    """What a budget is worth; 0 where it buys nothing."""
    try:
        return currency.cap(Budget(epsilon=epsilon, delta=delta)) if epsilon > 0.0 else 0
    except ParameterError:
        return 0


def level_margin(scale: float, error: float) -> float:
    """Half-width of a two-sided interval for a noisy number, missed with probability at most `error`."""
    return -scale * float(ndtri(error / 2.0))


def sampling_margin(width: float, n: int, error: float) -> float:
    """Hoeffding: how far a mean of n independent numbers in a range of this width strays, but for `error`."""
    return width * math.sqrt(math.log(2.0 / error) / (2.0 * n))
