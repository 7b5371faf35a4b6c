"""The diameter of one record's contributions is never underestimated, and hardly overestimated."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import ParameterError
from sottovoce.losses import Logistic, Loss
from sottovoce.privacy import diameter
from sottovoce.privacy.diameter import contribution_diameter
from tests.strategies import MARGIN_LOSSES, attack

SEEDS = st.integers(0, 2**32 - 1)
REACHES = [0.0, 1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0, 1e3]


@pytest.fixture(params=MARGIN_LOSSES, ids=repr)
def margin_loss(request: pytest.FixtureRequest) -> Loss:
    return request.param


@lru_cache
def best_pair(loss: Loss, reach: float) -> float:
    """Largest distance of two contributions over a grid of records on the sphere and inside it."""
    margins = np.linspace(-12.0, 12.0, 301)
    angle = np.concatenate(
        [np.linspace(0.0, math.pi, 301), np.arccos(margins[np.abs(margins) <= reach] / (reach or 1.0))]
    )
    largest = 0.0
    for length in (1.0, 0.9, 0.3):
        factor = loss.first(reach * np.cos(angle)), loss.first(length * reach * np.cos(angle))
        x = [size * f * np.cos(angle) for size, f in zip((1.0, length), factor, strict=True)]
        y = [size * np.abs(f) * np.sin(angle) for size, f in zip((1.0, length), factor, strict=True)]
        largest = max(largest, float(np.hypot(x[0][:, None] - x[1], y[0][:, None] + y[1]).max()))
    return largest


@pytest.mark.parametrize("reach", REACHES)
def test_the_diameter_covers_every_pair_and_is_nearly_attained(margin_loss, reach):
    bound, found = contribution_diameter(margin_loss, reach), best_pair(margin_loss, reach)
    assert found <= bound * (1 + 1e-12)
    assert bound <= 2 * margin_loss.slope
    assert bound <= found * 1.02
    if 0.1 <= reach <= 8.0:
        assert bound <= found * (1 + 1e-4)


@pytest.mark.parametrize(
    ("reach", "diameter"),
    [(0, 1.0), (1, 1.0990955), (2, 1.2698411), (4, 1.5327050), (8, 1.7667550), (16, 1.9017366)],
)
def test_the_logistic_diameter_has_its_known_values(reach, diameter):
    """Found by unconstrained search over pairs in the three-dimensional ball."""
    assert contribution_diameter(Logistic(), float(reach)) == pytest.approx(diameter, rel=2e-6)
    assert contribution_diameter(Logistic(), float(reach)) >= diameter - 1e-7


@attack
@given(st.data())
def test_free_search_does_not_beat_the_diameter(data):
    """Records anywhere in the ball, in more dimensions than the plane of the bound."""
    loss = data.draw(st.sampled_from(MARGIN_LOSSES))
    reach = 10.0 ** data.draw(st.floats(-2.0, 2.0))
    rng = np.random.default_rng(data.draw(SEEDS))
    z = rng.normal(size=(2, 400, 5))
    z[..., 0] *= rng.choice([0.01, 0.1, 1.0, 10.0], size=(2, 400))
    z *= (rng.uniform(size=(2, 400)) ** 0.1 / np.linalg.norm(z, axis=2))[..., None]
    terms = loss.first(reach * z[..., 0])[..., None] * z
    apart = np.linalg.norm(terms[0][:, None] - terms[1], axis=2).max()
    alone = np.linalg.norm(terms, axis=2).max()
    assert max(apart, alone) <= contribution_diameter(loss, reach)


@pytest.mark.parametrize("reach", [0.3, 2.0, 16.0])
def test_the_curve_bends_no_more_than_the_diameter_assumes(margin_loss, reach):
    """|f''| <= s^2 sup|phi'''| + 3 s sup|phi''| + sup|phi'|, by second differences of the curve."""
    h = 1e-4
    angle = np.arange(0.0, math.pi, h)
    curve = margin_loss.first(reach * np.cos(angle)) * np.array([np.cos(angle), np.sin(angle)])
    bend = np.linalg.norm(curve[:, 2:] - 2 * curve[:, 1:-1] + curve[:, :-2], axis=0).max() / h**2
    curvature = max(margin_loss.curvature_low, margin_loss.curvature_high)
    assert bend <= reach**2 * margin_loss.third + 3 * reach * curvature + margin_loss.slope + 1e-6


@pytest.mark.parametrize("reach", [0.3, 1.0, 3.0, 8.0])
def test_even_a_search_cut_short_covers_every_pair(margin_loss, reach, monkeypatch):
    """With a few wide arcs and no refinement, only the sag of the arcs keeps the bound above the truth."""
    monkeypatch.setattr(diameter, "_MOST_PAIRS", 0)
    curvature = max(margin_loss.curvature_low, margin_loss.curvature_high)
    bend = reach**2 * margin_loss.third + 3 * reach * curvature + margin_loss.slope
    found = best_pair(margin_loss, reach)
    for arcs in range(1, 20):
        assert found <= diameter._search(margin_loss, reach, bend, arcs, math.inf)


def test_nearby_reaches_have_nearby_diameters(margin_loss):
    """The diameter moves by at most 2 sup|phi''| per unit of reach; the bound adds its own tolerance."""
    curvature = max(margin_loss.curvature_low, margin_loss.curvature_high)
    for low, high in pairwise(np.linspace(0.2, 12.0, 60)):
        step = contribution_diameter(margin_loss, high) - contribution_diameter(margin_loss, low)
        assert abs(step) <= 2 * curvature * (high - low) + 2e-5 * margin_loss.slope


@pytest.mark.parametrize("reach", [1e3, 1e6, 1e12, 1e200, 1e307])
def test_endless_weights_give_the_global_bound(margin_loss, reach):
    assert contribution_diameter(margin_loss, reach) == pytest.approx(2 * margin_loss.slope, rel=1e-9)


@pytest.mark.parametrize("reach", [math.nan, math.inf, -1.0])
def test_an_impossible_reach_is_refused(reach):
    with pytest.raises(ParameterError, match="reach"):
        contribution_diameter(Logistic(), reach)
