"""Whole numbers counted over records, with noise: for evaluation and tuning.

Whoever asks proposes a merit, a cell or a score for each row. What a row, or a person with all their rows,
adds is cut to whole steps here and charged for as cut: a wrong proposal makes a figure useless, never
unprivate. Integers are exact in float64, so floating point adds nothing to a sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self, final

import numpy as np

from sottovoce.accounting import Budget, Ledger, Relation, Units
from sottovoce.accounting.events import GaussianEvent, PureEvent, QueryKind
from sottovoce.errors import DataError, LedgerError, ParameterError
from sottovoce.privacy import release
from sottovoce.privacy.noise import Noise, calibrate, noise_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting import Run
    from sottovoce.arrays import Vector
    from sottovoce.data.persons import Persons


STEPS = 2**20
"""Steps of one record, or of one person, where what they add is no whole number."""

SCORES = 2**20
"""Scores are read in so many bins of equal width; pairs within one are ties."""

_UP = 1.0 + 2.0**-50


class Counted(NamedTuple):
    """Rows, and whose they are where it is persons that count."""

    rows: int
    persons: Persons | None

    @property
    def n(self) -> int:
        return self.rows if self.persons is None else self.persons.n

    def whole(self, merits: Vector, steps: int) -> Vector:
        """What each record adds, a whole number from 0 to `steps`; of a person the mean of their rows'."""
        held = np.clip(np.nan_to_num(self._each(merits)), 0.0, 1.0)
        return np.rint(held * steps) if self.persons is None else self.persons.floored(held, steps)

    def cells(self, places: NDArray[np.intp], entries: int, steps: int) -> Vector:
        """How many steps of records lie in each cell, those of a person divided over their rows' cells."""
        held = np.clip(self._each(places).astype(np.intp), 0, entries - 1)
        if self.persons is None:
            return steps * np.bincount(held, minlength=entries).astype(np.float64)
        return self.persons.cells(held, entries, steps)

    def pairs(self, scores: Vector, codes: NDArray[np.intp], numbers: int) -> Vector:
        """Of the pairs of a positive and a negative those in order, over n, ties half; then positives, then
        all, as many of these as asked for, in steps, rounded down."""
        with np.errstate(over="ignore", invalid="ignore"):
            bins = np.clip(np.nan_to_num(self._each(scores)) * SCORES, 0, SCORES - 1).astype(np.intp)
        unit = 2 ** min(40, 61 - self.n.bit_length())
        parts = np.ones(self.rows) if self.persons is None else self.persons.shares()
        by_class = np.zeros((2, SCORES), dtype=np.int64)
        np.add.at(by_class, (np.clip(self._each(codes), 0, 1), bins), np.floor(parts * unit).astype(np.int64))
        negatives, positives = by_class
        found = int(positives.sum()), int(by_class.sum())
        ordered = math.floor(_in_order(negatives, positives) / (self.n * float(unit)) / unit * STEPS)
        return np.array([ordered, *(amount * STEPS // unit for amount in found[: numbers - 1])], np.float64)

    def _each(self, given: Any) -> Any:
        if np.shape(given) != (self.rows,):
            raise DataError("one number for each row is counted.")
        return np.asarray(given)


def _in_order(negatives: NDArray[np.int64], positives: NDArray[np.int64]) -> float:
    """Sum over bins of positives times negatives below, and half of those of the bin; exactly rounded sums
    of rounded products."""
    some = np.flatnonzero(positives)
    below = (2 * np.cumsum(negatives) - negatives)[some].astype(np.float64)
    return 0.5 * math.fsum((positives[some].astype(np.float64) * below).tolist())


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

    def _require_kept(self, counted: Counted) -> None:
        """Refuse to count where this run's ledger promises more than is kept: rows are not persons, and
        persons who were counted cannot be zeroed out."""
        persons = counted.persons
        if self.run.ledger.unit != "record" and persons is None:
            raise LedgerError("this ledger counts for every person, and here each record counts by itself.")
        if persons is not None and not persons.declared and self.relation is Relation.ZERO_OUT:
            raise LedgerError("under zero-out the number of persons may not be counted: one would change it.")

    def total(
        self, counted: Counted, merits: Callable[[], Vector], steps: int, units: Units, query: object = None
    ) -> tuple[float, float]:
        """Sum of merits from 0 to 1, in steps, with Gaussian noise, and its scale: it moves by `steps`.

        `query` tells this from other numbers that a run asks for."""
        self._require_kept(counted)
        if not 1 <= steps <= STEPS:
            raise ParameterError(f"one record counts from 1 to {STEPS} steps.")
        noisy, scale = self._noisy(
            lambda: np.array([counted.whole(merits(), steps).sum()]), float(steps), 1, units, query
        )
        return float(noisy[0]), scale

    def cells(
        self,
        counted: Counted,
        places: Callable[[], NDArray[np.intp]],
        entries: int,
        units: Units,
        query: object = None,
    ) -> tuple[Vector, float]:
        """How many records lie in each cell, and the scale of the noise.

        Replacing a record takes one from a cell and adds one to another, sqrt2 in l2; zeroing it out takes
        one away. A person's cells are nonnegative and sum to one at most: they move as a record's do."""
        self._require_kept(counted)
        steps = 1 if counted.persons is None else STEPS
        moves = steps * self.relation.distance(diameter=math.sqrt(2.0) * _UP, norm=1.0)
        noisy, scale = self._noisy(
            lambda: counted.cells(places(), entries, steps), moves, entries, units, query
        )
        return noisy / steps, scale / steps

    def pairs(
        self,
        counted: Counted,
        scores: Callable[[], Vector],
        codes: NDArray[np.intp],
        units: Units,
        query: object = None,
    ) -> tuple[Vector, float]:
        """U/n, P and, where n was declared and not all of them need be there, how many are.

        U counts the pairs of a positive and a negative that are in order, ties half; P counts positives. What
        one record, or one person counting 1, has to do with U is at most its own part times the others of the
        other class, and a quarter for pairs within a person: between 0 and n - 1 + 1/4. So U/n moves by at
        most 1, and so do the others; floors and rounded products add less than 3 steps."""
        self._require_kept(counted)
        numbers = 3 if counted.persons is not None and counted.persons.declared else 2
        moves = math.sqrt(numbers) * (STEPS + 3.0) * _UP
        noisy, scale = self._noisy(
            lambda: counted.pairs(scores(), codes, numbers), moves, numbers, units, query
        )
        return noisy / STEPS, scale / STEPS

    def _noisy(
        self, compute: Callable[[], Vector], moves: float, entries: int, units: Units, query: object
    ) -> tuple[Vector, float]:
        """Whole numbers that move by at most `moves` in l2, with Gaussian noise, and its scale."""
        calibration = calibrate(moves, self.run.currency.mu_squared(units), entries)
        event = GaussianEvent(
            query=QueryKind.EVALUATION,
            sensitivity=calibration.sensitivity,
            scale=calibration.scale,
            entries=entries,
            step=calibration.step,
        )
        released = release.gaussian(self.run, self.noise, event, calibration, compute, query)
        return released.value, released.scale

    def best(self, counted: Counted, merits: Callable[[], Sequence[Vector]], units: Units) -> int:
        """Index of the largest of several totals, each of merits from 0 to 1, as `total` counts them."""
        self._require_kept(counted)
        epsilon = self.run.currency.pure_epsilon(units)
        event = PureEvent(QueryKind.SELECTION, epsilon)
        return release.pure(self.run, event, lambda: self._noisiest(scores(counted, merits()), epsilon))

    def _noisiest(self, scores: Sequence[int], epsilon: float) -> int:
        """Report noisy max: with Laplace noise of scale 2 Delta / epsilon on each, the index is epsilon-DP.

        A record adds 0 to Delta (`STEPS`) to each score. Given the others' noise, i wins when its own noise
        reaches a threshold, which a neighbour lowers by at most 2 Delta. Zeroing a record out lowers all
        scores: then the threshold moves by the difference of two falls, at most Delta. Sums and comparisons
        are made in integers; ties go to the first."""
        moves = self.relation.distance(diameter=2 * STEPS, norm=STEPS)
        noisy = [score + self.noise.laplace(int(moves), epsilon) for score in scores]
        return noisy.index(max(noisy))


def scores(counted: Counted, merits: Sequence[Vector]) -> list[int]:
    """Whole steps that all records earn, for each of several merits."""
    return [int(counted.whole(merit, STEPS).sum()) for merit in merits]
