"""A store in a ledger file: charges that outlive the process and are seen by every other."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import final

from sottovoce.accounting.currency import Units
from sottovoce.accounting.disk.approval import approver, is_above
from sottovoce.accounting.disk.entries import (
    Account,
    Chain,
    Declaration,
    End,
    EntryKind,
    Request,
    Reservation,
    read_grant,
    write_declaration,
    write_end,
    write_grant,
    write_request,
    write_reservation,
)
from sottovoce.accounting.disk.identity import dataset_name, known_as
from sottovoce.accounting.disk.journal import journal_of
from sottovoce.accounting.disk.ledger_file import LedgerFile, Transaction
from sottovoce.accounting.store import Grant, Held, Named, Totals, given_up
from sottovoce.errors import BudgetExceeded, LedgerError

LAPSED = "its process was gone"


@final
class SqliteStore:
    """One data set of a ledger file. Check and addition are one transaction, durable before it returns."""

    __slots__ = ("_dataset", "_file", "_identity", "_part")

    def __init__(self, file: LedgerFile, dataset: str, identity: str, part: str = "") -> None:
        self._file = file
        self._part = part
        self._dataset = dataset
        self._identity = identity

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def persistent(self) -> bool:
        return True

    @property
    def address(self) -> tuple[str, str]:
        return self._file.path, self._dataset

    @property
    def part(self) -> str:
        return self._part

    @property
    def head(self) -> str:
        with self._file.reading() as transaction:
            return transaction.chain.head

    def append(self, grant: Grant, cap: Totals) -> Totals | None:
        grant = replace(grant, part=self._part)
        with self._file.writing() as transaction:
            self._require_current(transaction)
            if self._in_the_way(transaction, grant, cap) is not None:
                self._lapse(transaction)
            before = self._in_the_way(transaction, grant, cap)
            if before is not None:
                return before
            transaction.append(self._dataset, EntryKind.CHARGED, write_grant(grant), grant.id)
        return None

    def reserve(
        self, run: str, name: str, wanted: Totals, cap: Totals, whole: Named | None = None
    ) -> Totals | None:
        with self._file.writing() as transaction:
            self._require_current(transaction)
            self._lapse(transaction)
            account = self._account(transaction.chain)
            held = given_up(account.held, whole, wanted)
            before = replace(account, held=held).taken(run, self._part, cap)
            if not before.with_all([wanted]).within(cap):
                return before
            made = [Reservation(run, name, wanted, self._part)]
            if whole is not None and whole.run in held:
                made.insert(0, Reservation(*whole, held[whole.run], self._part))
            for reservation in made:
                transaction.append(self._dataset, EntryKind.RESERVED, write_reservation(reservation))
        return None

    def waits(self, run: str, units: Units) -> bool:
        with self._file.reading() as transaction:
            account = self._account(transaction.chain)
        return is_above(account.declared, units) and approver(account, run) is None

    def ask(self, run: Named, epsilon: float, delta: float, journal: str) -> None:
        request = Request(run.run, run.name, epsilon, delta, self._part, journal)
        with self._file.writing() as transaction:
            self._require_current(transaction)
            if run.run not in self._account(transaction.chain).asked:
                transaction.append(self._dataset, EntryKind.ASKED, write_request(request))

    def end(self, run: str, how: str, journal: str = "") -> None:
        with self._file.writing() as transaction:
            if run in self._account(transaction.chain).held:
                transaction.append(self._dataset, EntryKind.ENDED, write_end(End(run, how, journal)))

    def sealed(self, run: str) -> str:
        with self._file.reading() as transaction:
            return self._account(transaction.chain).sealed.get(run, "")

    def _in_the_way(self, transaction: Transaction, grant: Grant, cap: Totals) -> Totals | None:
        """What is taken, where the grant does not fit beside it."""
        before = self._account(transaction.chain).taken(grant.run_id, self._part, cap)
        return None if before.plus(grant).within(cap) else before

    def _require_current(self, transaction: Transaction) -> None:
        until = self._account(transaction.chain).declared.expires
        if until and datetime.now(UTC).date().isoformat() > until:
            raise BudgetExceeded(
                f"the account {self._dataset!r} expired on {until}. Nothing was charged. Renew it for new "
                "records: sottovoce ledger renew."
            )

    def _lapse(self, transaction: Transaction) -> None:
        """Give free what processes reserved that are gone: none of them holds its journal any more."""
        for run in self._account(transaction.chain).held:
            if not journal_of(self._file.path, run).is_held:
                transaction.append(self._dataset, EntryKind.ENDED, write_end(End(run, LAPSED)))

    def totals(self) -> Totals:
        with self._file.reading() as transaction:
            return self._account(transaction.chain).spent

    def held(self) -> Held:
        with self._file.reading() as transaction:
            return self._account(transaction.chain).held

    def taken(self, run: str, cap: Totals) -> Totals:
        with self._file.reading() as transaction:
            return self._account(transaction.chain).taken(run, self._part, cap)

    def history(self) -> tuple[Grant, ...]:
        with self._file.reading() as transaction:
            return tuple(
                read_grant(entry)
                for entry, _ in transaction.entries()
                if entry.kind == EntryKind.CHARGED and entry.dataset == self._dataset
            )

    def _account(self, chain: Chain) -> Account:
        account = chain.accounts.get(self._dataset)
        if account is None or account.identity != self._identity:
            raise LedgerError(
                f"the ledger at {self._file.path} is no longer the one that was opened. "
                "Nothing was released. Open it again and check it with verify(path, anchor=result)."
            )
        return account


def open_store(path: str | os.PathLike[str], dataset: str, part: str = "") -> tuple[SqliteStore, Declaration]:
    """The data set at this path and what is declared of it. Creates nothing."""
    name, file = dataset_name(dataset), LedgerFile(path)
    if not file.exists():
        raise LedgerError(
            f"there is no ledger at {file.path}. Nothing was created. Name the right file, or make a new "
            "account with Ledger.create(path, dataset=..., cap=Budget(epsilon=..., delta=...))."
        )
    with file.reading() as transaction:
        accounts = transaction.chain.accounts
    known = known_as(name, accounts)
    if known is None:
        listed = ", ".join(map(repr, accounts)) or "none"
        raise LedgerError(
            f"the ledger at {file.path} has no data set {name!r} (it has: {listed}). Nothing was created. "
            "Declare a new one with Ledger.create(path, dataset=..., cap=Budget(epsilon=..., delta=...))."
        )
    account = accounts[known]
    if part and part not in account.parts:
        listed = ", ".join(map(repr, account.parts)) or "none"
        raise LedgerError(
            f"data set {known!r} has no part {part!r} (it has: {listed}). Nothing was charged. Allot it one: "
            "sottovoce ledger allot."
        )
    return SqliteStore(file, known, account.identity, part), account.declared


def create_store(path: str | os.PathLike[str], dataset: str, declared: Declaration) -> SqliteStore:
    """A new data set at this path, in a new file or in one that is there; an old one is refused."""
    name, file = dataset_name(dataset), LedgerFile(path)
    if not file.exists():
        file.create()
    with file.writing() as transaction:
        known = known_as(name, transaction.chain.accounts)
        if known is not None:
            raise LedgerError(
                f"data set {known!r} is in {file.path} already, and its cap is fixed for good. Open it with "
                "Ledger.open(path, dataset=...); look at it with sottovoce ledger show."
            )
        transaction.append(name, EntryKind.DECLARED, write_declaration(declared))
        account = transaction.chain.accounts[name]
    return SqliteStore(file, name, account.identity)
