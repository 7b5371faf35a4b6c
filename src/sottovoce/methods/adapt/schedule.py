"""How many steps `adapt` takes, what each may cost, and how far from the weights found it asks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sottovoce.methods.expected_excess import ExpectedExcess
    from sottovoce.problem import Problem

_FLATTENED, _MOST, _PRECISE = 3.0, 4.0, 1e-4
"""Steps grow where the loss bends less than a third of what it does at 0, to at most four times as many, if
noise alone loses less than a ten thousandth of what is at stake."""

_SHORT_OF, _UNCENTRED = 0.6, 0.25
"""Gradients are asked at 0.4 of the weights where scores are centred, at the weights where they are not."""


def share(step: int, steps: int) -> float:
    """The part of what is left that this step takes when shares grow as the root of the step's number."""
    return math.sqrt(step + 1.0) / math.fsum(math.sqrt(later + 1.0) for later in range(step, steps))


def steps_for(problem: Problem, steps: int) -> int:
    """Twice as many where outputs are several: their curvature differs most from what is believed of it."""
    return 2 * steps if problem.outputs > 1 else steps


def slowed(model: ExpectedExcess, least: float, flattened: float) -> float:
    """How many times as many steps a strong signal takes, as the loss bends less and less on the way.

    Only where noise is small, `least` being that of one answer for the whole budget: more steps mean noisier
    answers. `flattened` is how many times less the loss bends at the weights found than at 0."""
    if model.excess(least) > _PRECISE * model.at_stake:
        return 1.0
    return min(max(1.0, flattened / _FLATTENED), _MOST)


def short_of(uncentred: float) -> float:
    """The part of the way to the weights found that a gradient is asked short of, where noise is large.

    A query nearer to 0 costs no more, and the loss bends more from there to its minimum, so the same noise
    hides less. `uncentred` is the part of the scores' mean square that is the square of their mean: where it
    is a quarter or more, the model of the log odds, which says how the loss bends, does not hold."""
    return _SHORT_OF * max(0.0, 1.0 - uncentred / _UNCENTRED)
