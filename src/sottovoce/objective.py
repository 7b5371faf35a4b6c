"""What the oracle needs of a risk, whatever the model behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.queries import Problem


class Movements(Protocol):
    """How far each computed answer can move when one record is replaced, at public weights."""

    def gradient(self, w: Vector) -> float: ...

    def gradient_norm(self, w: Vector) -> float: ...

    def hessian(self, w: Vector) -> float: ...

    def smallest_eigenvalue(self, w: Vector) -> float: ...

    def gram(self) -> float: ...

    def trials(self, w: Vector, steps: Matrix) -> float: ...

    def difference(self, w: Vector, step: Vector) -> float: ...


class Decreasing(Protocol):
    """The risk on a line."""

    def decrease(self, gamma: float) -> float: ...


class Objective(Protocol):
    """Exact answers about a mean loss over records plus a penalty, with their movements and constants."""

    @property
    def problem(self) -> Problem: ...

    @property
    def bounds(self) -> Movements: ...

    def gradient(self, w: Vector) -> Vector: ...

    def hessian(self, w: Vector) -> Matrix: ...

    def gram(self) -> Matrix: ...

    def smallest_eigenvalue(self, w: Vector) -> float: ...

    def trials(self, w: Vector, directions: Matrix) -> Vector: ...

    def along(self, w: Vector, direction: Vector) -> Decreasing: ...
