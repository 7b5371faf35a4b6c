"""Losses as the base takes them: a scalar function of one record's numbers, elementwise by construction.

A law is `(t, y, *numbers) -> (value, first, second)`. Before it is compiled, numba's intermediate
representation, which is what will be compiled, is walked: arithmetic, comparisons, branches that lead
forward, frozen numbers and calls of a fixed vocabulary. There are no arrays, attributes, state, random
numbers, exceptions or loops, and no variable that is unset on some way (it might hold what the record before
left in a register). So whatever a law says of a record depends on that record alone, and a law ends. It may
still be wrong: what it returns is clamped to a band by those who sum it up.
"""

from __future__ import annotations

import enum
import hashlib
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NoReturn, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError
from sottovoce.trusted import vocabulary
from sottovoce.trusted.compiling import compiles

Scalar = Callable[..., tuple[float, float, float]]

MOST_NUMBERS = 3
"""Most public numbers that a law takes besides t and y."""

WORDS = frozenset(
    {abs, bool, min, max, float}
    | {vocabulary.decay, vocabulary.fading, vocabulary.log_sum, vocabulary.log_unit}
)
MATHEMATICS = frozenset(
    getattr(math, name)
    for name in ("atan", "cosh", "exp", "expm1", "fabs", "hypot", "log", "log1p", "sinh", "sqrt", "tanh")
)
OPERATORS = frozenset(
    getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "pow", "neg", "pos", "lt", "le", "gt", "ge", "eq", "ne", "not_"),
        *("iadd", "isub", "imul", "itruediv"),
    )
)


class Placing(enum.IntEnum):
    """What t is, from a = <x, w> and y."""

    MARGIN = 0
    """y a, y a label, -1 or 1."""
    RESIDUAL = 1
    """a - y."""
    SHIFTED = 2
    """a less a public number."""


@final
@dataclass(frozen=True)
class Law:
    """A checked scalar function with its numbers, where its t lies, and what records of each class count."""

    function: Scalar
    placing: Placing
    numbers: tuple[float, ...] = ()
    shift: float = 0.0
    negative: float = 1.0
    positive: float = 1.0

    def __post_init__(self) -> None:
        held = tuple(float(number) for number in self.numbers)
        if len(held) > MOST_NUMBERS or not all(map(math.isfinite, (*held, self.shift))):
            raise ParameterError(f"a law takes at most {MOST_NUMBERS} numbers, all of them finite.")
        if not all(0.0 < weight < math.inf for weight in (self.negative, self.positive)):
            raise ParameterError("class weights must be finite and above 0.")
        if self.placing is not Placing.MARGIN and not self.negative == self.positive == 1.0:
            raise ParameterError("class weights need labels.")
        object.__setattr__(self, "numbers", held)
        require_elementwise(self.function)

    def __reduce__(self) -> Any:
        """A law is checked again wherever it arrives."""
        numbers = (self.numbers, self.shift, self.negative, self.positive)
        return Law, (self.function, self.placing, *numbers)

    @property
    def heaviest(self) -> float:
        return max(self.negative, self.positive)

    @property
    def lightest(self) -> float:
        return min(self.negative, self.positive)

    @cached_property
    def held(self) -> Vector:
        """The numbers as compiled code takes them."""
        numbers = np.array((*self.numbers, 0.0))
        numbers.flags.writeable = False
        return numbers

    @property
    def loops(self) -> Any:
        """The function in four compiled loops; there are none without numba."""
        return _loops(self.function, len(self.numbers))

    def tangents(self, t: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Values and first derivatives, record by record; not clamped."""
        if not compiles():
            value, first, _ = self._one_by_one(t, y)
            return value, first
        from sottovoce.trusted.law_loops import evaluate_two

        value, first = np.empty_like(t), np.empty_like(t)
        evaluate_two(self.loops.tangents, t, y, self.held, value, first)
        return value, first

    def values(self, t: Vector, y: Vector) -> Vector:
        return self._alone("values", 0, t, y)

    def slopes(self, t: Vector, y: Vector) -> Vector:
        return self._alone("slopes", 1, t, y)

    def curvatures(self, t: Vector, y: Vector) -> Vector:
        return self._alone("curvatures", 2, t, y)

    def _alone(self, name: str, place: int, t: Vector, y: Vector) -> Vector:
        if not compiles():
            return np.asarray(self._one_by_one(t, y)[place])
        from sottovoce.trusted.law_loops import evaluate_one

        out = np.empty_like(t)
        evaluate_one(getattr(self.loops, name), t, y, self.held, out)
        return out

    def _one_by_one(self, t: Vector, y: Vector) -> Vector:
        """One record after another; a law that fails for some t, however it fails, is no number there: a root
        of a negative number is complex, which no array of floats takes."""
        out = np.full((3, t.size), math.nan)
        with np.errstate(all="ignore"):
            for i, (here, label) in enumerate(zip(t.tolist(), y.tolist(), strict=True)):
                try:
                    out[:, i] = self.function(here, label, *self.numbers)
                except Exception:
                    continue
        return out


@lru_cache(maxsize=256)
def _loops(function: Scalar, count: int) -> Any:
    from sottovoce.trusted.law_loops import Loops

    return Loops(function, count, digest(function))


def _refuse(what: str) -> NoReturn:
    raise ParameterError(
        f"a law is a function (t, y) -> (value, first, second) of its numbers alone; this one has {what}. "
        "Write it with arithmetic, comparisons, if and else, and functions of `math`."
    )


def require_elementwise(function: Scalar) -> None:
    """Refuse a function whose result could depend on anything but its arguments and frozen numbers."""
    if not compiles():
        if not str(getattr(function, "__module__", "")).startswith("sottovoce.losses."):
            _refuse("no numba to check it on this platform, where only losses of the package are taken")
        return
    digest(function)


@lru_cache(maxsize=256)
def digest(function: Scalar) -> str:
    """What the function is made of, as one string, once every part of it has been found harmless."""
    import numba  # noqa: F401 - whole: another thread may be loading it, and its parts are not to be waited for
    from numba.core import compiler, ir

    from sottovoce.trusted import jit  # noqa: F401 - numba is told to keep quiet

    if not callable(function) or not hasattr(function, "__code__"):
        _refuse("no Python code")
    code = function.__code__
    if code.co_kwonlyargcount or code.co_flags & 0x0C or not 2 <= code.co_argcount <= 2 + MOST_NUMBERS:
        _refuse("other arguments than t, y and a few numbers")
    if function.__defaults__ or function.__kwdefaults__:
        _refuse("arguments with defaults")
    try:
        blocks = compiler.run_frontend(function).blocks
    except Exception:
        _refuse("something that cannot be compiled")
    parts = [code.co_code.hex()]
    called: dict[str, Any] = {}
    for block in blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                parts.append(_checked(statement, called, ir))
            elif not isinstance(statement, ir.Branch | ir.Jump | ir.Return | ir.Del):
                _refuse(f"a statement {type(statement).__name__}")
    _require_set(blocks, ir)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _checked(statement: Any, called: dict[str, Any], ir: Any) -> str:
    value, target = statement.value, statement.target.name
    if isinstance(value, ir.Global | ir.FreeVar):
        if not (value.value is math or _is_number(value.value) or _is_word(value.value)):
            _refuse(f"a name, {value.name}, that is neither a number nor a function of the vocabulary")
        _bind(called, target, value.value)
        return f"{value.name} {value.value!r}" if _is_number(value.value) else str(value.name)
    if isinstance(value, ir.Const):
        if value.value is not None and not _is_number(value.value):
            _refuse("a constant that is no number")
        return repr(value.value)
    if not isinstance(value, ir.Expr):
        if not isinstance(value, ir.Var | ir.Arg):
            _refuse(f"an expression {type(value).__name__}")
        if value.name in called:
            _bind(called, target, called[value.name])
        return ""
    match value.op:
        case "getattr":
            held = getattr(math, value.attr, None) if called.get(value.value.name) is math else None
            if not (_is_number(held) or _is_word(held)):
                _refuse(f"an attribute, {value.attr}")
            _bind(called, target, held)
            return str(value.attr)
        case "call":
            if not _is_word(called.get(value.func.name)) or value.kws or value.vararg or value.varkwarg:
                _refuse("a call outside the vocabulary")
        case "binop" | "unary" | "inplace_binop":
            if value.fn not in OPERATORS:
                _refuse(f"an operator {getattr(value.fn, '__name__', value.fn)}")
        case "cast" | "build_tuple" | "phi":
            pass
        case "exhaust_iter" | "static_getitem":
            pass
        case other:
            _refuse(f"an expression {other}")
    return str(value.op)


def _bind(called: dict[str, Any], target: str, held: Any) -> None:
    """A variable stands for one function on every way."""
    if called.setdefault(target, held) is not held and not _is_number(held):
        _refuse("a variable that stands for several functions")


def _is_number(thing: Any) -> bool:
    return type(thing) in (int, float, bool)


def _is_word(thing: Any) -> bool:
    try:
        return thing in WORDS or thing in MATHEMATICS
    except TypeError:
        return False


def _require_set(blocks: dict[int, Any], ir: Any) -> None:
    """No way leads back, and on every way a variable is set before it is read."""
    before: dict[int, set[str]] = {min(blocks): set()}
    for label in sorted(blocks):
        known = set(before.get(label, ()))
        for statement in blocks[label].body:
            if isinstance(statement, ir.Del):
                continue
            if {name.name for name in _read(statement, ir)} - known:
                _refuse("a variable that may be unset")
            if isinstance(statement, ir.Assign):
                known.add(statement.target.name)
        for target in blocks[label].terminator.get_targets():
            if target <= label:
                _refuse("a loop")
            before[target] = known & before[target] if target in before else set(known)


def _read(statement: Any, ir: Any) -> list[Any]:
    if not isinstance(statement, ir.Assign):
        return list(statement.list_vars())
    if isinstance(statement.value, ir.Var):
        return [statement.value]
    return list(statement.value.list_vars()) if isinstance(statement.value, ir.Expr) else []
