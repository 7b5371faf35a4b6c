"""The two ways out: charge first, then compute, then add noise. Nothing private leaves by any other."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import DataError, LedgerError, ParameterError, SottovoceError
from sottovoce.queries.base import FIELDS, Answer, Form

if TYPE_CHECKING:
    from sottovoce.accounting import Event, Run
    from sottovoce.accounting.events import PureEvent
    from sottovoce.privacy.noise import Noise, NoiseCalibration


T = TypeVar("T")
S = TypeVar("S")


@final
class Released(Answer[T]):
    """A value that was charged for before it was computed, and has its noise.

    There is one maker, `gaussian`. Whoever holds an answer may go on computing with it, and nobody can make
    one from anything else: a function that takes a `Released` is told nothing that was not paid for."""

    __slots__ = ()

    def __init__(self) -> None:
        raise LedgerError("answers are released by an oracle, after their charge. Plans hold `Planned` ones.")

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a released answer is not copied or pickled; its value may be.")

    def read(self, reading: Callable[[T], S], *, widening: float = 1.0, sampling: float = 0.0) -> Released[S]:
        """What follows from the value and public numbers alone costs nothing more: post-processing."""
        return _made(reading(self.value), self.scale * widening, self.units, sampling)


def _made(value: S, scale: float, units: int, sampling: float = 0.0) -> Released[S]:
    released: Released[S] = object.__new__(Released)
    for name, held in zip(FIELDS, (value, scale, units, sampling), strict=True):
        object.__setattr__(released, name, held)
    return released


def gaussian(
    run: Run,
    noise: Noise,
    event: Event,
    calibration: NoiseCalibration,
    compute: Callable[[], Vector],
    query: object = None,
) -> Released[Vector]:
    """Charge `event`, then compute, then add noise.

    A refused charge raises, and nothing has been computed. A run that goes on after an interruption is handed
    the answer it had: none is drawn twice."""
    grant = run.charge(event)
    value = run.released(
        grant, fingerprint(query), lambda: noise.gaussian(_exact(compute, calibration), calibration)
    )
    return _made(value, calibration.scale, grant.units)


def _exact(compute: Callable[[], Vector], calibration: NoiseCalibration) -> Vector:
    """The exact answer, of as many entries as noise was calibrated for."""
    found = unquoted(compute)
    if np.shape(found) != (calibration.entries,):
        raise LedgerError("an answer has another length than it was charged for. Nothing was released.")
    return found


def pure(run: Run, event: PureEvent, mechanism: Callable[[], T], query: object = None) -> T:
    """Charge `event`, then run a mechanism that is private by itself at that epsilon."""
    grant = run.charge(event)
    return run.released(grant, fingerprint(query), lambda: unquoted(mechanism))


def fingerprint(query: object) -> str:
    """Tells a query from others by its kind and the public numbers in it, bit by bit."""
    digest = hashlib.sha256(type(query).__name__.encode())
    for field in fields(query) if is_dataclass(query) else ():
        value = getattr(query, field.name)
        content = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        digest.update(f"{field.name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def unquoted(compute: Callable[[], T]) -> T:
    """An exact answer, or an error without the words of other code: a loss, module or library that fails may
    quote margins, targets or rows."""
    try:
        return compute()
    except (SottovoceError, MemoryError):
        raise
    except Exception as error:
        failure = type(error).__name__
    raise DataError(
        f"an answer could not be computed ({failure}; its words may quote records and are withheld). Nothing "
        "was released, and the charge stays. Try the loss or module on made-up records."
    )


SQRT2 = math.sqrt(2.0)


@lru_cache(maxsize=8)
def _layout(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Vector]:
    """Flat positions of the upper triangle, of its mirror image, and the weight of each entry."""
    rows, columns = np.triu_indices(d)
    upper, mirror = rows * d + columns, columns * d + rows
    weights = np.where(rows == columns, 1.0, SQRT2)
    for array in (upper, mirror, weights):
        array.setflags(write=False)
    return upper, mirror, weights


def svec(A: Matrix) -> Vector:
    """Upper triangle of a symmetric matrix, off-diagonals times sqrt2: length d(d+1)/2.

    ||svec(A) - svec(B)||_2 = ||A - B||_F, because each off-diagonal entry appears twice in the matrix.
    Rounding moves the vector by at most 2^-52 ||A||_F."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ParameterError(f"svec takes a square matrix, got shape {A.shape}.")
    upper, _, weights = _layout(A.shape[0])
    return A.ravel()[upper] * weights


def smat(v: Vector) -> Matrix:
    """The exactly symmetric matrix whose svec is v."""
    d = (math.isqrt(8 * v.size + 1) - 1) // 2
    if v.ndim != 1 or d * (d + 1) // 2 != v.size:
        raise ParameterError(f"smat takes a vector of length d(d+1)/2, got shape {v.shape}.")
    upper, mirror, weights = _layout(d)
    entries = v / weights
    flat = np.empty(d * d)
    flat[upper] = entries
    flat[mirror] = entries
    return flat.reshape(d, d)


class Packing(NamedTuple):
    """A way to write an answer as a vector no longer than its norm, and back.

    Noise of sd s on the vector has, in a matrix, sd at most s * widening on the diagonal and exactly or at
    most s * widening / sqrt2 off it."""

    pack: Callable[[Any], Vector]
    unpack: Callable[[Vector], Any]
    widening: float = 1.0


def triangle(A: Matrix) -> Vector:
    """The upper triangle as it stands: ||triangle(A)||_2 <= ||A||_F, off-diagonals counted once."""
    return svec(A) / _layout(A.shape[0])[2]


def mirrored(v: Vector) -> Matrix:
    """The exactly symmetric matrix whose upper triangle is v."""
    d = (math.isqrt(8 * v.size + 1) - 1) // 2
    return smat(v * _layout(d)[2])


def packing_for(form: Form, *, published: bool = False) -> Packing:
    """For a matrix `svec`, or the paper's independent noise of one sd on and above the diagonal."""
    match form:
        case Form.NUMBER:
            return Packing(lambda number: np.array([number]), lambda released: float(released[0]))
        case Form.VECTOR:
            return Packing(lambda vector: vector, lambda released: released)
        case Form.SYMMETRIC:
            return Packing(triangle, mirrored, SQRT2) if published else Packing(svec, smat)
