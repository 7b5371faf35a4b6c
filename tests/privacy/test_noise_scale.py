"""Noise one percent too small is noticed. Relative error of a deviation from m draws: 1/sqrt(2m)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sottovoce.privacy.noise import ExactNoise, SimulatedNoise, calibrate

DRAWS = 600_000
# Six standard errors: 0.55 %. False alarm below 1e-8 for the exact noise, which cannot be seeded.
TOLERANCE = 6.0 / math.sqrt(2.0 * DRAWS)


@pytest.mark.parametrize("noise", [SimulatedNoise(5), ExactNoise()], ids=["simulated", "exact"])
def test_the_deviation_of_noise_is_the_charged_one_to_half_a_percent(
    noise: SimulatedNoise | ExactNoise,
) -> None:
    calibration = calibrate(2e-6, 0.01, DRAWS)
    draws = noise.gaussian(np.zeros(DRAWS), calibration)
    assert np.sqrt(np.mean(draws**2)) == pytest.approx(calibration.scale, rel=TOLERANCE)


def test_short_answers_are_measured_by_opendp_s_own_map() -> None:
    """A scale too small by any amount is refused there, so that nothing comes out to be measured."""
    calibration = calibrate(2e-6, 0.01, 1000)
    draws = np.concatenate([ExactNoise().gaussian(np.zeros(1000), calibration) for _ in range(20)])
    assert np.sqrt(np.mean(draws**2)) == pytest.approx(calibration.scale, rel=6.0 / math.sqrt(40_000.0))
