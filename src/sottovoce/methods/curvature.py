"""Where the risk bends down most: from one noisy Hessian, or from noisy products where none is formed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.methods.lanczos import DENSE_LIMIT, smallest_pair
from sottovoce.methods.noise_propagation import StepNoise
from sottovoce.methods.noisy_lanczos import lowest_direction
from sottovoce.queries import CurvatureProduct, Hessian
from sottovoce.results.certificate import spectral_margin

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.base import Evidence, State
    from sottovoce.methods.steps import Step
    from sottovoce.problem import Problem
    from sottovoce.queries import Derivatives


@final
@dataclass(frozen=True)
class Bend:
    """What a look at the curvature found, and paid.

    `downhill` gives the direction of lowest curvature, signed so that it does not climb a gradient, and the
    curvature along it, which `noise` typically moves that far. `settles`: whether such an answer can also
    show that no direction bends down."""

    downhill: Callable[[Vector], tuple[Vector, float]]
    units: int
    noise: float
    settles: bool

    def passed(self, step: Step, eigenvalue: float) -> Step:
        """A step along that direction, with its noise: noise/|lambda~| of its length, at most all of it,
        alike in all directions. It follows no gradient, so it leaves earlier noise as it was; which of the
        two ways it went down is taken as given."""
        length = float(np.linalg.norm(step.vector))
        lost = length * min(1.0, self.noise / max(abs(eigenvalue), 1e-300))
        step_noise = StepNoise(np.zeros(1), 0.0, None, beside=lost**2 / step.vector.size)
        return replace(step, step_noise=step_noise)


class Curvature(ABC):
    """A way to ask how the risk bends; the same methods use either."""

    @abstractmethod
    def look(
        self, state: State, here: Evidence, units: int, ask: Derivatives | None = None
    ) -> tuple[Bend, Evidence]:
        """Spend `units` on the lowest curvature at this point, which joins the evidence."""

    @abstractmethod
    def price(self, state: State, ask: Derivatives, noise: float, level: float) -> int:
        """Units for a look that mistakes the curvature by `noise` at most, but for a chance of `level`."""


@final
@dataclass(frozen=True)
class ByMatrix(Curvature):
    """One release of the whole Hessian; its eigenvectors are free."""

    def look(
        self, state: State, here: Evidence, units: int, ask: Derivatives | None = None
    ) -> tuple[Bend, Evidence]:
        hessian, here = state.hessian(here, units, ask)
        noise = hessian.scale * math.sqrt(2.0 * state.problem.dim) + hessian.sampling
        return Bend(lambda g: downhill(hessian.value, g), hessian.units, noise, settles=True), here

    def price(self, state: State, ask: Derivatives, noise: float, level: float) -> int:
        scale = noise / spectral_margin(1.0, state.problem.dim, level)
        return ask.price(Hessian(state.w), scale)


@final
@dataclass(frozen=True, kw_only=True)
class ByProducts(Curvature):
    """`products` noisy products by Lanczos's recurrence, then one more along the direction found.

    The last product measures the curvature along that direction afresh, without the luck that chose it, on
    `measured` of the units. No number of products shows that there is no worse direction."""

    products: int = 12
    measured: float = 0.25

    def __post_init__(self) -> None:
        if self.products < 1 or not 0.0 < self.measured < 1.0:
            raise ParameterError(
                "products must be at least 1 and measured strictly between 0 and 1.", argument="products"
            )

    def look(
        self, state: State, here: Evidence, units: int, ask: Derivatives | None = None
    ) -> tuple[Bend, Evidence]:
        source, count = ask or state.ask, self._count(state.problem)
        last = int(units * self.measured)
        each, paid = (units - last) // count, 0

        def product(direction: Vector) -> Vector:
            nonlocal paid
            answer = source.curvature_product(here.w, direction, each)
            paid += answer.units
            return answer.value

        direction = lowest_direction(product, state.problem.dim, count)
        answer = source.curvature_product(here.w, direction, last)
        rayleigh = float(direction @ answer.value)
        here = state.rayleigh(here, rayleigh)
        noise = answer.scale + answer.sampling
        found = Bend(lambda g: (_signed(direction, g), rayleigh), paid + answer.units, noise, settles=False)
        return found, here

    def price(self, state: State, ask: Derivatives, noise: float, level: float) -> int:
        """Noise of that length in each product."""
        scale = noise / math.sqrt(state.problem.dim)
        product = CurvatureProduct(state.w, np.ones(state.problem.dim))
        return math.ceil(self._count(state.problem) * ask.price(product, scale) / (1.0 - self.measured))

    def _count(self, problem: Problem) -> int:
        return min(self.products, problem.dim)


def curvature_of(problem: Problem) -> Curvature:
    """How this problem lets its curvature be asked for."""
    return ByProducts() if problem.matrix_free else ByMatrix()


def downhill(hessian: Matrix, gradient: Vector) -> tuple[Vector, float]:
    """Unit eigenvector p of the smallest eigenvalue, signed so that <p, g~> <= 0, and that eigenvalue."""
    if len(hessian) > DENSE_LIMIT:
        eigenvalue, direction = smallest_pair(hessian)
    else:
        values, vectors = np.linalg.eigh(hessian)
        eigenvalue, direction = float(values[0]), vectors[:, 0]
    return _signed(direction, gradient), eigenvalue


def _signed(direction: Vector, gradient: Vector) -> Vector:
    return -direction if float(direction @ gradient) > 0.0 else direction
