"""Saddles: how a first-order method notices that it stands at one, and the way out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scipy import special

from sottovoce.methods.cubic import Cubic
from sottovoce.results.certificate import scalar_margin

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.base import Goal, State
    from sottovoce.queries import Answer
    from sottovoce.results.result import Outcome

LOOK_SHARE = 0.02
"""Of the budget for a look at the smallest eigenvalue, or at a gradient beside it."""

_LEVEL = 1e-3
"""How often noise alone may look like a saddle, or a gradient that is there like noise."""


def is_noise(gradient: Answer[Vector]) -> bool:
    """Whether a gradient is no longer than noise makes it."""
    size, square = gradient.value.size, float(gradient.value @ gradient.value)
    return square <= gradient.scale**2 * float(special.chdtri(size, _LEVEL))


def curves_down(state: State, units: int) -> bool:
    """Ask for the smallest eigenvalue at the state's weights: whether it is clearly negative."""
    seen = state.ask.smallest_eigenvalue(state.w, units)
    state.record("curvature looked at", seen.units)
    return seen.value < -scalar_margin(seen.scale, _LEVEL)


def starts_at_saddle(state: State, units: int) -> bool:
    """Ask for a gradient, and where it is nothing but noise for the curvature, `units` each."""
    gradient = state.ask.gradient(state.w, units)
    state.record("gradient looked at", gradient.units)
    return is_noise(gradient) and curves_down(state, units)


def escaped(state: State, goal: Goal) -> Outcome:
    """Leave a saddle by cubic steps, which follow negative curvature, for all that is left of the budget."""
    outcome = Cubic().run(state.ask, state.w, goal, state.watch)
    trained = f"{outcome.trained}; a saddle was met, which cubic steps left"
    return replace(outcome, trace=(*state.trace, *outcome.trace), trained=trained)
