"""The frame of a chart: a plot area, scales from values to places, ticks and grid lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from sottovoce.report.markup import element, number, text

WIDTH, HEIGHT = 440.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 76.0, 14.0, 14.0, 42.0
DIGIT = 7.7
"""Width of a digit of a tick, in the widest usual font."""

LEAST_DECADES = 0.5
FARTHEST = 1e150
"""What lies beyond is drawn at the edge: only a file that was tampered with holds it."""


@final
@dataclass(frozen=True)
class Scale:
    """Values between `low` and `high` to places between `start` and `end`; logarithmic if asked."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        low, high, given = self.low, self.high, value
        if self.logarithmic:
            low, high, given = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        share = min(1.0, max(0.0, (given - low) / (high - low)))
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        return _decades(self.low, self.high) if self.logarithmic else _steps(self.low, self.high)


def across(count: int) -> Scale:
    """Steps 0 to count - 1, left to right, half a step of air at both ends."""
    return Scale(-0.5, max(count, 1) - 0.5, LEFT, WIDTH - RIGHT)


def upward(low: float, high: float, *, logarithmic: bool) -> Scale:
    """A vertical scale that holds all values with some air; never of zero height, and never endless."""
    least = 1.0 / FARTHEST if logarithmic else -FARTHEST
    low, high = (min(max(value, least), FARTHEST) for value in (low, high))
    if logarithmic:
        middle, half = math.log10(low * high) / 2.0, math.log10(high / low) / 2.0
        half = max(half * 1.08, LEAST_DECADES)
        low, high = 10.0 ** (middle - half), 10.0 ** (middle + half)
    else:
        air = 0.08 * (high - low) or max(abs(high), 1e-12)
        low, high = low - air, high + air
    return Scale(low, high, HEIGHT - BOTTOM, TOP, logarithmic)


def sideways(low: float, high: float, *, logarithmic: bool) -> Scale:
    """A horizontal scale that holds all values with some air."""
    scale = upward(low, high, logarithmic=logarithmic)
    return Scale(scale.low, scale.high, LEFT, WIDTH - RIGHT, logarithmic)


def along(low: float, high: float, *, logarithmic: bool) -> Scale:
    """The scale of a forest plot, 320 wide."""
    scale = upward(low, high, logarithmic=logarithmic) if low < high else Scale(low - 1.0, high + 1.0, 0, 1)
    return Scale(scale.low, scale.high, 6.0, 314.0, logarithmic)


def frame(x: Scale, y: Scale, *, below: str, beside: str, marks: Sequence[float] | None = None) -> str:
    """Grid lines and labels; below are the `marks`, or whole steps."""
    parts = []
    for value in y.ticks():
        at = y.place(value)
        parts.append(element("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at))
        parts.append(element("text", number(value), class_="tick end", x=LEFT - 7.0, y=at + 4.0))
    steps = _whole_steps(round(x.high - x.low)) if marks is None else marks
    parts += [tick_below(x, value, HEIGHT - BOTTOM) for value in steps]
    parts.append(
        element("text", text(below), class_="label middle", x=(LEFT + WIDTH - RIGHT) / 2.0, y=HEIGHT - 6.0)
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2.0
    turn = f"rotate(-90 12 {middle:g})"
    parts.append(element("text", text(beside), class_="label middle", x=12.0, y=middle, transform=turn))
    return "".join(parts)


def tick_below(x: Scale, value: float, floor: float) -> str:
    """A number below its place on the axis; a long one at the right end is moved left, lest it be cut."""
    shown = number(value)
    at = min(x.place(value), WIDTH - DIGIT * len(shown) / 2.0)
    return element("text", shown, class_="tick middle", x=at, y=floor + 17.0)


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten; with 2 and 5 between them where few fit."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside = [10.0**p for p in range(first, last + 1) if low <= 10.0**p <= high]
    if len(inside) >= 3:
        return inside[:: math.ceil(len(inside) / 6)]
    fine = [m * 10.0**p for p in range(first, last + 1) for m in (1, 2, 5)]
    return [value for value in fine if low <= value <= high]


def _steps(low: float, high: float) -> list[float]:
    rough = (high - low) / 5.0
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough)
    count = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [k * step for k in count]


def _whole_steps(count: int) -> list[int]:
    every = next(e for e in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if count / e <= 9)
    return list(range(0, count, every))
