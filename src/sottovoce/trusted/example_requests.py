"""What may be asked of examples that are clipped one by one, as those of PyTorch modules are. See `requests`.

Each example counts its share; what is not finite counts 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.trusted.requests import ExampleRequest

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.trusted.bands import Span


@final
@dataclass(frozen=True, eq=False)
class ClippedGradients(ExampleRequest):
    """(1/n) sum of gradients, each cut to norm `limit`."""

    w: Vector
    limit: float


@final
@dataclass(frozen=True, eq=False)
class CountedGradients(ExampleRequest):
    """The same, and last `limit` `weight` times (1/n) sum of 1/2 where a gradient is not cut, -1/2 where it
    is."""

    w: Vector
    limit: float
    weight: float


@final
@dataclass(frozen=True, eq=False)
class GradientChanges(ExampleRequest):
    """(1/n) sum of how far a gradient, cut to norm `clip`, changes along the direction, each change cut to
    norm `limit`."""

    w: Vector
    direction: Vector
    clip: float
    limit: float


@final
@dataclass(frozen=True, eq=False)
class GradientShares(ExampleRequest):
    """(1/n) sum e, e the unit vector of the band in which a gradient's norm lies: above the first of falling
    edges, between two of them, at most the last."""

    w: Vector
    edges: Vector


@final
@dataclass(frozen=True, eq=False)
class ClippedHessians(ExampleRequest):
    """(1/n) sum of Hessians, each cut to Frobenius norm `limit`."""

    w: Vector
    limit: float


@final
@dataclass(frozen=True, eq=False)
class ClippedProducts(ExampleRequest):
    """(1/n) sum of Hessians times a public vector, taken at length 1, each product cut to norm `limit`."""

    w: Vector
    direction: Vector
    limit: float


@final
@dataclass(frozen=True, eq=False)
class ClippedLosses(ExampleRequest):
    """(1/n) sum of losses, each within the span."""

    one_sided: ClassVar[bool] = True
    w: Vector
    span: Span


@final
@dataclass(frozen=True, eq=False)
class LossSteps(ExampleRequest):
    """(1/n) sum of how far a loss falls along each step p_j, over its divisor, each fall within
    steepest ||p_j||."""

    steepest: float
    w: Vector
    steps: Matrix
    divisors: Vector


@final
@dataclass(frozen=True, eq=False)
class LossLine(ExampleRequest):
    """(1/n) sum of how far a loss falls at each length gamma along the direction p, each within
    steepest |gamma| ||p||."""

    steepest: float
    w: Vector
    direction: Vector
    lengths: Vector
