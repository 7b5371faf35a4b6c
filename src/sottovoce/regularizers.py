"""Penalties on the weights: sums over coordinates that no record enters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError, meant
from sottovoce.losses import GemanMcClure
from sottovoce.losses.base import at_least, checked_number

LARGEST_STRENGTH = 1e6


@dataclass(frozen=True)
class Regularizer(ABC):
    """strength * sum of r(w_i) over coordinates. Data-free: costs no privacy, adds to smoothness bounds."""

    strength: float

    name: ClassVar[str]

    def __post_init__(self) -> None:
        way_out = "Use 0 for no regularization."
        strength = checked_number("strength", self.strength, 0.0, LARGEST_STRENGTH, way_out)
        object.__setattr__(self, "strength", strength)

    @abstractmethod
    def value(self, w: Vector) -> float:
        """The penalty at w."""

    @abstractmethod
    def gradient(self, w: Vector) -> Vector:
        """Its gradient."""

    @abstractmethod
    def curvature(self, w: Vector) -> Vector:
        """The diagonal of its Hessian, which has no other entries."""

    def majorant(self) -> Matrix:
        """A matrix above every Hessian of the penalty, for one output's weights in other coordinates."""
        raise ParameterError("a penalty has a matrix only in the coordinates of a preconditioner.")

    @property
    @abstractmethod
    def curvature_low(self) -> float:
        """strength * inf r'', with its sign."""

    @property
    @abstractmethod
    def curvature_high(self) -> float:
        """strength * sup r''."""

    @property
    @abstractmethod
    def third(self) -> float:
        """strength * sup |r'''|."""


@final
@dataclass(frozen=True)
class L2(Regularizer):
    """strength/2 ||w||^2, so r'' = 1."""

    name: ClassVar[str] = "l2"

    def value(self, w: Vector) -> float:
        return 0.5 * float(np.dot(self.gradient(w), w))

    def gradient(self, w: Vector) -> Vector:
        return self.strength * np.asarray(w, dtype=np.float64)

    def curvature(self, w: Vector) -> Vector:
        return np.full(np.shape(w), self.strength)

    @property
    def curvature_low(self) -> float:
        return self.strength

    @property
    def curvature_high(self) -> float:
        return self.strength

    @property
    def third(self) -> float:
        return 0.0


# w^2/(1+w^2) is twice the Geman-McClure loss at scale 1, which brings its safe arithmetic and its constants.
_HALF: Final = GemanMcClure()


@final
@dataclass(frozen=True)
class Tukey(Regularizer):
    """strength * sum w^2/(1+w^2): nonconvex, spares large weights.

    r' = 2w/(1+w^2)^2; r'' = 2(1-3w^2)/(1+w^2)^3 in [-1/2, 2]; r''' = 24w(w^2-1)/(1+w^2)^4, at most 4.6686.
    """

    name: ClassVar[str] = "tukey"

    def value(self, w: Vector) -> float:
        return self.strength * 2.0 * float(np.sum(_HALF.value(w)))

    def gradient(self, w: Vector) -> Vector:
        return (2.0 * self.strength) * _HALF.first(w)

    def curvature(self, w: Vector) -> Vector:
        return (2.0 * self.strength) * _HALF.second(w)

    @property
    def curvature_low(self) -> float:
        return -2.0 * self.strength * _HALF.curvature_low

    @property
    def curvature_high(self) -> float:
        return 2.0 * self.strength * _HALF.curvature_high

    @property
    def third(self) -> float:
        return at_least(2 * Fraction(self.strength) * Fraction(_HALF.third))


_REGULARIZERS: Final[dict[str, type[Regularizer]]] = {kind.name: kind for kind in (L2, Tukey)}


def by_name(name: str, strength: float) -> Regularizer:
    """The regularizer of that name."""
    if name not in _REGULARIZERS:
        raise ParameterError(
            f"regularizer {name!r} is unknown.{meant(name, _REGULARIZERS)} Choose one of "
            f"{', '.join(map(repr, _REGULARIZERS))}."
        )
    return _REGULARIZERS[name](strength)
