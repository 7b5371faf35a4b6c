"""What every oracle has in hand: the data's risk, the run that pays, and the noise. Never copied or shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from sottovoce.errors import BudgetExceeded, LedgerError
from sottovoce.privacy import arguments

if TYPE_CHECKING:
    from sottovoce.accounting import Run
    from sottovoce.arrays import Vector
    from sottovoce.privacy.noise import Noise
    from sottovoce.questions import Problem
    from sottovoce.risks.protocol import ExactRisk

PRICE_SLACK = 1.0 + 2.0**-20
"""Covers what the noise lattice adds to a sensitivity when a price is quoted beforehand."""


class Desk:
    """Holds what an answer is made from and refuses to be pickled, copied or asked on credit."""

    def __init__(self, risk: ExactRisk, run: Run, noise: Noise) -> None:
        self._risk = risk
        self._run = run
        self._noise = noise

    def __reduce__(self) -> NoReturn:
        raise LedgerError("an oracle holds data and a ledger and cannot be pickled or copied.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.n} records, {self._run!r})"

    @property
    def problem(self) -> Problem:
        return self._risk.problem

    @property
    def units_left(self) -> int:
        return self._run.units_left

    def mu_squared(self, units: int) -> float:
        return self._run.currency.mu_squared(units)

    def _admit(self, w: Vector) -> Vector:
        """Weights are public: pull them into the ball in which every exact answer is finite."""
        return self.problem.within_limit(arguments.vector("weights", w, self.problem.dim))

    def _affordable(self, units: int) -> int:
        given = arguments.units(units)
        if not 1 <= given <= self.units_left:
            raise BudgetExceeded(
                f"this question was given {'no' if given < 1 else 'more'} units of privacy, "
                f"{self.units_left} are left. Nothing was released. Raise the budget or plan fewer steps."
            )
        return given
