"""What the paper's analysis asks of the number of records: as printed, and with the errata repaired.

`Printed` follows the paper letter by letter, `Corrected` holds; docs/errata.md derives every difference. Each
method turns one requirement, allowed to fail at one visit with probability `level`, into a number of records.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from scipy import special

from sottovoce.results.certificate import spectral_margin

if TYPE_CHECKING:
    from sottovoce.methods.paper.sample_complexity import Setting


class Law(ABC):
    """One reading of the requirements. Each may fail at one visit with probability `level`."""

    @abstractmethod
    def gradient(self, setting: Setting, multiplier: float, level: float) -> float:
        """Records for the gradient's noise."""

    @abstractmethod
    def hessian(self, setting: Setting, multiplier: float, level: float) -> float:
        """Records for the Hessian's noise."""

    @abstractmethod
    def search(self, setting: Setting, multiplier: float, level: float) -> float:
        """Records for a search that never accepts too small a decrease."""

    @abstractmethod
    def halved(self, rate: float) -> float:
        """Factor on the records above when noise has half the room and a batch `rate` of all records."""

    @abstractmethod
    def batch(self, setting: Setting, level: float) -> tuple[float, float]:
        """Batch sizes at which sampling uses at most half the room of the gradient and of the Hessian."""


@final
@dataclass(frozen=True)
class Corrected(Law):
    """The errata repaired, every constant explicit."""

    def gradient(self, setting: Setting, multiplier: float, level: float) -> float:
        """2 B_g sigma_g q / room: ||e|| is 2 B_g sigma_g / n times chi with d degrees, q its quantile."""
        radius = math.sqrt(float(special.chdtri(setting.dim, level)))
        return 2.0 * setting.gradient_bound * multiplier * radius / setting.gradient_room

    def hessian(self, setting: Setting, multiplier: float, level: float) -> float:
        """2 sqrt(r) B_H sigma_H w (sqrt(2d) + sqrt(2 log 2/level)) / room, r the rank, d where it is unknown.

        Two Hessians of rank r lie at most 2 sqrt(r) B_H apart in Frobenius norm; both ends of the spectrum
        count. w is the widening."""
        move = 2.0 * math.sqrt(setting.hessian_rank or setting.dim) * setting.hessian_bound
        scale = move * multiplier * setting.widening
        return spectral_margin(scale, setting.dim, level / 2) / setting.hessian_room

    def search(self, setting: Setting, multiplier: float, level: float) -> float:
        """Tolerated noise t = 4 lambda log(2 i_max / (3 level)) in sensitivities.

        A trial t short of its threshold passes if Lap(4 lambda) + Lap(2 lambda) > t, whose probability is
        2/3 e^{-t/4 lambda} - 1/6 e^{-t/2 lambda}; i_max trials make a union."""
        reach = 4.0 * multiplier * math.log(2.0 * setting.trials / (3.0 * level))
        return reach * setting.search_leverage

    def halved(self, rate: float) -> float:
        """Sensitivities are over the batch, rate times n."""
        return 2.0 / rate

    def batch(self, setting: Setting, level: float) -> tuple[float, float]:
        """(2 B k / room)^2, k = mean + sqrt(2 log 1/level): the deviation has mean at most mean B/sqrt(m) and
        one record of the batch moves it by 2B/m (McDiarmid; draws without replacement are coupled by a swap).

        The mean is 1 for a gradient. For a Hessian it is sqrt(r), the Frobenius norm's, or 2 sqrt(2 log 2d),
        the matrix Khintchine inequality's after symmetrization, whichever is less."""
        tail = math.sqrt(2.0 * math.log(1.0 / level))
        rank_root = math.sqrt(setting.hessian_rank or setting.dim)
        spread = min(rank_root, 2.0 * math.sqrt(2.0 * math.log(2.0 * setting.dim))) + tail
        return (
            (2.0 * setting.gradient_bound * (1.0 + tail) / setting.gradient_room) ** 2,
            (2.0 * setting.hessian_bound * spread / setting.hessian_room) ** 2,
        )


@final
@dataclass(frozen=True)
class Printed(Law):
    """The paper's formulas, letter by letter; i_max as in its Algorithm 2. Not a guarantee.

    `wigner` is the universal C of Lemma matrix_concentration, left open there; it cannot be below 2, the
    limit of ||E|| / sqrt(d) for entries of sd 1."""

    wigner: float = 2.0

    def gradient(self, setting: Setting, multiplier: float, level: float) -> float:
        tail = math.log(1.0 / level)
        reach = math.sqrt(2.0 * setting.dim) * setting.gradient_bound
        return reach * multiplier * tail / setting.gradient_room

    def hessian(self, setting: Setting, multiplier: float, level: float) -> float:
        tail = math.log(1.0 / level)
        reach = self.wigner * math.sqrt(setting.dim) * setting.hessian_bound
        return reach * multiplier * tail / setting.hessian_room

    def search(self, setting: Setting, multiplier: float, level: float) -> float:
        reach = 8.0 * multiplier * (math.log(setting.trials) + math.log(1.0 / level))
        return reach * setting.search_leverage

    def halved(self, rate: float) -> float:
        return 2.0

    def batch(self, setting: Setting, level: float) -> tuple[float, float]:
        tail = math.log(2.0 * setting.dim / level)
        return (
            64.0 * (setting.gradient_bound / setting.gradient_room) ** 2 * (tail + 0.25),
            32.0 * (setting.hessian_bound / setting.hessian_room) ** 2 * tail,
        )
