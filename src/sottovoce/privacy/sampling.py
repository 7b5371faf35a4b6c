"""Batches drawn without replacement or record by record, and the secrecy amplification rests on.

Amplification holds only if nobody can tell which records were drawn: indices come from the operating system's
entropy at every draw and never leave the oracle. A simulation draws them from its seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import ParameterError

Indices = NDArray[np.int64]

_WORD = 2**64
_STREAM = 1


def draw(population: int, size: int, entropy: Callable[[int], bytes] = os.urandom) -> Indices:
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


def poisson(population: int, expected: int, entropy: Callable[[int], bytes] = os.urandom) -> Indices:
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


def entropy_for(simulate: int | None) -> Callable[[int], bytes]:
    """The operating system's entropy, unless a seed asks for a simulation: a stream apart from its noise."""
    return os.urandom if simulate is None else np.random.default_rng([simulate, _STREAM]).bytes


def _distinct(values: Indices) -> Indices:
    """The first occurrence of each value, in the order in which they came."""
    _, first = np.unique(values, return_index=True)
    return values[np.sort(first)]
