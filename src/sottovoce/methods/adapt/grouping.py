"""Moments of wide tables: one square for each group of columns that were declared to share a scale.

The squares of thousands of columns are below the noise level where their sums over groups are not: each sum
has the noise of one column's square, and a group of m columns a variance known m times as well.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.methods.adapt.coordinates import groups, told_apart

if TYPE_CHECKING:
    from sottovoce.problem import Problem
    from sottovoce.queries.features import Indices, Moments


def sharing(problem: Problem, mu: float) -> Indices | None:
    """The groups of columns whose squares are asked for as one sum: none where a budget of mu tells columns
    apart, else those that were declared, else all columns. Public."""
    return None if told_apart(problem, mu) else prior_groups(problem)


def prior_groups(problem: Problem) -> Indices:
    """The groups of columns with a prior variance of their own: those declared, else all columns; the
    constant is a group by itself. Public."""
    shared = shared_scales(problem)
    return groups(problem) if shared is None else shared


def shared_scales(problem: Problem) -> Indices | None:
    """The declared groups, if any, the constant in one of its own. Public."""
    if problem.column_groups is None:
        return None
    members = np.array(problem.column_groups, dtype=np.intp)
    if problem.constant is not None:
        members[problem.constant] = members.max() + 1
    return np.asarray(np.unique(members, return_inverse=True)[1], dtype=np.intp)


def by_column(asked: Moments, problem: Problem, members: Indices | None) -> Moments:
    """Moments as if each column's square had been asked for: its group's variance, about its own mean.

    With a constant to centre by, a column's square is v + m_j^2, v the group's mean of square less squared
    mean, so that what is left after centring is the same throughout the group. As asked where no groups were
    declared."""
    if members is None or problem.column_groups is None:
        return asked
    sizes = np.bincount(members)
    squares = asked.squares / sizes
    errors = asked.square_scale / sizes[members]
    taken = np.zeros_like(asked.means)
    if problem.constant is not None:
        taken = asked.means**2 - asked.mean_scale**2
        taken[problem.constant] = 0.0
    squares = squares - np.bincount(members, taken) / sizes
    scale = math.sqrt(float(np.mean(errors**2)))
    return replace(asked, squares=squares[members] + taken, square_scale=scale)
