"""What may be asked of records: bounded sums. A request proposes laws, bands and steps; it promises nothing.

Those who answer it clamp every contribution to the band that it names and charge for that band. So a request
with a wrong law or a narrow band gets a useless answer, and never one that tells more than was charged for.
Weights are those of the coordinates in which the sums are made. Numbers are copied as a request is made: what
is charged for is what will be answered, in float64, whoever else holds the arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.laws import Law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting.relations import Relation
    from sottovoce.arrays import Matrix, Vector


_REQUESTS = ("sottovoce.trusted.requests", "sottovoce.trusted.example_requests")


class Request:
    """One bounded sum, or what is read off it. `one_sided`: 0 may lie outside the hull of its terms."""

    one_sided: ClassVar[bool] = False

    def __init_subclass__(cls, **named: Any) -> None:
        if cls.__module__ not in _REQUESTS:
            raise TypeError(f"requests are those of {' and '.join(_REQUESTS)} and no others.")
        super().__init_subclass__(**named)

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):  # type: ignore[arg-type]
            object.__setattr__(self, name, _held(name, getattr(self, name)))


def _held(name: str, given: Any) -> Any:
    """What a request holds: the base's own laws and bands as they are, of numbers a copy that stays."""
    if name in _PARTS:
        if not isinstance(given, _PARTS[name]):
            raise ParameterError(f"{name} of a request must be a {_PARTS[name].__name__}.")
        return given
    if name == "span":
        return Span(*map(float, given))
    if name in _NUMBERS:
        return float(given)
    if given is None:
        return None
    held = np.array(given, dtype=None if name == "groups" else np.float64)
    held.flags.writeable = False
    return held


_NUMBERS = ("limit", "steepest", "weight", "balance", "clip")
_PARTS: dict[str, type] = {"law": Law, "band": Band, "of": Request}


@final
@dataclass(frozen=True, eq=False)
class VectorSum(Request):
    """(1/n) sum q c z, c the law's first derivative within the band."""

    law: Law
    band: Band
    w: Vector


@final
@dataclass(frozen=True, eq=False)
class VectorChange(Request):
    """(1/n) sum q c z, c how far the law's first derivative changes along the direction p: within s u for the
    s of the span, u the change of t, and no further from 0 than `limit`."""

    law: Law
    span: Span
    limit: float
    w: Vector
    direction: Vector


@final
@dataclass(frozen=True, eq=False)
class NumberSum(Request):
    """(1/n) sum q c, c the law's value within the span."""

    one_sided: ClassVar[bool] = True
    law: Law
    span: Span
    w: Vector


@final
@dataclass(frozen=True, eq=False)
class MatrixSum(Request):
    """(1/n) sum q c zz', c the law's second derivative within the span."""

    law: Law
    span: Span
    w: Vector


@final
@dataclass(frozen=True, eq=False)
class InformationSum(Request):
    """(1/n) sum q^2 c zz', c the law's second derivative within the span."""

    law: Law
    span: Span
    w: Vector


@final
@dataclass(frozen=True, eq=False)
class ScoreSum(Request):
    """(1/n) sum ss', s a record's q c z or the sum of a person's, c the first derivative within the band."""

    law: Law
    band: Band
    w: Vector


@final
@dataclass(frozen=True, eq=False)
class StepDrops(Request):
    """(1/n) sum q (phi(t) - phi(t_j)) / divisor_j, t_j after step p_j, each within steepest |t_j - t|."""

    law: Law
    steepest: float
    w: Vector
    steps: Matrix
    divisors: Vector


@final
@dataclass(frozen=True, eq=False)
class LineDrops(Request):
    """(1/n) sum q (phi(t) - phi(t + gamma_i u)), u the rate of t along the direction, each within
    steepest |gamma_i u|: one number a length."""

    law: Law
    steepest: float
    w: Vector
    direction: Vector
    lengths: Vector


@final
@dataclass(frozen=True, eq=False)
class ResidualShares(Request):
    """(1/n) sum q e, e the unit vector of the band in which |t| lies: at or above the first of falling edges,
    between two of them, below the last. Every record has one."""

    law: Law
    w: Vector
    edges: Vector


class ClassRequest(Request):
    """About the probabilities that softmax gives the classes of a record."""


@final
@dataclass(frozen=True, eq=False)
class ClassVector(ClassRequest):
    """(1/n) sum q r (x) z, r = p - e_y for the softmax probabilities p, shortened to `limit`."""

    w: Vector
    limit: float


@final
@dataclass(frozen=True, eq=False)
class ClassNumber(ClassRequest):
    """(1/n) sum q c, c the softmax loss within the span."""

    one_sided: ClassVar[bool] = True
    w: Vector
    span: Span


@final
@dataclass(frozen=True, eq=False)
class ClassMatrix(ClassRequest):
    """(1/n) sum q (diag p - pp') (x) zz'."""

    w: Vector


@final
@dataclass(frozen=True, eq=False)
class ClassInformation(ClassRequest):
    """(1/n) sum q^2 (diag p - pp') (x) zz'."""

    w: Vector


@final
@dataclass(frozen=True, eq=False)
class ClassScores(ClassRequest):
    """(1/n) sum ss', s a record's q r (x) z or the sum of a person's, r = p - e_y shortened to `limit`."""

    w: Vector
    limit: float


@final
@dataclass(frozen=True, eq=False)
class ClassSteps(ClassRequest):
    """(1/n) sum of q times how far the softmax loss falls along each step P_j, over its divisor, each within
    steepest ||P_j z||, P_j having a row a class."""

    steepest: float
    w: Vector
    steps: Matrix
    divisors: Vector


@final
@dataclass(frozen=True, eq=False)
class ClassLine(ClassRequest):
    """(1/n) sum of q times how far the softmax loss falls at each length gamma along the direction P, each
    within steepest |gamma| ||P z||."""

    steepest: float
    w: Vector
    direction: Vector
    lengths: Vector


class ExampleRequest(Request):
    """About examples that are clipped one by one (`example_requests`)."""


@final
@dataclass(frozen=True, eq=False)
class Norm(Request):
    """The length of a vector sum and a public vector."""

    of: Request
    added: Vector


@final
@dataclass(frozen=True, eq=False)
class SmallestEigenvalue(Request):
    """Of a matrix sum and a public symmetric matrix."""

    of: Request
    added: Matrix


@final
@dataclass(frozen=True, eq=False)
class Product(Request):
    """A matrix sum times a public vector, taken at length 1."""

    of: Request
    direction: Vector


@final
@dataclass(frozen=True, eq=False)
class Gram(Request):
    """(1/n) sum q zz'."""


@final
@dataclass(frozen=True, eq=False)
class Squares(Request):
    """(1/n) sum q z_j^2 for each column."""


@final
@dataclass(frozen=True, eq=False)
class Means(Request):
    """(1/n) sum q z_j for each column."""


@final
@dataclass(frozen=True, eq=False)
class Moments(Request):
    """(1/n) sum q z_j for each column, then f times (1/n) sum q z_j^2, summed over groups of columns if any;
    f = sqrt(balance) C / E, C the largest q ||z|| and E the largest q ||z||^2."""

    balance: float
    groups: NDArray[np.intp] | None


_MAKERS = ("sottovoce.kernels.sums", "sottovoce.kernels.softmax_sums", "sottovoce.autodiff.sums")


class Sums(ABC):
    """Records behind bounded sums: says what a request must be charged for, and answers it.

    There are no others than those of the base. `prices_only`: they say what a batch would cost that was not
    drawn, and are not to be answered from."""

    prices_only = False

    @property
    @abstractmethod
    def n(self) -> int:
        """How many records, or persons."""

    @property
    @abstractmethod
    def by_person(self) -> bool:
        """Whether all rows of a person count as one record."""

    @property
    @abstractmethod
    def is_n_private(self) -> bool:
        """Whether persons were counted instead of declared."""

    def __init_subclass__(cls, **named: Any) -> None:
        if cls.__module__ not in _MAKERS:
            raise TypeError(f"sums over records are those of {', '.join(_MAKERS)} and no others.")
        super().__init_subclass__(**named)

    @abstractmethod
    def sensitivity(self, request: Request, relation: Relation) -> float:
        """How far one record, or person, moves the answer as computed, in l2 or Frobenius norm. Public."""

    @abstractmethod
    def answer(self, request: Request) -> Any:
        """The sum, exact: for one who adds noise to it."""

    @abstractmethod
    def falls(self, request: Any) -> Callable[[float], float]:
        """How far a risk falls at each length along a line, exact: for one who compares it with noise."""

    @abstractmethod
    def batch(self, size: int, most: int) -> Sums:
        """The same sums over `size` records, no more than `most` of them in a sum: for what they cost."""

    @abstractmethod
    def subset(self, indices: NDArray[np.int64], n: int) -> Sums:
        """Sums over the records at these increasing positions, divided by `n`."""

    @abstractmethod
    def preconditioned(self, preconditioner: Any) -> Sums:
        """Sums in other coordinates, each record's influence capped."""
