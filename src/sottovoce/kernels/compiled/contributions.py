"""What records contribute to a sum, in compiled passes over short runs of rows: placed, evaluated, clamped,
and only then weighted.

Clamp, then weight: a record that counts 0 adds 0 whatever its law returned, and no number is worth more than
its band allows. The clamped number as computed is the contribution, so how a law rounds costs nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.jit import compiled
from sottovoce.trusted.law_loops import evaluate_one, evaluate_two
from sottovoce.trusted.laws import Law, Placing

RUN = 256
"""Most rows in a run."""

_MARGIN, _SHIFTED = int(Placing.MARGIN), int(Placing.SHIFTED)

NONE = np.empty(0)
NONE.flags.writeable = False


class Call(NamedTuple):
    """A law as compiled code takes it: where its loop lies, and its public numbers.

    `negative` and `positive` are what records of each class count; elsewhere both are 1."""

    address: int
    numbers: Vector
    placing: int
    shift: float
    negative: float
    positive: float

    @classmethod
    def of(cls, law: Law, which: str) -> Call:
        """Of its loop `tangents`, `slopes`, `values` or `curvatures`."""
        address = getattr(law.loops, which)
        return cls(address, law.held, int(law.placing), law.shift, law.negative, law.positive)


class Clamps(NamedTuple):
    """The band of first derivatives and the span of values; where one is not asked for, it is empty or 0."""

    lo: Vector
    hi: Vector
    first: float
    per: float
    low: float
    high: float

    @classmethod
    def of(cls, band: Band | None, span: Span | None) -> Clamps:
        low, high = (0.0, 0.0) if span is None else span.checked()
        if band is None:
            return cls(NONE, NONE, 0.0, 0.0, low, high)
        return cls(band.lo, band.hi, band.first, band.per, low, high)


@compiled()
def place(law: Call, products: Any, targets: Any) -> None:
    """t_i from <x_i, w>, in place."""
    if law.placing == _MARGIN:
        chain(law, products, targets)
    elif law.placing == _SHIFTED:
        for i in range(products.size):
            products[i] -= law.shift
    else:
        for i in range(products.size):
            products[i] -= targets[i]


@compiled()
def chain(law: Call, slopes: Any, targets: Any) -> None:
    """Multiply by dt/d<x, w>, in place: the label's sign of a margin, else 1."""
    if law.placing == _MARGIN:
        for i in range(slopes.size):
            slopes[i] *= targets[i]


@compiled()
def tangent(
    law: Call,
    clamps: Clamps,
    t: Any,
    targets: Any,
    weights: Any,
    slopes: Any,
    values: Any,
    places: Any,
    sloped: bool,
    valued: bool,
) -> float:
    """Sum of values over a run if `valued`, first derivatives in `slopes` if `sloped`: both clamped, then
    times what records count.

    `weights`, here and below, is empty where records have none; `values`, `places` and the `rooms` below are
    room for a run."""
    if sloped and valued:
        evaluate_two(law.address, t, targets, law.numbers, values[: t.size], slopes)
    else:
        evaluate_one(law.address, t, targets, law.numbers, slopes if sloped else values[: t.size])
    if sloped:
        clamp_to_band(clamps, t, slopes, places)
        count(law, slopes, targets, weights)
    return clamped_sum(law, clamps, values[: t.size], targets, weights) if valued else 0.0


@compiled()
def clamped_sum(law: Call, clamps: Clamps, values: Any, targets: Any, weights: Any) -> float:
    clamp(values, clamps.low, clamps.high)
    count(law, values, targets, weights)
    return total(values)


@compiled()
def curvatures(law: Call, clamps: Clamps, t: Any, targets: Any, out: Any) -> None:
    """Second derivatives, clamped to the span, times what records of their class count."""
    evaluate_one(law.address, t, targets, law.numbers, out)
    clamp(out, clamps.low, clamps.high)
    count(law, out, targets, out[:0])


@compiled()
def mark(law: Call, t: Any, targets: Any, marks: Any) -> None:
    """Values where `drop` starts."""
    evaluate_one(law.address, t, targets, law.numbers, marks)


@compiled()
def drop(
    law: Call,
    steepest: float,
    length: float,
    t: Any,
    moves: Any,
    marks: Any,
    targets: Any,
    weights: Any,
    rooms: Any,
) -> float:
    """Sum over a run of phi(t_i) - phi(t_i + length u_i), each within steepest |length u_i|."""
    there, values = rooms[0, : t.size], rooms[1, : t.size]
    for i in range(t.size):
        there[i] = t[i] + length * moves[i]
    evaluate_one(law.address, there, targets, law.numbers, values)
    for i in range(t.size):
        gain, most = marks[i] - values[i], steepest * abs(length * moves[i])
        gain = gain if gain == gain else 0.0  # what is no number is 0
        gain = gain if gain <= most else most
        values[i] = gain if gain >= -most else -most
    count(law, values, targets, weights)
    return total(values)


@compiled()
def count(law: Call, terms: Any, targets: Any, weights: Any) -> None:
    """Multiply by what each record counts, by its class and by its weight, in place."""
    if law.negative != 1.0 or law.positive != 1.0:
        for i in range(terms.size):
            terms[i] *= law.positive if targets[i] > 0.0 else law.negative
    if weights.size:
        for i in range(terms.size):
            terms[i] *= weights[i]


@compiled()
def clamp(c: Any, low: float, high: float) -> None:
    """c within [low, high]; no number is low."""
    for i in range(c.size):
        held = c[i]
        held = held if held >= low else low
        c[i] = held if held <= high else high


@compiled()
def clamp_to_band(clamps: Clamps, t: Any, c: Any, places: Any) -> None:
    """c within the band of its bin; the outer bins take what lies beyond, and no number is lo.

    Bins first, which go several at a time, then bounds, which are looked up: half as long as both at once."""
    lo, hi, first, per = clamps.lo, clamps.hi, clamps.first, clamps.per
    last = np.float64(lo.size - 1)
    for i in range(t.size):
        at = (t[i] - first) * per
        at = at if at >= 0.0 else 0.0
        places[i] = np.int32(at if at <= last else last)
    for i in range(t.size):
        k = np.uint32(places[i])
        held = c[i]
        held = held if held >= lo[k] else lo[k]
        c[i] = held if held <= hi[k] else hi[k]


@compiled(reorder=True)
def total(terms: Any) -> float:
    found = 0.0
    for i in range(terms.size):
        found += terms[i]
    return found
