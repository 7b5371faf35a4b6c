"""Eight float64 numbers side by side, for numba, down to the columns left over at the end of a row.

A row of 54 columns is six full loads and one partial one; the loops that LLVM makes of plain code take the
last six columns one by one, which costs as much as the other 48. The order of every sum is written down here
and not chosen by a compiler, so the numbers are the same on every processor that fuses multiply and add.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

WIDTH = 8

LINE = 16
"""Float32 numbers in 64 bytes, which is how memory is read."""

_INDEX = ir.IntType(32)
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_SINGLES = ir.VectorType(ir.FloatType(), WIDTH)


@final
class Lanes(types.Type):
    """Type of eight float64 numbers in a register."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_lanes = Lanes()

_emitted: Callable[[Callable[..., Any]], Any] = intrinsic


@register_model(Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]  # numba comes without types
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _DOUBLES)


@_emitted
def zero(typing: Any) -> Any:
    """Eight times 0.0."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return ir.Constant(_DOUBLES, [0.0] * WIDTH)

    return _lanes(), build


@_emitted
def spread(typing: Any, number: Any) -> Any:
    """Eight times the number."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        nothing = ir.Constant(_DOUBLES, ir.Undefined)
        first = builder.insert_element(nothing, given[0], _INDEX(0))
        return builder.shuffle_vector(first, nothing, _places([0] * WIDTH))

    return _lanes(types.float64), build


@_emitted
def load(typing: Any, array: Any, start: Any) -> Any:
    """array[start : start + 8] of a contiguous float32 or float64 array; nobody checks its bounds."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind, width = _kept(signature.args[0])
        place = _place(context, builder, signature.args[0], *given)
        return _widened(builder, builder.load(builder.bitcast(place, kind.as_pointer()), align=width))

    return _lanes(array, types.intp), build


@_emitted
def load_part(typing: Any, array: Any, start: Any, count: Any) -> Any:
    """array[start : start + count] and zeros; nothing past `count` numbers is read."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind, width = _kept(signature.args[0])
        place = _place(context, builder, signature.args[0], *given[:2])
        numbers = ir.VectorType(ir.IntType(64), WIDTH)
        nothing = ir.Constant(numbers, ir.Undefined)
        first = builder.insert_element(nothing, given[2], _INDEX(0))
        counts = builder.shuffle_vector(first, nothing, _places([0] * WIDTH))
        wanted = builder.icmp_signed("<", ir.Constant(numbers, list(range(WIDTH))), counts)
        pointer = builder.bitcast(place, kind.as_pointer())
        arguments = (pointer, _INDEX(width), wanted, ir.Constant(kind, [0.0] * WIDTH))
        name = f"llvm.masked.load.v{WIDTH}f{8 * width}.p0"
        return _widened(builder, _call(builder, name, kind, arguments))

    return _lanes(array, types.intp, types.intp), build


@_emitted
def looked_up(typing: Any, table: Any, places: Any, start: Any) -> Any:
    """table[places[start : start + 8]] of float64 numbers by uint32 places; nobody checks their bounds."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kinds = ir.VectorType(ir.IntType(32), WIDTH), ir.VectorType(ir.IntType(64), WIDTH)
        first = _place(context, builder, signature.args[1], given[1], given[2])
        held = builder.load(builder.bitcast(first, kinds[0].as_pointer()), align=4)
        wide = builder.zext(held, kinds[1])
        numbers = context.make_array(signature.args[0])(context, builder, given[0]).data
        value = ir.Constant(_DOUBLES, ir.Undefined)
        for lane in range(WIDTH):
            place = builder.gep(numbers, [builder.extract_element(wide, _INDEX(lane))])
            value = builder.insert_element(value, builder.load(place), _INDEX(lane))
        return value

    return _lanes(table, places, types.intp), build


@_emitted
def store(typing: Any, array: Any, start: Any, value: Any) -> Any:
    """array[start : start + 8] = value, for a contiguous float64 array; nobody checks its bounds."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = _place(context, builder, signature.args[0], *given[:2])
        builder.store(given[2], builder.bitcast(place, _DOUBLES.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes), build


@_emitted
def store_turned(typing: Any, array: Any, start: Any, step: Any, source: Any, at: Any, apart: Any) -> Any:
    """array[start + i step + j] = source[at + j apart + i] for i and j below 8, both float64.

    Three rounds, each of which exchanges halves, quarters and single numbers of two columns."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kinds = signature.args
        from_ = context.make_array(kinds[3])(context, builder, given[3]).data
        to = context.make_array(kinds[0])(context, builder, given[0]).data
        held = []
        for lane in range(WIDTH):
            offset = builder.add(given[4], builder.mul(given[5], given[5].type(lane)))
            place = builder.bitcast(builder.gep(from_, [offset]), _DOUBLES.as_pointer())
            held.append(builder.load(place, align=8))
        for step in (1, 2, 4):
            low = [i + (WIDTH - step if i & step else 0) for i in range(WIDTH)]
            high = [place + step for place in low]
            for lane in (lane for lane in range(WIDTH) if not lane & step):
                pair = held[lane], held[lane + step]
                held[lane] = builder.shuffle_vector(*pair, _places(low))
                held[lane + step] = builder.shuffle_vector(*pair, _places(high))
        for lane, value in enumerate(held):
            offset = builder.add(given[1], builder.mul(given[2], given[2].type(lane)))
            place = builder.bitcast(builder.gep(to, [offset]), _DOUBLES.as_pointer())
            builder.store(value, place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, source, types.intp, types.intp), build


@_emitted
def fetch(typing: Any, array: Any, start: Any) -> Any:
    """Have the cache line of array[start] on its way; a place past the end does no harm."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = builder.bitcast(
            _place(context, builder, signature.args[0], *given), ir.IntType(8).as_pointer()
        )
        reading, second_level, data = _INDEX(0), _INDEX(2), _INDEX(1)
        _call(builder, "llvm.prefetch.p0", ir.VoidType(), (place, reading, second_level, data))
        return context.get_dummy_value()

    return types.void(array, types.intp), build


@_emitted
def fused(typing: Any, one: Any, other: Any, addend: Any) -> Any:
    """one * other + addend, rounded once where the processor can."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _call(builder, f"llvm.fmuladd.v{WIDTH}f64", _DOUBLES, given)

    return _lanes(_lanes, _lanes, _lanes), build


@_emitted
def product(typing: Any, one: Any, other: Any) -> Any:
    """one * other."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fmul(*given)

    return _lanes(_lanes, _lanes), build


@_emitted
def total(typing: Any, value: Any) -> Any:
    """The sum of the eight: halves are added until one number is left."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        half = _halved(builder, given[0])
        return builder.extract_element(_halved(builder, _halved(builder, half)), _INDEX(0))

    return types.float64(_lanes), build


@_emitted
def store_totals(typing: Any, array: Any, start: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """array[start : start + 4] = the totals of a, b, c and d, each summed as by `total`."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        a, b, c, d = (_halved(builder, value) for value in given[2:])
        one, other = _paired(builder, a, b, [0, 1, 4, 5]), _paired(builder, c, d, [0, 1, 4, 5])
        totals = _paired(builder, one, other, [0, 2, 4, 6])
        place = _place(context, builder, signature.args[0], *given[:2])
        builder.store(totals, builder.bitcast(place, totals.type.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes, _lanes, _lanes, _lanes), build


def _halved(builder: Any, value: Any) -> Any:
    """Lower half plus upper half."""
    width = value.type.count // 2
    low = builder.shuffle_vector(value, value, _places(range(width)))
    return builder.fadd(low, builder.shuffle_vector(value, value, _places(range(width, 2 * width))))


def _paired(builder: Any, one: Any, other: Any, low: list[int]) -> Any:
    """The numbers of both at the places `low` plus those not there."""
    high = [place for place in range(2 * one.type.count) if place not in low]
    first = builder.shuffle_vector(one, other, _places(low))
    return builder.fadd(first, builder.shuffle_vector(one, other, _places(high)))


def _places(indices: Any) -> Any:
    indices = list(indices)
    return ir.Constant(ir.VectorType(_INDEX, len(indices)), indices)


def _place(context: Any, builder: Any, kind: Any, array: Any, start: Any) -> Any:
    """Pointer to array[start]."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [start])


def _kept(kind: Any) -> tuple[Any, int]:
    """How eight entries of the array lie in memory, and the bytes of one."""
    return (_SINGLES, 4) if kind.dtype == types.float32 else (_DOUBLES, 8)


def _widened(builder: Any, value: Any) -> Any:
    return builder.fpext(value, _DOUBLES) if value.type == _SINGLES else value


def _call(builder: Any, name: str, kind: Any, arguments: Any) -> Any:
    """Call of an intrinsic of LLVM on vectors, which llvmlite does not know by name."""
    signature = ir.FunctionType(kind, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)
