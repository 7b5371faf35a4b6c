"""How each figure is computed, charged before the model sees a record, and given its interval."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.accounting import Units
from sottovoce.arrays import Matrix, Vector
from sottovoce.data import cells
from sottovoce.data.persons import Persons
from sottovoce.data.targets import Range
from sottovoce.errors import BLANK, Advice, DataError, ParameterError
from sottovoce.evaluation.figures import (
    ACCURACY,
    MAJORITY,
    CalibrationCurve,
    Confusion,
    Estimate,
    level_margin,
    sampling_margin,
)
from sottovoce.evaluation.rows import MADE_UP, answered, made_up, predicted
from sottovoce.privacy.counting import STEPS, Counted, CountOracle


@final
@dataclass(frozen=True)
class Figure:
    """Which numbers of a test set are asked for."""

    name: str


@final
@dataclass(frozen=True, repr=False)
class PrivateEvaluation:
    """A fitted model, private records and where to pay; every method charges `units` before it predicts.

    What made-up rows and the labels alone decide is refused before that. If `lenient`, no record makes
    a figure fail: an undeclared label counts as the first class, a missing number as the one nearest to 0."""

    model: Any
    X: Any
    y: NDArray[Any]
    oracle: CountOracle
    confidence: float
    lenient: bool = False
    persons: Persons | None = None

    @property
    def rows(self) -> int:
        return len(self.y)

    @property
    def counted(self) -> Counted:
        return Counted(self.rows, self.persons)

    @property
    def n(self) -> int:
        """Records, or the persons they are of."""
        return self.counted.n

    @property
    def classes(self) -> NDArray[Any]:
        if not hasattr(self.model, "classes_"):
            raise ParameterError("this figure is for classifiers, and the model has no classes_.")
        return np.asarray(self.model.classes_)

    def codes(self) -> NDArray[np.intp]:
        """Place of each label among the model's classes."""
        found = cells.codes(self.y, self.classes.tolist())
        if not self.lenient and (found < 0).any():
            raise DataError(
                "y holds a label that is none of the model's classes. Clean the test set, or pass "
                'invalid="zero": it then counts as the first class.',
                advice=(BLANK,),
            )
        return np.maximum(found, 0)

    def predictions(self) -> NDArray[Any]:
        """What the model predicts, an entry a record; what NumPy or an object raises may quote one."""
        with suppress(Exception):
            return predicted(self.model.predict, self.X, self.persons)
        raise DataError(
            "the model raised an error, or its predictions cannot be read. They must be an array or list, "
            "one a record."
        )

    def chances(self) -> Matrix:
        """The probability of each class for each record; one that is not a number counts as 0."""

        def ask(X: Any) -> Matrix:
            return np.asarray(self.model.predict_proba(X), dtype=np.float64)

        with suppress(Exception):
            parts = list(answered(ask, self.X, self.persons))
            if all(part.shape == (len(rows), len(self.classes)) for rows, part in parts):
                chances = np.zeros((self.rows, len(self.classes)))
                for rows, part in parts:
                    chances[rows] = np.nan_to_num(part)
                return np.asarray(np.clip(chances, 0.0, 1.0))
        raise DataError(
            "the model raised an error, or its probabilities are not a row a record and a column a class."
        )

    def require_predictions(self) -> None:
        """Refuse a model whose predictions on made-up rows are not one a row: they would be matched with all
        records at once."""
        self._require_shape("predict", (MADE_UP,), "one a row, in one dimension. Return predictions.ravel().")

    def require_probabilities(self) -> None:
        if not hasattr(self.model, "predict_proba"):
            raise ParameterError(
                'this model gives no probabilities. Train it with loss="logistic".',
                advice=(Advice("loss", "logistic"),),
            )
        self._require_shape(
            "predict_proba", (MADE_UP, len(self.classes)), "a row a record and a column a class."
        )

    def _require_shape(self, ask: str, shape: tuple[int, ...], rule: str) -> None:
        rows, found, masked = made_up(self.X), shape, False
        with suppress(Exception):
            given = getattr(self.model, ask)(rows)
            found, masked = np.shape(given), isinstance(given, np.ma.MaskedArray)
        if found != shape:
            raise ParameterError(f"{ask} gives shape {found} for {MADE_UP} made-up rows; it must be {rule}")
        if masked:
            raise ParameterError(f"{ask} gives a masked array. Return a plain one: predictions.filled(...).")

    def mean(
        self, name: str, losses: Callable[[], Vector], width: float, steps: int, units: Units
    ) -> Estimate:
        """Mean of numbers in [0, width], each rounded to a whole number of steps, so that sums are exact.

        A person's rows are averaged first, and the mean is rounded down."""
        steps = steps if self.persons is None else STEPS
        noisy, scale = self.oracle.total(self.counted, lambda: losses() / width, steps, units, Figure(name))
        unit, error = width / (steps * self.n), 1.0 - self.confidence
        value, rounding = noisy * unit, 0.0 if steps == 1 else width / steps
        margin = level_margin(scale, error) * unit + rounding
        wider = (
            level_margin(scale, error / 2.0) * unit + rounding + sampling_margin(width, self.n, error / 2.0)
        )
        return Estimate(
            name=name,
            value=value,
            low=max(0.0, value - margin),
            high=min(width, value + margin),
            population=(max(0.0, value - wider), min(width, value + wider)),
            confidence=self.confidence,
            n=self.n,
        )

    def noisy_cells(
        self, name: str, places: Callable[[], NDArray[np.intp]], entries: int, units: Units
    ) -> tuple[Vector, float]:
        """Noisy number of records in each cell, and the margin that holds for all cells at once."""
        noisy, scale = self.oracle.cells(self.counted, places, entries, units, Figure(name))
        rounding = 0.0 if self.persons is None else self.n / STEPS
        return noisy, level_margin(scale, (1.0 - self.confidence) / entries) + rounding

    def accuracy(self, units: Units) -> Estimate:
        self.require_predictions()

        def right() -> Vector:
            return cells.alike(self.predictions(), self.y).astype(np.float64)

        return self.mean(ACCURACY, right, 1.0, 1, units)

    def majority(self, units: Units) -> Estimate:
        """Share of the commonest class: the accuracy of who always says it. Its ends hold for all classes."""
        codes, count = self.codes(), len(self.classes)
        noisy, margin = self.noisy_cells("majority rate", lambda: codes, count, units)
        wider = margin / self.n + sampling_margin(1.0, self.n, (1.0 - self.confidence) / count)
        share = min(1.0, max(1.0 / count, float(noisy.max()) / self.n))
        reach = margin / self.n
        return Estimate(
            name=MAJORITY,
            value=share,
            low=max(1.0 / count, share - reach),
            high=min(1.0, share + reach),
            population=(max(1.0 / count, share - wider), min(1.0, share + wider)),
            confidence=self.confidence,
            n=self.n,
        )

    def absolute_error(self, target: tuple[float, float], units: Units) -> Estimate:
        bounds = Range.declare(target)

        def error(expected: Vector, predicted: Vector) -> Vector:
            return np.asarray(np.abs(predicted - expected))

        losses = self._losses(bounds, error)
        return self.mean("absolute error", losses, bounds.high - bounds.low, STEPS, units)

    def deviance(self, target: tuple[float, float], ceiling: float, units: Units) -> Estimate:
        bounds = Range.declare(target)
        if bounds.low != 0.0:
            raise ParameterError("the deviance is that of counts: declare target=(0, high).")
        self._require_ceiling(ceiling)

        def deviance(expected: Vector, predicted: Vector) -> Vector:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                gain = np.where(expected > 0.0, expected * np.log(expected / predicted), 0.0)
            return np.minimum(2.0 * (gain - expected + predicted), ceiling)

        return self.mean("deviance", self._losses(bounds, deviance), float(ceiling), STEPS, units)

    def _losses(self, bounds: Range, loss: Callable[[Vector, Vector], Vector]) -> Callable[[], Vector]:
        """What each record loses, computed when asked for; targets and predictions are clipped first."""
        truth, usable = bounds.encode(self.y)
        if not self.lenient and not usable.all():
            raise DataError(
                'y holds NaN or infinity. Clean the test set, or pass invalid="zero": it then counts as the '
                "number of the range nearest to 0.",
                advice=(BLANK,),
            )
        self.require_predictions()

        def losses() -> Vector:
            predicted, finite = bounds.encode(self.predictions())
            expected = np.where(usable, truth, bounds.blank)
            return loss(expected, np.where(finite, predicted, bounds.blank))

        return losses

    def _require_ceiling(self, ceiling: float) -> None:
        if not (isinstance(ceiling, int | float) and 0.0 < ceiling < 1e6):
            raise ParameterError(
                "ceiling, the most that one record may count, must be positive.", argument="ceiling"
            )

    def require_log_loss(self, ceiling: float) -> NDArray[np.intp]:
        """Refuse what needs no charge to refuse; the place of each label among the classes."""
        self._require_ceiling(ceiling)
        self.require_probabilities()
        return self.codes()

    def require_calibration(self, bins: int) -> NDArray[np.intp]:
        """Refuse what needs no charge to refuse; the place of each label among the classes."""
        if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= 1000:
            raise ParameterError("bins must be a whole number from 1 to 1000.", argument="bins")
        self.require_probabilities()
        return self.codes()

    def log_loss(self, ceiling: float, units: Units) -> Estimate:
        codes = self.require_log_loss(ceiling)

        def losses() -> Vector:
            chances = self.chances()[np.arange(self.rows), codes]
            with np.errstate(divide="ignore"):
                return np.minimum(-np.log(chances), ceiling)

        return self.mean("log loss", losses, float(ceiling), STEPS, units)

    def confusion(self, units: Units) -> Confusion:
        count, codes = len(self.classes), self.codes()
        self.require_predictions()

        def places() -> NDArray[np.intp]:
            predicted = cells.codes(self.predictions(), self.classes.tolist())
            if not self.lenient and (predicted < 0).any():
                raise DataError("the model predicts what is none of its classes.")
            return np.asarray(codes * count + np.maximum(predicted, 0))

        noisy, margin = self.noisy_cells("confusion", places, count * count, units)
        return Confusion(
            classes=tuple(self.classes.tolist()),
            counts=np.maximum(noisy, 0.0).reshape(count, count),
            margin=margin,
            confidence=self.confidence,
        )

    def calibration(self, bins: int, units: Units) -> CalibrationCurve:
        codes = self.require_calibration(bins)

        def places() -> NDArray[np.intp]:
            chances = self.chances()
            if chances.shape[1] == 2:
                stated, happened = chances[:, 1], codes == 1
            else:
                stated, happened = chances.max(axis=1), chances.argmax(axis=1) == codes
            return np.asarray(np.clip((stated * bins).astype(np.intp), 0, bins - 1) * 2 + happened)

        noisy, margin = self.noisy_cells("calibration", places, 2 * bins, units)
        missed, happened = noisy.reshape(bins, 2).T
        total = np.maximum(missed + happened, 1.0)
        return CalibrationCurve(
            edges=np.linspace(0.0, 1.0, bins + 1),
            counts=np.maximum(missed + happened, 0.0),
            margin=2.0 * margin,
            frequency=np.clip(happened / total, 0.0, 1.0),
            low=_share(happened - margin, missed + margin),
            high=1.0 - _share(missed - margin, happened + margin),
            confidence=self.confidence,
        )


def _share(part: Vector, rest: Vector) -> Vector:
    """part / (part + rest) where part is positive, else 0; at most 1."""
    part = np.maximum(part, 0.0)
    return part / np.maximum(part + np.maximum(rest, 0.0), 1e-300)
