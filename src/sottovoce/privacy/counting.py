"""Whole numbers counted over records, with noise: for evaluation and tuning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

from sottovoce.accounting import Budget, Ledger, Relation, Units
from sottovoce.accounting.events import GaussianEvent, PureEvent, QueryKind
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
