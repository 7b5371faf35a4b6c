"""Which limit on slopes pays: less noise against the bias and the curvature that it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sottovoce.methods.expected_excess import moved_by
from sottovoce.methods.logistic_model import LIMITS
from sottovoce.questions import Gradient, LimitedGradient

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.adapt.expected_curvature import ExpectedCurvature
    from sottovoce.methods.expected_excess import ExpectedExcess
    from sottovoce.questions import Questions


def limit_place(
    inside: Questions,
    point: Vector,
    bends: ExpectedCurvature,
    model: ExpectedExcess,
    deviation: float,
    reached: float,
    mu: float,
) -> int:
    """The place among `LIMITS` of that with the least expected excess for a question at `point`, 0 for none.

    `deviation` is that of the predictor at the weights sought, `reached` that at those found, and mu buys all
    gradients together."""
    slope = inside.problem.slope
    moves = moved_by(inside, Gradient(point))
    lowest = moved_by(inside, LimitedGradient(point, float(LIMITS[-1]) * slope))
    noise = np.minimum(LIMITS * (lowest / LIMITS[-1]), moves) / mu
    across = bends.across(deviation, reached / deviation)
    lost = [
        model.excess(sd * model.curvature / max(bend, 1e-9)) for sd, bend in zip(noise, across, strict=True)
    ]
    place = int(np.argmin(bends.bias(deviation) + np.array(lost)))
    limited = LimitedGradient(point, float(LIMITS[place]) * slope)
    return 0 if place == 0 or moved_by(inside, limited) >= moves else place
