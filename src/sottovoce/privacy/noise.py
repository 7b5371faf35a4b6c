"""Noise: exact, from the operating system's entropy, or simulated, from a seed that voids the guarantee."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, Protocol, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.errors import BudgetExceeded, DataError, LedgerError, ParameterError
from sottovoce.privacy import sampling

BITS = 38
"""One noise scale is 2^38 to 2^39 steps: fine enough for a thousandth of delta at any epsilon up to 25."""

SLACK = 1e-12
"""Relative margin over every float operation here and in OpenDP's own conservative arithmetic."""

WIDEST = 2.0**40
"""Most steps in one scale: what the vectorized sampler takes."""


@final
@dataclass(frozen=True, kw_only=True)
class NoiseCalibration:
    """Gaussian noise that hides a query within mu^2 = (sensitivity / scale)^2.

    The exact answer moves by at most `exact_sensitivity` in l2 when one record is replaced; rounded to the
    lattice 2^exponent it moves by at most `sensitivity`. The ledger charges for (sensitivity, scale), never
    more than the `mu_squared` asked for."""

    exact_sensitivity: float
    sensitivity: float
    scale: float
    exponent: int
    entries: int
    mu_squared: float

    @property
    def step(self) -> float:
        return math.ldexp(1.0, self.exponent)


def exponent_for(scale: float) -> int:
    """k = floor(log2(scale)) - 38, exactly: the lattice 2^k has 2^38 to 2^39 steps in one scale."""
    return math.frexp(scale)[1] - 1 - BITS


def calibrate(sensitivity: float, mu_squared: float, entries: int) -> NoiseCalibration:
    """Scale and lattice for a query that moves by `sensitivity`: s = (sensitivity + g sqrt(entries)) / mu.

    Rounding to the nearest multiple of g moves each entry by at most g/2, in both of two neighbours, so
    their distance grows by at most g sqrt(entries). Sums and quotients are widened by 1e-12."""
    _positive("sensitivity", sensitivity)
    _positive("mu_squared", mu_squared)
    if entries < 1:
        raise ParameterError(f"entries must be at least 1, got {entries}.")
    mu = math.sqrt(mu_squared)
    unrounded = sensitivity / mu
    if not 1e-250 < unrounded < 1e250:
        raise ParameterError(
            f"sensitivity / mu must lie in 1e-250..1e250, got {unrounded:.3g}. Rescale the query."
        )
    exponent = exponent_for(unrounded)
    rounded = (sensitivity + math.ldexp(math.sqrt(entries), exponent)) * (1.0 + SLACK)
    scale = rounded / mu * (1.0 + SLACK)
    if math.ldexp(scale, -exponent) > WIDEST:
        raise BudgetExceeded(
            f"mu_squared={mu_squared:.3g} is too small for {entries} entries: rounding would swamp them. "
            "Nothing was released. Spend more on each answer."
        )
    return NoiseCalibration(
        exact_sensitivity=sensitivity,
        sensitivity=rounded,
        scale=scale,
        exponent=exponent,
        entries=entries,
        mu_squared=mu_squared,
    )


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise ParameterError(f"{name} must be a finite positive number, got {value}.")


OPENDP_ENTRIES = 4_000
"""Past this, OpenDP's sampler takes 50 ms and more, and a network's steps need hundreds of draws; the same
law is drawn by `discrete_gaussian`."""


class Noise(Protocol):
    """What the Oracle adds to an exact answer after the ledger has been charged."""

    @property
    def simulated(self) -> bool: ...

    def gaussian(self, exact: Vector, calibration: NoiseCalibration) -> Vector:
        """The exact answer plus independent N(0, scale^2) in each entry."""
        ...

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        """Integer noise of scale sensitivity/epsilon: such a shift changes its law by e^epsilon at most."""
        ...

    def first_above(
        self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float
    ) -> int | None:
        """AboveThreshold, see `above_threshold`."""
        ...


class _Unshared:
    """Neither copied nor pickled, and shows no state: noise drawn twice from one state is no noise."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError("noise is neither copied nor pickled: call noise_for(...) where it is drawn.")


@final
class ExactNoise(_Unshared):
    """Discrete Gaussian and Laplace noise on a lattice, by OpenDP's proven measurements.

    The measurement's own privacy map is compared with the charge before anything is released. The object
    holds no state. Long answers read the operating system's entropy directly; OpenDP draws from OpenSSL's
    generator, which the operating system seeds and which reseeds after a fork."""

    __slots__ = ()

    @property
    def simulated(self) -> bool:
        return False

    def gaussian(self, exact: Vector, calibration: NoiseCalibration) -> Vector:
        if exact.shape != (calibration.entries,):
            raise LedgerError(
                f"the charge is for {calibration.entries} entries, the answer has shape {exact.shape}."
                " Nothing was released. Calibrate with the answer's own length."
            )
        with np.errstate(over="ignore"):
            steps = np.rint(np.ldexp(exact, -calibration.exponent))
        if not np.isfinite(steps).all():
            # The bounds rule this out; the message quotes nothing.
            raise DataError("an exact answer is not finite; nothing was released. Please report a bug.")
        measurement = _gaussian_measurement(calibration)
        if calibration.entries <= OPENDP_ENTRIES:
            return np.array(measurement(exact.tolist()), dtype=np.float64)
        sigma = np.ldexp(calibration.scale, -calibration.exponent)
        # Rounding the sum to a float is a function of the sum alone: it reveals no more.
        noisy = steps + sampling.discrete_gaussian(float(sigma), exact.size, os.urandom)
        return np.asarray(np.ldexp(noisy, calibration.exponent), dtype=np.float64)

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        from sottovoce.privacy.laplace import laplace_draws

        return laplace_draws(sensitivity, epsilon, 1)[0]

    def first_above(
        self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float
    ) -> int | None:
        from sottovoce.privacy.laplace import above_threshold

        return above_threshold(queries, sensitivity, epsilon, self.laplace)


@final
class SimulatedNoise(_Unshared):
    """The same scales from a seeded NumPy generator: for studies. Whoever knows the seed can subtract it."""

    __slots__ = ("_generator",)

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ParameterError(f"simulate must be a seed, an integer of at least 0, got {seed!r}.")
        self._generator = np.random.default_rng(int(seed))

    @property
    def simulated(self) -> bool:
        return True

    def gaussian(self, exact: Vector, calibration: NoiseCalibration) -> Vector:
        return exact + calibration.scale * self._generator.standard_normal(exact.shape)

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        return round(self._generator.laplace(0.0, sensitivity / epsilon))

    def first_above(
        self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float
    ) -> int | None:
        from sottovoce.privacy.laplace import above_threshold

        return above_threshold(queries, sensitivity, epsilon, self.laplace)


def noise_for(simulate: int | None) -> Noise:
    """Exact noise, unless a seed asks for a simulation."""
    return ExactNoise() if simulate is None else SimulatedNoise(simulate)


_STREAM = 1


def entropy_for(simulate: int | None) -> sampling.Entropy:
    """The operating system's entropy, unless a seed asks for a simulation: a stream apart from its noise."""
    return os.urandom if simulate is None else np.random.default_rng([simulate, _STREAM]).bytes


def _gaussian_measurement(calibration: NoiseCalibration) -> Any:
    """OpenDP's Gaussian on the lattice, once its own map (a zCDP rho) is within the charge, mu^2 / 2."""
    import opendp.mod
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    opendp.mod.enable_features("contrib")
    measurement = make_gaussian(
        vector_domain(atom_domain(T=float, nan=False), size=calibration.entries),
        l2_distance(T=float),
        calibration.scale,
        k=calibration.exponent,
    )
    charged = min(calibration.mu_squared, (calibration.sensitivity / calibration.scale) ** 2)
    assert_within(measurement.map(calibration.exact_sensitivity), charged / 2)
    return measurement


def assert_within(loss: float, charged: float) -> None:
    if not loss <= charged:
        raise LedgerError(
            f"the noise would lose {loss:.6g}, the charge covers {charged:.6g}. Nothing was released."
            " Use `calibrate` to choose the scale."
        )
