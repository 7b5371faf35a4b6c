"""Rehearsals: a private fit up to its first charge, so that what would refuse it does so before all charges.

Everything public facts decide is decided before a run's first charge, and so is whether rows can be read. A
fit that charges a `Rehearsal` therefore stops where a real one would begin to cost.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, final

import numpy as np

from sottovoce.accounting import Ledger, Units
from sottovoce.accounting.store import Grant, Held, Named, Totals
from sottovoce.errors import DataError, SottovoceError

T = TypeVar("T")


class FirstCharge(Exception):
    """The rehearsed fit got as far as its first charge."""


@final
class Rehearsal:
    """A store that takes no charge: one that a fresh ledger would take raises FirstCharge."""

    identity, persistent, address, head, part = "rehearsal", False, None, "", ""

    def append(self, grant: Grant, cap: Totals) -> Totals:
        nothing = self.totals()
        if nothing.plus(grant).within(cap):
            raise FirstCharge
        return nothing

    def reserve(
        self, run: str, name: str, wanted: Totals, cap: Totals, whole: Named | None = None
    ) -> Totals | None:
        nothing = self.totals()
        return None if nothing.with_all([wanted]).within(cap) else nothing

    def waits(self, run: str, units: Units) -> bool:
        return False

    def ask(self, run: Named, epsilon: float, delta: float, journal: str) -> None:
        """Nobody is asked."""

    def end(self, run: str, how: str, journal: str = "") -> None:
        """Nothing was set aside."""

    def sealed(self, run: str) -> str:
        return ""

    def totals(self) -> Totals:
        return Totals(0, 0)

    def held(self) -> Held:
        return {}

    def taken(self, run: str, cap: Totals) -> Totals:
        return self.totals()

    def history(self) -> tuple[Grant, ...]:
        return ()


def rehearsing(account: Ledger) -> Ledger:
    """A ledger like this one, to be charged in a rehearsal."""
    return Ledger(
        account.cap,
        currency=account.currency.name,
        order=account.order,
        unit=account.unit,
        store=Rehearsal(),
    )


def rehearse(estimator: Any, X: Any, y: Any, **people: Any) -> None:
    """Fit up to the first charge of a `rehearsing` ledger; what refuses the fit is raised."""
    with suppress(FirstCharge):
        unquoted(lambda: estimator.fit(X, y, **people))


def unquoted(work: Callable[[], T]) -> T:
    """Run steps of a pipeline: other libraries' refusals and warnings may quote rows, ours do not."""
    try:
        with np.errstate(all="ignore"):
            return work()
    except (SottovoceError, FirstCharge):
        raise
    except Exception as error:
        failure = type(error).__name__
    raise DataError(
        f"a step of the pipeline cannot read X ({failure}; its words may quote data and are left out). "
        "Check the step's parameters and that X holds what it expects."
    )
