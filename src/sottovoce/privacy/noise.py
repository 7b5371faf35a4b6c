"""Noise: exact, from the operating system's entropy, or simulated, from a seed that voids the guarantee."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NoReturn, Protocol, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.errors import DataError, LedgerError, ParameterError
from sottovoce.privacy import discrete_gaussian, sparse_vector
from sottovoce.privacy.lattice import SLACK, Noising

OPENDP_ENTRIES = 20_000
"""Past this, OpenDP's sampler takes a third of a second; the same law is drawn by `discrete_gaussian`."""


class Noise(Protocol):
    """What the Oracle adds to an exact answer after the ledger has been charged."""

    @property
    def simulated(self) -> bool: ...

    def gaussian(self, exact: Vector, calibration: Noising) -> Vector:
        """The exact answer plus independent N(0, scale^2) in each entry."""
        ...

    def laplace(self, moves: int, epsilon: float) -> int:
        """Integer noise of scale moves/epsilon, whose law a shift by `moves` changes by e^epsilon at most."""
        ...

    def first_above(self, queries: Iterable[float], sensitivity: float, epsilon: float) -> int | None:
        """AboveThreshold, see `sparse_vector.first_above`."""
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

    def gaussian(self, exact: Vector, calibration: Noising) -> Vector:
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
        noisy = steps + discrete_gaussian.sample(float(sigma), exact.size, os.urandom)
        return np.asarray(np.ldexp(noisy, calibration.exponent), dtype=np.float64)

    def laplace(self, moves: int, epsilon: float) -> int:
        return _laplace_draws(moves, epsilon, 1)[0]

    def first_above(self, queries: Iterable[float], sensitivity: float, epsilon: float) -> int | None:
        return sparse_vector.first_above(queries, sensitivity, epsilon, self.laplace)


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

    def gaussian(self, exact: Vector, calibration: Noising) -> Vector:
        return exact + calibration.scale * self._generator.standard_normal(exact.shape)

    def laplace(self, moves: int, epsilon: float) -> int:
        return round(self._generator.laplace(0.0, moves / epsilon))

    def first_above(self, queries: Iterable[float], sensitivity: float, epsilon: float) -> int | None:
        return sparse_vector.first_above(queries, sensitivity, epsilon, self.laplace)


def noise_for(simulate: int | None) -> Noise:
    """Exact noise, unless a seed asks for a simulation."""
    return ExactNoise() if simulate is None else SimulatedNoise(simulate)


def _gaussian_measurement(calibration: Noising) -> Any:
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
    _assert_within(measurement.map(calibration.moves), charged / 2)
    return measurement


def _laplace_draws(moves: int, epsilon: float, count: int) -> list[int]:
    """Independent integers with P(x) proportional to exp(-|x| epsilon / moves), by OpenDP."""
    return [int(draw) for draw in _laplace_measurement(moves, epsilon)([0] * count)]


@lru_cache(maxsize=16)
def _laplace_measurement(moves: int, epsilon: float) -> Any:
    """OpenDP's integer Laplace, once its own map is within epsilon. Kept: a line search asks for it often."""
    import opendp.mod
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    opendp.mod.enable_features("contrib")
    scale = moves / epsilon * (1.0 + SLACK)
    measurement = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale)
    _assert_within(measurement.map(moves), epsilon)
    return measurement


def _assert_within(loss: float, charged: float) -> None:
    if not loss <= charged:
        raise LedgerError(
            f"the noise would lose {loss:.6g}, the charge covers {charged:.6g}. Nothing was released."
            " Use `calibrate` to choose the scale."
        )
