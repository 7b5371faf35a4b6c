"""The two ways out: charge first, then compute, then add noise. Nothing private leaves by any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, final

from sottovoce.errors import LedgerError

if TYPE_CHECKING:
    from sottovoce.accounting import Event, Run
    from sottovoce.accounting.events import PureEvent
    from sottovoce.arrays import Vector
    from sottovoce.privacy.lattice import Noising
    from sottovoce.privacy.noise import Noise

T = TypeVar("T")


@final
class Paid:
    """An answer that has been charged for and can be drawn once: a second draw would be a second answer."""

    def __init__(self, noise: Noise, calibration: Noising, compute: Callable[[], Vector]) -> None:
        self._noise = noise
        self._calibration = calibration
        self._compute: Callable[[], Vector] | None = compute

    def draw(self) -> Vector:
        compute, self._compute = self._compute, None
        if compute is None:
            raise LedgerError("this answer was paid for once and has been released. Ask again.")
        return self._noise.gaussian(compute(), self._calibration)


def gaussian(
    run: Run, noise: Noise, event: Event, *parts: tuple[Noising, Callable[[], Vector]]
) -> tuple[int, list[Paid]]:
    """Charge `event`, which covers every part, and hand out the parts' noisy answers, computed when drawn.

    A refused charge raises, and nothing has been computed. Returns what was charged, in units."""
    units = run.charge(event).units
    return units, [Paid(noise, calibration, compute) for calibration, compute in parts]


def pure(run: Run, event: PureEvent, mechanism: Callable[[], T]) -> T:
    """Charge `event`, then run a mechanism that is private by itself at that epsilon."""
    run.charge(event)
    return mechanism()
