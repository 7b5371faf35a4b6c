"""What a ledger file says, read from its first entry to its last and believed only while every seal fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import final

from sottovoce.accounting.entries import (
    Declaration,
    Entry,
    EntryKind,
    Home,
    read_declaration,
    read_grant,
    read_home,
)
from sottovoce.accounting.store import Totals
from sottovoce.errors import LedgerError


@final
@dataclass(frozen=True)
class Account:
    """One data set: its identity, what was declared, and the sum of all its charges."""

    identity: str
    declared: Declaration
    spent: Totals


@final
@dataclass(frozen=True)
class Chain:
    """Everything known after `number` entries, the last of them sealed by `head`."""

    number: int = 0
    head: str = ""
    home: Home | None = None
    accounts: Mapping[str, Account] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, rows: Iterable[tuple[Entry, str]]) -> Chain:
        """This chain and the entries that follow it, or LedgerError at the first that does not fit."""
        chain = self
        for entry, seal in rows:
            chain = chain._followed_by(entry, seal)
        return chain

    def _followed_by(self, entry: Entry, seal: str) -> Chain:
        if entry.number != self.number + 1 or seal != entry.seal(self.head):
            raise broken(f"entry {self.number + 1} is missing or was changed")
        if (entry.kind == EntryKind.FOUNDED) != (entry.number == 1):
            raise broken(f"entry {entry.number} stands where it may not")
        step = replace(self, number=entry.number, head=seal)
        match entry.kind:
            case EntryKind.FOUNDED | EntryKind.MOVED:
                return replace(step, home=read_home(entry))
            case EntryKind.DECLARED:
                return step.with_account(entry.dataset, self._declared(entry))
            case EntryKind.CHARGED:
                return step.with_account(entry.dataset, self._charged(entry))
            case _:
                raise broken(f"entry {entry.number} is of an unknown kind")

    def _declared(self, entry: Entry) -> Account:
        if entry.dataset in self.accounts:
            raise broken(f"entry {entry.number} declares a data set twice")
        return Account(entry.id, read_declaration(entry), Totals(0, 0))

    def _charged(self, entry: Entry) -> Account:
        account = self.accounts.get(entry.dataset)
        if account is None:
            raise broken(f"entry {entry.number} charges a data set that was never declared")
        return replace(account, spent=account.spent.plus(read_grant(entry)))

    def with_account(self, dataset: str, account: Account) -> Chain:
        return replace(self, accounts=MappingProxyType({**self.accounts, dataset: account}))


def broken(what: str) -> LedgerError:
    return LedgerError(
        f"the ledger's chain is broken: {what}. Nothing was released. Restore the file from a backup and "
        "check it against your latest result with verify(path, anchor=result)."
    )
