"""Released figures about a model, with their confidence intervals. Noisy and public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from sottovoce.arrays import Mask, Matrix, Vector
from sottovoce.files import finite, fits, text_of

ACCURACY, AREA, MAJORITY = "accuracy", "area under the ROC curve", "majority rate"
SHARES = (ACCURACY, AREA, MAJORITY)
"""Figures between 0 and 1."""

TOO_WIDE = 0.2
"""Width of an interval for one of them that says next to nothing."""


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
        """The estimate of `dataclasses.asdict`, out of JSON; an error for anything else."""
        low, high = map(finite, raw["population"])
        numbers = {name: finite(raw[name]) for name in ("value", "low", "high", "confidence")}
        if not fits(raw["n"], int) or not 1 <= raw["n"] < 2**63 or not 0.0 < numbers["confidence"] < 1.0:
            raise ValueError("this is no figure of at least one record")
        return cls(name=text_of(raw["name"]), n=raw["n"], population=(low, high), **numbers)

    @property
    def too_few(self) -> str:
        """A warning where a share between 0 and 1 is known to a fifth and no better; else empty."""
        wide = self.name in SHARES and self.high - self.low > TOO_WIDE
        return f"too wide to judge by: measure on more than these {self.n:,}" if wide else ""

    def __str__(self) -> str:
        return (
            f"{self.name} {self.value:.4f}, within [{self.low:.4f}, {self.high:.4f}] on this test set with "
            f"{100 * self.confidence:.6g} % confidence" + (f"; {self.too_few}" if self.too_few else "")
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Confusion:
    """Noisy counts, rows true and columns predicted classes, none below 0; all lie within `margin` of the
    exact ones, so that one smaller than it may be none at all."""

    classes: tuple[Any, ...]
    counts: Matrix
    margin: float
    confidence: float


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class CalibrationCurve:
    """How often the predicted class event happened, bin by bin of predicted probability.

    Two classes: probability and frequency of the second. More: of the predicted class being right. All
    intervals [low, high] hold at once; a bin with few records says so by a wide one. No count is below 0, and
    all lie within `margin` of the exact ones; where one does not stand out of it the frequency says
    nothing, see `below_noise`."""

    edges: Vector
    counts: Vector
    margin: float
    frequency: Vector
    low: Vector
    high: Vector
    confidence: float

    @property
    def below_noise(self) -> Mask:
        """Bins that may be empty for all that was released."""
        return np.asarray(self.counts <= self.margin)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Accuracy, the majority rate to compare it with, clipped log loss, calibration, confusion and, of two
    classes, the area under the ROC curve, under one budget, equal parts of it each."""

    accuracy: Estimate
    log_loss: Estimate
    calibration: CalibrationCurve
    confusion: Confusion
    majority: Estimate
    area: Estimate | None = None


def level_margin(scale: float, error: float) -> float:
    """Half-width of a two-sided interval for a noisy number, missed with probability at most `error`."""
    return -scale * float(ndtri(error / 2.0))


def expected_width(n: int, mu: float, share: float = 0.2) -> float:
    """About the width of a 95 % interval for the area under the ROC curve on n records, or persons, where it
    gets Gaussian privacy `mu` and the second class has this share: two numbers, each moved by 1 of n at most,
    over the share of pairs. That for the accuracy is narrower."""
    return 2.0 * level_margin(2.0 / (n * mu), 0.05) / (share * (1.0 - share))


def sampling_margin(width: float, n: int, error: float) -> float:
    """Hoeffding: how far a mean of n independent numbers in a range of this width strays, but for `error`."""
    return width * math.sqrt(math.log(2.0 / error) / (2.0 * n))
