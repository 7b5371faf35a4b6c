"""Released figures about a model, with their confidence intervals. Noisy and public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

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
@dataclass(frozen=True, kw_only=True, eq=False)
class CalibrationCurve:
    """How often the predicted class event happened, bin by bin of predicted probability.

    Two classes: probability and frequency of the second. More: of the predicted class being right. All
    intervals [low, high] hold at once; a bin with few records says so by a wide one."""

    edges: Vector
    counts: Vector
    frequency: Vector
    low: Vector
    high: Vector
    confidence: float


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Accuracy, clipped log loss, calibration and confusion under one budget, a quarter of it each."""

    accuracy: Estimate
    log_loss: Estimate
    calibration: CalibrationCurve
    confusion: Confusion
