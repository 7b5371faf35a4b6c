"""Public constants of a risk: all that a method may know besides noisy answers."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.losses.base import Kind
from sottovoce.regularizers import L2, Regularizer

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.losses import Loss

LARGEST_MATRIX = 5000
"""Most columns for which a square matrix is formed: 200 MB of float64."""

WEIGHT_REACH = 2.0**20
"""Largest |<x, w>| a query may meet, in units of the label scale: keeps every exact answer finite."""


LONGEST_WEIGHTS = 1e90
"""Longest weights, whatever the radius: no sum of their entries reaches what a risk refuses."""


class Calibration(enum.StrEnum):
    """Whose sensitivities and constants a run uses."""

    TIGHT = "tight"
    PUBLISHED = "published"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Public constants of a risk (1/n) sum phi(t_i) + r(w), with ||x|| <= radius.

    `slope` is sup|phi'|, phi'' lies in [-curvature_low, curvature_high], `third` is sup|phi'''|,
    `bend` is sup|phi'''|/phi'' (infinite unless convex), `value_at_zero` bounds phi at w = 0, `label_reach`
    bounds |y| of a regression target (0 for labels), `loss` is its name, `limitable` whether its slopes may
    be limited, `shift` what is taken from <x, w> for a count.
    With several `outputs` w holds one block of dim / outputs weights for each (softmax: for each class), and
    the constants bound the norms of the derivatives with respect to all outputs together.
    A record counts between `lightest` and `weight`, q; a preconditioner may cap q ||x|| at `influence_cap`
    and q ||x||^2 at `energy_cap`.
    `likelihood`: phi is the negative logarithm of a probability, so that E phi'^2 = E phi'' in its model.
    `constant` is the column that carries the constant, if there is one; columns of one number in
    `column_groups` were declared to have one scale; of the columns from start to stop of one of `indicators`
    a row has at most one other than 0, which then holds what the constant does.
    `matrix_free`: curvature is asked for by products with vectors, never as a matrix.
    `unit`: whether there are n records or n persons, who may have several rows; `alone`: these persons are
    records, of which several rows were made, and a promise is one for records; `counted`: whether n persons
    were counted, so that n is public only while nobody comes or goes; `gathered`: whether a person's rows are
    held in one place, where their scores can be summed.
    `clipped`: each record's derivatives are cut off at these constants; answers are means of what is left.
    `layers`: how many weights each parameter of a module has, in their order.
    """

    n: int
    dim: int
    radius: float
    slope: float
    curvature_low: float
    curvature_high: float
    third: float
    value_at_zero: float
    label_reach: float = 0.0
    outputs: int = 1
    intercept: bool = False
    bend: float = math.inf
    nonzeros: int | None = None
    regularizer: Regularizer = field(default_factory=lambda: L2(0.0))
    matrix_free: bool = False
    clipped: bool = False
    layers: tuple[int, ...] = ()
    constant: int | None = None
    column_groups: tuple[int, ...] | None = None
    indicators: tuple[tuple[int, int], ...] = ()
    weight: float = 1.0
    lightest: float = 1.0
    influence_cap: float = math.inf
    energy_cap: float = math.inf
    loss: str = ""
    limitable: bool = False
    unit: str = "record"
    alone: bool = False
    counted: bool = False
    gathered: bool = True
    likelihood: bool = False
    shift: float = 0.0

    @property
    def promised_to(self) -> str:
        """Whom a promise about this problem is for: every record, or every person with all their records."""
        return "record" if self.alone else self.unit

    @classmethod
    def linear(
        cls,
        *,
        n: int,
        dim: int,
        radius: float,
        loss: Loss,
        regularizer: Regularizer,
        target: tuple[float, float] | None = None,
        intercept: bool = False,
        nonzeros: int | None = None,
        constant: int | None = None,
        column_groups: tuple[int, ...] | None = None,
        indicators: tuple[tuple[int, int], ...] = (),
        **counting: Any,
    ) -> Problem:
        """The constants of a linear model: phi of a margin y<x, w>, a residual <x, w> - y or a count."""
        residual = target is not None and loss.kind is Kind.RESIDUAL
        reach = max(map(abs, target)) if target is not None and residual else 0.0
        return cls(
            n=n,
            dim=dim,
            radius=radius,
            slope=loss.slope,
            curvature_low=loss.curvature_low,
            curvature_high=loss.curvature_high,
            third=loss.third,
            value_at_zero=loss.value_within(reach),
            loss=loss.name,
            limitable=loss.is_limitable,
            label_reach=reach,
            intercept=intercept,
            bend=loss.bend,
            nonzeros=nonzeros,
            regularizer=regularizer,
            constant=constant,
            column_groups=column_groups,
            indicators=indicators,
            **counting,
            likelihood=loss.is_likelihood,
            shift=loss.shift,
        )

    @property
    def influence(self) -> float:
        """Largest q ||x|| of a record that counts q."""
        return min(self.weight * self.radius, self.influence_cap)

    @property
    def energy(self) -> float:
        """Largest q ||x||^2 of a record that counts q."""
        return min(self.weight * self.radius**2, self.energy_cap)

    @property
    def columns(self) -> int:
        """Width of a row: the size of the Gram matrix, and of each output's block of weights."""
        return self.dim // self.outputs

    @property
    def widest_row(self) -> int:
        """Most entries other than 0 in a row: as declared, the intercept included, else all columns."""
        if self.nonzeros is None:
            return self.columns
        return min(self.columns, self.nonzeros + self.intercept)

    @property
    def curvature_floor(self) -> float:
        """No Hessian eigenvalue is below inf r'' - L energy; with a free intercept inf r'' is at most 0."""
        floor = self.regularizer.curvature_low
        if self.intercept:
            floor = min(0.0, floor)
        return floor - self.curvature_low * self.energy

    @property
    def forms_matrices(self) -> bool:
        """Whether a Hessian of all weights may be asked for."""
        return not self.matrix_free and matrix_fits(self.dim)

    @property
    def shows_curvature(self) -> bool:
        """Whether the curvature may be asked for at all: as a matrix, or by products with vectors."""
        return self.matrix_free or self.forms_matrices

    @property
    def is_convex(self) -> bool:
        """Whether every such risk is convex and its curvature changes by bounded factors."""
        return self.curvature_low == 0.0 and math.isfinite(self.bend) and self.regularizer.third == 0.0

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is not promised about a run on this problem, in plain words."""
        return ()

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the gradient (paper: G)."""
        return max(self.curvature_high * self.energy + self.regularizer.curvature_high, -self.curvature_floor)

    @property
    def hessian_lipschitz(self) -> float:
        """Lipschitz constant of the Hessian (paper: M)."""
        return self.third * self.energy * self.radius + self.regularizer.third

    @property
    def weight_limit(self) -> float:
        """Weights are pulled back to this norm before every query, so no exact answer can overflow."""
        return min(LONGEST_WEIGHTS, WEIGHT_REACH * max(1.0, self.label_reach) / self.radius)

    def gap(self, start: Vector) -> float:
        """Public bound on f(start) - inf f: phi at zero, plus slope q R ||start||, plus r(start).

        Losses and regularizers are nonnegative and phi is slope-Lipschitz along <x, w>."""
        distance = float(np.linalg.norm(start))
        lost = self.weight * self.value_at_zero + self.slope * self.influence * distance
        return lost + self.regularizer.value(start)

    def penalty(self, w: Vector) -> float:
        """r(w); the last weight of each output is free where it is an intercept."""
        return self.regularizer.value(self._penalized(w))

    def penalty_gradient(self, w: Vector) -> Vector:
        """Gradient of the penalty."""
        if not self.intercept:
            return self.regularizer.gradient(w)
        gradient = np.zeros((self.outputs, self.columns))
        gradient[:, :-1] = self.regularizer.gradient(self._penalized(w)).reshape(self.outputs, -1)
        return gradient.ravel()

    def penalty_curvature(self, w: Vector) -> Matrix:
        """Hessian of the penalty."""
        if not self.intercept:
            found = self.regularizer.curvature(w)
            return np.diag(found) if found.ndim == 1 else found
        curvature = np.zeros((self.outputs, self.columns))
        curvature[:, :-1] = self.regularizer.curvature(self._penalized(w)).reshape(self.outputs, -1)
        return np.diag(curvature.ravel())

    def penalty_curvature_along(self, w: Vector, direction: Vector) -> Vector:
        """Hessian of the penalty times a direction; of many weights it is not formed."""
        if self.matrix_free:
            return np.asarray(self.regularizer.curvature(w) * direction)
        return self.penalty_curvature(w) @ direction

    def penalty_decrease(self, w: Vector, steps: Matrix) -> Vector:
        """How far the penalty falls along each step."""
        here = self.penalty(w)
        return np.array([here - self.penalty(w + step) for step in steps])

    def _penalized(self, w: Vector) -> Vector:
        return w.reshape(self.outputs, -1)[:, :-1].ravel() if self.intercept else w

    def gradient_ceiling(self, w: Vector) -> float:
        """Public bound on the gradient norm at w: slope influence plus the regularizer's own gradient."""
        return self.slope * self.influence + float(np.linalg.norm(self.regularizer.gradient(w)))

    def within_limit(self, w: Vector) -> Vector:
        """The point of the ball of public radius `weight_limit` nearest to w."""
        finite = np.clip(np.nan_to_num(w), -1e300, 1e300)
        largest = float(np.max(np.abs(finite), initial=0.0))
        if largest <= self.weight_limit / math.sqrt(self.dim):
            return finite
        unit = finite / largest
        reach = self.weight_limit / float(np.linalg.norm(unit))
        return finite if largest <= reach else unit * reach


def matrix_fits(columns: int) -> bool:
    """Whether a square matrix of so many columns is formed."""
    return columns <= LARGEST_MATRIX


def require_matrix_fits(columns: int) -> None:
    """Refuse a square matrix of so many columns, with the way out."""
    if not matrix_fits(columns):
        raise ParameterError(
            f"a matrix of {columns} columns is not built: the limit is {LARGEST_MATRIX}. "
            "Use a method that needs gradients only, such as 'majorize', or fewer columns."
        )
