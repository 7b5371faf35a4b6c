"""Exact draws from the operating system's entropy: noise on the integers, and secret batches.

`discrete_gaussian` samples P(y) proportional to exp(-y^2 / (2 sigma^2)). Written by hand because OpenDP costs
17 microseconds an entry and a Hessian can have millions.

The law of Canonne, Kamath & Steinke (2020), by rejection like theirs, from a staircase instead of a discrete
Laplace law. A proposal is y = +-(W G + u): W = 2^bits the power of two in (0.6, 1.2] sigma, G the number of
zeros before the first one in fair coin flips, u uniform on 0..W-1, so |y| has probability 2^-G / (2 W).
It is accepted if V < 2^G exp(-y^2 / (2 sigma^2)) / C, with V uniform on [0, 1) and
C >= max_G 2^G exp(-(W G)^2 / (2 sigma^2)). The right side is at most 1, so what is accepted has the law
wanted on all integers, tails included; zero is kept with one sign only. Half the proposals are accepted.

Why it is exact although the comparison is made in floating point. sigma is a float, hence a rational number.
V is known by its first 53 bits as an interval, the right side by a float taken to be right within 2^-32.
Where the right side is at least 2^-60 its error is below 2^-40: y is an exact float, the exponent's terms are
below 2^7, and NumPy's exp errs by a few units in the last place. Where it is smaller, a V whose first 53 bits
are not all zero is rightly rejected. If the intervals do not meet, the real numbers are compared. If they do,
or V starts with 53 zeros, or the coin flips ran out, `_settle` decides with integers and correctly rounded
decimals, and draws more bits until the answer is certain.

`draw` and `poisson` choose batches. Amplification holds only if nobody can tell which records were drawn:
indices come from the operating system's entropy at every draw and never leave the oracle. A simulation draws
them from its seed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import ParameterError

Entropy = Callable[[int], bytes]
Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

SMALLEST_SIGMA, LARGEST_SIGMA = 2.0**-10, 2.0**40
FLIPS = 23
BATCH = 1 << 14
TOLERANCE = 2.0**-32

_WORD = 2**64


@final
@dataclass(frozen=True)
class Staircase:
    """The proposal for one sigma: steps of width 2^bits, and the constant `peak` (C above)."""

    sigma: float
    bits: int
    peak: float

    @classmethod
    def under(cls, sigma: float) -> Staircase:
        if not SMALLEST_SIGMA <= sigma <= LARGEST_SIGMA:
            raise ParameterError(f"sigma must lie in [2^-10, 2^40] lattice steps, got {sigma:.3g}.")
        bits = max(math.frexp(1.2 * sigma)[1] - 1, 0)
        width = math.ldexp(1.0, bits) / sigma
        # The width exceeds 0.6, so every top after the third is lower than the one before.
        tops = (2.0**step * math.exp(-0.5 * (step * width) ** 2) for step in range(4))
        return cls(sigma, bits, max(tops) * (1.0 + 1e-9))


def discrete_gaussian(sigma: float, entries: int, entropy: Entropy) -> Integers:
    """Independent discrete Gaussian integers; `entropy(n)` gives n random bytes, as os.urandom does."""
    staircase = Staircase.under(sigma)
    parts: list[Integers] = []
    missing = entries
    while missing > 0:
        count = min(2 * missing + 64, BATCH)
        words = np.frombuffer(entropy(16 * count), dtype=np.uint64)
        part = accepted(staircase, words[:count], words[count:], entropy)[:missing]
        parts.append(part)
        missing -= part.size
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def accepted(
    staircase: Staircase, proposals: Words, uniforms: Words, entropy: Entropy, tolerance: float = TOLERANCE
) -> Integers:
    """The proposals that survive. Any tolerance above the float error gives the same law."""
    bits = np.uint64(staircase.bits)
    offset = proposals & np.uint64((1 << staircase.bits) - 1)
    flips = (proposals >> bits) & np.uint64((1 << FLIPS) - 1)
    negative = proposals >= np.uint64(1 << 63)
    zeros = FLIPS - np.frexp(flips.astype(np.float64))[1].astype(np.int64)
    magnitude = (zeros << staircase.bits) + offset.astype(np.int64)

    ratio = magnitude / staircase.sigma
    chance = np.exp(zeros * math.log(2.0) - 0.5 * ratio * ratio - math.log(staircase.peak))
    lowest = (uniforms >> np.uint64(11)) * 2.0**-53
    keep = lowest + 2.0**-53 <= chance * (1.0 - tolerance)
    # Strict, so that a chance that underflowed to zero is never taken for certain.
    drop = lowest > chance * (1.0 + tolerance)
    ran_out = flips == 0
    for lane in np.flatnonzero(~(keep | drop) | ran_out):
        if ran_out[lane]:
            steps = FLIPS + _leading_zeros(entropy)
            magnitude[lane] = (steps << staircase.bits) + int(offset[lane])
        else:
            steps = int(zeros[lane])
        keep[lane] = _settle(staircase, int(magnitude[lane]), steps, int(uniforms[lane]), entropy)
    keep &= (magnitude > 0) | ~negative
    return np.where(negative, -magnitude, magnitude)[keep]


def _leading_zeros(entropy: Entropy) -> int:
    """Fair coin flips, continued: zeros before the first one."""
    zeros = 0
    while not (word := int.from_bytes(entropy(8), "little")):
        zeros += 64
    return zeros + 64 - word.bit_length()


def _settle(staircase: Staircase, magnitude: int, steps: int, word: int, entropy: Entropy) -> bool:
    """Whether V C / 2^steps < exp(-y^2 / (2 sigma^2)), exactly; `word` holds the first 64 bits of V."""
    power = Fraction(magnitude) ** 2 / (2 * Fraction(staircase.sigma) ** 2)
    unit = Fraction(staircase.peak) / 2**steps
    known, digits = 64, 30
    while True:
        below, above = _exp_bounds(power, digits)
        if unit * Fraction(word + 1, 2**known) <= below:
            return True
        if unit * Fraction(word, 2**known) >= above:
            return False
        word = (word << known) | int.from_bytes(entropy(known // 8), "little")
        known, digits = 2 * known, 2 * digits


def _exp_bounds(power: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """exp(-power) from below and above: Python's decimal exp is correctly rounded."""
    down, up = (
        Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
        for rounding in (ROUND_FLOOR, ROUND_CEILING)
    )
    numerator, denominator = Decimal(power.numerator), Decimal(power.denominator)
    smallest = up.divide(numerator, denominator).copy_negate()
    largest = down.divide(numerator, denominator).copy_negate()
    return Fraction(down.exp(smallest).next_minus(down)), Fraction(up.exp(largest).next_plus(up))


def draw(population: int, size: int, entropy: Entropy = os.urandom) -> Integers:
    """A uniform subset of range(population) with `size` members, in increasing order.

    Words of entropy are mapped to range(population) without bias, words past the last full multiple being
    thrown away, and the first `size` distinct ones are kept: every subset is equally likely. For more than
    half of the population the complement is drawn."""
    if not 1 <= size <= population:
        raise ParameterError(f"a batch holds between 1 and n={population} records, got {size}.")
    if 2 * size > population:
        left_out = (
            draw(population, population - size, entropy) if size < population else np.empty(0, np.int64)
        )
        kept = np.ones(population, dtype=bool)
        kept[left_out] = False
        return np.flatnonzero(kept).astype(np.int64)
    chosen = np.empty(0, dtype=np.int64)
    last_multiple = _WORD - _WORD % population
    while chosen.size < size:
        wanted = 2 * (size - chosen.size) + 16
        words = np.frombuffer(entropy(8 * wanted), dtype="<u8")
        if last_multiple < _WORD:
            words = words[words < np.uint64(last_multiple)]
        fresh = (words % np.uint64(population)).astype(np.int64)
        chosen = _distinct(np.concatenate([chosen, fresh]))
    return np.sort(chosen[:size])


def poisson(population: int, expected: int, entropy: Entropy = os.urandom) -> Integers:
    """Each of range(population) by itself with chance expected/population, in increasing order.

    A uniform 64-bit number below floor(2^64 expected/population) chooses: the chance is no larger than what
    is charged, and smaller by 2^-64 at most. Sixteen bits decide nearly always; the others are drawn where
    they tie."""
    if not 1 <= expected <= population:
        raise ParameterError(f"a batch holds between 1 and n={population} records, got {expected}.")
    if expected == population:
        return np.arange(population, dtype=np.int64)
    threshold = (expected << 64) // population
    first, rest = threshold >> 48, threshold & (2**48 - 1)
    words = np.frombuffer(entropy(2 * population), dtype="<u2")
    chosen = words < first
    ties = np.flatnonzero(words == first)
    if ties.size:
        further = np.frombuffer(entropy(8 * ties.size), dtype="<u8") >> np.uint64(16)
        chosen[ties] = further < np.uint64(rest)
    return np.flatnonzero(chosen).astype(np.int64)


def _distinct(values: Integers) -> Integers:
    """The first occurrence of each value, in the order in which they came."""
    _, first = np.unique(values, return_index=True)
    return values[np.sort(first)]
