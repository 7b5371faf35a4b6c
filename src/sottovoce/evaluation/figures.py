"""Released figures about a model, with their confidence intervals. Noisy and public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from sottovoce.arrays import Matrix, Vector


@final
@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A noisy mean over n records. [low, high] holds the test set's own mean with the stated confidence;
    `population` holds the mean over the population the records were drawn from, independently."""

    name: str
    value: float
    low: float
    high: float
    population: tuple[float, float]
    confidence: float
    n: int

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Estimate:
        """The estimate of `dataclasses.asdict`, out of JSON."""
        low, high = raw["population"]
        numbers = {name: float(raw[name]) for name in ("value", "low", "high", "confidence")}
        return cls(name=str(raw["name"]), n=int(raw["n"]), population=(float(low), float(high)), **numbers)

    def __str__(self) -> str:
        return (
            f"{self.name} {self.value:.4f}, within [{self.low:.4f}, {self.high:.4f}] on this test set with "
            f"{100 * self.confidence:.6g} % confidence"
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Confusion:
    """Noisy counts, rows true and columns predicted classes; all lie within `margin` of the exact ones."""

    classes: tuple[Any, ...]
    counts: Matrix
    margin: float
    confidence: float


@final
@dataclass(frozen=True, kw_only=True)
class AreaUnderCurve:
    """The area under the ROC curve of two classes; [low, high] holds the test set's own."""

    value: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        return (
            f"area under the ROC curve {self.value:.4f}, within [{self.low:.4f}, {self.high:.4f}] on this "
            f"test set with {100 * self.confidence:.6g} % confidence"
        )


def area_of(missed: Vector, happened: Vector, margin: float, confidence: float) -> AreaUnderCurve:
    """Bounds on the chance that a positive scores above a negative, from counts by bin of score.

    Where every true count lies within `margin` of its noisy one, the pairs surely in order, positives of a
    bin with negatives of lower ones, are at least U = sum p_b n_c over c < b of the least counts, and all
    pairs at most P N of the largest: the area is at least U / (P N), and by the same bound for pairs surely
    out of order at most 1 minus that. Pairs within a bin count for neither."""
    least = [np.maximum(counts - margin, 0.0) for counts in (missed, happened)]
    pairs = math.prod(float(np.maximum(counts + margin, 0.0).sum()) for counts in (missed, happened))
    low = _in_order(*least) / pairs if pairs else 0.0
    high = 1.0 - _in_order(*reversed(least)) / pairs if pairs else 1.0
    kept = [np.maximum(counts, 0.0) for counts in (missed, happened)]
    all_pairs = float(kept[0].sum() * kept[1].sum())
    value = 0.5
    if all_pairs:
        value = (_in_order(*kept) + 0.5 * float(kept[0] @ kept[1])) / all_pairs
    return AreaUnderCurve(value=min(max(value, low), high), low=low, high=high, confidence=confidence)


def _in_order(lower: Vector, upper: Vector) -> float:
    """Pairs of one count and another of a later bin."""
    return float(upper[1:] @ np.cumsum(lower)[:-1])


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class CalibrationCurve:
    """How often the predicted class event happened, bin by bin of predicted probability.

    Two classes: probability and frequency of the second. More: of the predicted class being right. All
    intervals [low, high] hold at once; a bin with few records says so by a wide one. `area` is that under the
    ROC curve as far as the bins tell it, of two classes."""

    edges: Vector
    counts: Vector
    frequency: Vector
    low: Vector
    high: Vector
    confidence: float
    area: AreaUnderCurve | None = None


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Accuracy, clipped log loss, calibration and confusion under one budget, a quarter of it each."""

    accuracy: Estimate
    log_loss: Estimate
    calibration: CalibrationCurve
    confusion: Confusion


def level_margin(scale: float, error: float) -> float:
    """Half-width of a two-sided interval for a noisy number, missed with probability at most `error`."""
    return -scale * float(ndtri(error / 2.0))


def sampling_margin(width: float, n: int, error: float) -> float:
    """Hoeffding: how far a mean of n independent numbers in a range of this width strays, but for `error`."""
    return width * math.sqrt(math.log(2.0 / error) / (2.0 * n))
