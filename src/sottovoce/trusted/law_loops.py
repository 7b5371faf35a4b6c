"""A checked law in four compiled loops, and how passes call them: by address, so that they are compiled once.

Each loop is machine code of one signature: how many records, where their t and y lie, where the law's numbers
lie, and where to write. It writes entry i from t[i], y[i] and the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, final

import numba
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic, register_jitable
from numba.np.unsafe.ndarray import to_fixed_tuple

from sottovoce.trusted import vocabulary
from sottovoce.trusted.jit import OPTIONS, Kept, compiled

_POINTER = types.CPointer(types.float64)
_ONE = types.void(types.intp, _POINTER, _POINTER, _POINTER, _POINTER)
_TWO = types.void(types.intp, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER)

for _word in ("reduced", "twice_artanh", "decay", "fading", "log_sum", "log_unit"):
    register_jitable(**OPTIONS)(getattr(vocabulary, _word))


@final
class Loops:
    """The loops of one function, each compiled when it is first asked for and kept on disk."""

    def __init__(self, function: Callable[..., Any], count: int, digest: str) -> None:
        self._function = numba.njit(**OPTIONS)(function)
        self._count = count
        self._digest = digest

    @cached_property
    def tangents(self) -> int:
        """Address of the loop that writes values and first derivatives."""
        return self._address(_tangents(self._function, self._count), _TWO, "tangents")

    @cached_property
    def values(self) -> int:
        return self._address(_entries(self._function, self._count, 0), _ONE, "values")

    @cached_property
    def slopes(self) -> int:
        return self._address(_entries(self._function, self._count, 1), _ONE, "slopes")

    @cached_property
    def curvatures(self) -> int:
        return self._address(_entries(self._function, self._count, 2), _ONE, "curvatures")

    def _address(self, loop: Callable[..., None], signature: Any, name: str) -> int:
        code: Any = CFunc(loop, (signature.args, signature.return_type), {}, dict(OPTIONS))
        with suppress(RuntimeError):
            code._cache = Kept(loop, f"{name} {self._count} {self._digest}")
        code.compile()
        self.__dict__[f"_code of {name}"] = code
        return int(code.address)


def _tangents(law: Any, count: int) -> Callable[..., None]:
    def tangents(n: Any, t: Any, y: Any, numbers: Any, values: Any, slopes: Any) -> None:
        t, y = carray(t, n), carray(y, n)
        values, slopes = carray(values, n), carray(slopes, n)
        held = to_fixed_tuple(carray(numbers, count + 1), count)
        for i in range(n):
            values[i], slopes[i], _ = law(t[i], y[i], *held)

    return tangents


def _entries(law: Any, count: int, place: int) -> Callable[..., None]:
    def entries(n: Any, t: Any, y: Any, numbers: Any, out: Any) -> None:
        t, y, out = carray(t, n), carray(y, n), carray(out, n)
        held = to_fixed_tuple(carray(numbers, count + 1), count)
        for i in range(n):
            out[i] = law(t[i], y[i], *held)[place]

    return entries


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing_context: Any, address: Any, n: Any, places: Any) -> Any:
    """Call the machine code at `address` with n and the addresses of arrays."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, word = ir.DoubleType().as_pointer(), ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word] + [pointer] * places.count)
        held = cgutils.unpack_tuple(builder, arguments[2], places.count)
        given = [arguments[1], *(builder.inttoptr(place, pointer) for place in held)]
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, places), code


@compiled()
def evaluate_one(address: int, t: Any, y: Any, numbers: Any, out: Any) -> None:
    """Write what the loop at `address` says of every record; all arrays but `numbers` have one length."""
    _call(address, t.size, (t.ctypes.data, y.ctypes.data, numbers.ctypes.data, out.ctypes.data))


@compiled()
def evaluate_two(address: int, t: Any, y: Any, numbers: Any, first: Any, second: Any) -> None:
    """As `evaluate_one`, for a loop that writes two numbers a record."""
    places = (t.ctypes.data, y.ctypes.data, numbers.ctypes.data, first.ctypes.data, second.ctypes.data)
    _call(address, t.size, places)
