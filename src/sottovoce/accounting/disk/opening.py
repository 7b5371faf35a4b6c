"""How a ledger is created in a file, opened from it and read again."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from sottovoce.accounting.allowance import require_usable
from sottovoce.accounting.currency import Gdp, named
from sottovoce.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from sottovoce.accounting.budget import Budget
    from sottovoce.accounting.disk.entries import Approval
    from sottovoce.accounting.disk.statement import Anchor, Statement
    from sottovoce.accounting.ledger import Ledger
    from sottovoce.accounting.store import Store


def day_of(text: str) -> str:
    """A day, today or later, as it is written in a ledger; empty for none."""
    if text == "":
        return ""
    try:
        day = date.fromisoformat(text)
    except (TypeError, ValueError):
        raise ParameterError("expires must be a day such as '2027-12-31'.", argument="expires") from None
    if day < datetime.now(UTC).date():
        raise ParameterError(
            f"an account that expired on {day} could never be charged. Name a day to come.",
            argument="expires",
        )
    return day.isoformat()


class OnDisk:
    """What a ledger does with a file; one in memory does nothing of it."""

    __slots__ = ()
    _store: Store

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        dataset: str,
        cap: Budget,
        currency: str = "gdp",
        order: float | None = None,
        unit: str = "record",
        expires: str = "",
        approval: Approval | None = None,
    ) -> Ledger:
        """A new data set's ledger, in a new file on a local disk or in one that holds others already.

        Cap, currency and unit are fixed for good. Refused where the data set is known, or where the file was
        deleted: a fresh cap is never granted for records that were charged before without a word. `expires`
        is the last day, such as "2027-12-31", on which it may be charged, by this machine's clock. With an
        `approval` (see `accounting.disk.approval`), runs above its limit wait until they are signed."""
        from sottovoce.accounting.disk.entries import Declaration
        from sottovoce.accounting.disk.sqlite_store import create_store
        from sottovoce.accounting.ledger import Ledger

        fresh = Ledger(cap, currency=currency, order=order, unit=unit)
        require_usable(cap)
        until = day_of(expires)
        declared = Declaration(
            fresh.cap, fresh.currency.name, fresh.order, fresh.unit, expires=until, approval=approval
        )
        store = create_store(path, dataset, declared)
        return Ledger(cap, currency=currency, order=order, unit=unit, store=store)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        dataset: str,
        cap: Budget | None = None,
        currency: str | None = None,
        order: float | None = None,
        part: str = "",
    ) -> Ledger:
        """The ledger of one data set in a file that `create` made. Opening never creates.

        `cap`, `currency` and `order` may be left out; given, they must be what was declared. Names are
        compared without regard to case and outer or repeated blanks. Charges are on disk before anything
        is released, and every process that opens the file spends from the same cap. `part` names a sub-budget
        of it, see `accounting.disk.renewal.allot`: runs stay within that as well."""
        from sottovoce.accounting.disk.sqlite_store import open_store
        from sottovoce.accounting.ledger import Ledger

        if currency is not None or order is not None:
            named(Gdp.name if currency is None else currency, order)
        if cap is not None:
            Ledger(cap)
        store, declared = open_store(path, dataset, part)
        given = (cap, currency, order)
        found = (declared.cap, declared.currency, declared.order)
        if any(mine is not None and mine != theirs for mine, theirs in zip(given, found, strict=True)):
            raise LedgerError(
                f"data set {dataset!r} was declared with {declared.cap!r}, currency={declared.currency!r}, "
                f"order={declared.order}, which is fixed for good. Open it without cap, currency and order."
            )
        return Ledger(
            declared.cap, currency=declared.currency, order=declared.order, unit=declared.unit, store=store
        )

    def verify(self, anchor: Anchor | None = None) -> Statement:
        """Read the whole file again and check every seal and total; see `statement.verify`."""
        from sottovoce.accounting.disk.statement import verify

        if self._store.address is None:
            raise LedgerError(
                "an in-memory ledger has no file to verify. Use Ledger.create(path, dataset=..., cap=...)."
            )
        return verify(self._store.address[0], anchor)
