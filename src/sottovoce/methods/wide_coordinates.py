"""Coordinates of wide tables: moments asked twice, then those directions shortened that a matrix shows.

The squares of columns a hundredth as large as others are below the noise that the largest need. Asked again
in coordinates where the large ones are small, they are not: no new query is needed, only the same one twice.
All of this is post-processing of releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import linalg

from sottovoce.methods.adapt.coordinates import Coordinates, Prior, by_column, cap_for, sharing
from sottovoce.queries import LowRankShrinkage, Preconditioner

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.base import State
    from sottovoce.queries import Answer, Queries

_CLEAR = 1.4
"""Eigenvalues count from this many edges of the noise on, and are shortened to it."""

_DIRECTIONS, _ROUNDS = 64, 12
"""Most directions that are shortened, and products with the squared matrix that find them: what lies beyond
1.4 edges grows by 1.4^24 against the rest."""

_FALL = 1.5
"""Eigenvalues that noise hides are taken to fall with this power of their place."""


def learned_twice(state: State, units: int, prior: Prior, mu: float) -> Coordinates:
    """Coordinates from moments in the user's, and again from moments in those; `mu` is left for gradients."""
    ask, problem = state.ask, state.problem
    shared = sharing(problem, math.sqrt(ask.mu_squared(ask.units_left)))
    asked = ask.moments(units // 2, groups=shared)
    state.record("moments", asked.units)
    first = Coordinates.chosen(by_column(asked, problem, shared), problem, prior, mu).preconditioner
    inside = ask.preconditioned(first)
    there = replace(inside.problem, constant=problem.constant, column_groups=problem.column_groups)
    asked = inside.moments(units - units // 2, groups=shared)
    state.record("moments", asked.units)
    second = Coordinates.chosen(by_column(asked, there, shared), there, prior, mu)
    return replace(second, preconditioner=composed(first, second.preconditioner))


def composed(first: Preconditioner, second: Preconditioner) -> Preconditioner:
    """The preconditioner that sees a row as `second` sees it after `first`, capped as `second` is.

    D2 (z - s2 z_c) with z = D1 (x - s1 x_c) and z_c = d x_c is D2 D1 (x - (s1 + d s2/D1) x_c)."""
    shift = first.shift
    if second.shift is not None:
        assert second.constant is not None
        moved = second.shift * (first.scale[second.constant] / first.scale)
        shift = moved if shift is None else shift + moved
    constant = second.constant if second.constant is not None else first.constant
    return replace(
        second, scale=np.clip(first.scale * second.scale, 1e-14, 1e14), shift=shift, constant=constant
    )


@final
@dataclass(frozen=True, eq=False)
class WideCoordinates:
    """A preconditioner, and the second moments expected in it: `largest` bounds them, `spectrum` are their
    likely eigenvalues in falling order."""

    preconditioner: Preconditioner
    largest: float
    spectrum: Vector

    @classmethod
    def unflattened(cls, chosen: Coordinates) -> WideCoordinates:
        """Where no matrix is formed: no eigenvalue exceeds the trace."""
        trace = float(chosen.diagonal.sum())
        return cls(chosen.preconditioner, trace, _falling(np.zeros(0), trace, chosen.diagonal.size, trace))

    @classmethod
    def flattened(
        cls, state: State, chosen: Coordinates, units: int, prior: Prior, mu: float
    ) -> WideCoordinates:
        """Ask for the second moments and shorten what stands out of their noise down to it."""
        trace = float(chosen.diagonal.sum())
        gram = gram_for(state.ask, chosen.preconditioner, trace, units)
        state.record("gram", gram.units)
        edge = gram.scale * math.sqrt(2.0 * chosen.diagonal.size)
        level = _CLEAR * edge
        values, vectors = outstanding(gram.value, level)
        values = np.sqrt(np.maximum(values**2 - edge**2, level**2))
        found = LowRankShrinkage(vectors, np.maximum(np.sqrt(level / values), 1e-6)) if values.size else None
        shortened = np.full(values.size, level)
        hidden = max(trace - float(values.sum()), 0.05 * trace)
        spectrum = _falling(shortened, hidden, chosen.diagonal.size, level)
        left = float(spectrum.sum())
        cap = cap_for(left, state.problem, prior, mu) * math.sqrt(left)
        preconditioner = replace(chosen.preconditioner, cap=cap, shrinkage=found)
        return cls(preconditioner, min(level + float(chosen.diagonal.max()), trace), spectrum)


def gram_for(ask: Queries, preconditioner: Preconditioner, trace: float, units: int) -> Answer[Matrix]:
    """Second moments where a record counts min(1, trace/rho^2): they choose coordinates, no step rests on
    them, so the smallest cap serves."""
    short = replace(preconditioner, cap=math.sqrt(trace), ceiling=1.0)
    return ask.preconditioned(short).gram(units)


def outstanding(matrix: Matrix, level: float) -> tuple[Vector, Matrix]:
    """Eigenvalues above `level`, at most 64, and their vectors, by powers of a block of fixed start."""
    columns = len(matrix)
    block = np.random.default_rng(0).standard_normal((columns, min(_DIRECTIONS, columns)))
    for _ in range(_ROUNDS):
        block = linalg.qr(matrix @ (matrix @ block), mode="economic")[0]
    values, turn = linalg.eigh(block.T @ matrix @ block)
    clear = values > level
    return values[clear][::-1], np.ascontiguousarray((block @ turn)[:, clear][:, ::-1])


def _falling(known: Vector, hidden: float, columns: int, most: float) -> Vector:
    """Eigenvalues known, then others that add up to `hidden`, none above `most`."""
    places = np.arange(known.size + 1.0, columns + 1.0)
    rest = places**-_FALL
    return np.concatenate([known, np.minimum(hidden * rest / max(float(rest.sum()), 1e-300), most)])
