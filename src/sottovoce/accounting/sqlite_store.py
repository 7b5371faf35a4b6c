"""A store in a ledger file: charges that outlive the process and are seen by every other."""

from __future__ import annotations

import os
from typing import final

from sottovoce.accounting.chain import Account, Chain
from sottovoce.accounting.entries import Declaration, Kind, read_grant, write_declaration, write_grant
from sottovoce.accounting.ledger_file import LedgerFile
from sottovoce.accounting.store import Grant, Totals
from sottovoce.errors import LedgerError, ParameterError

LONGEST_NAME = 200


@final
class SqliteStore:
    """One data set of a ledger file. Check and addition are one transaction, durable before it returns."""

    __slots__ = ("_dataset", "_file", "_identity")

    def __init__(self, file: LedgerFile, dataset: str, identity: str) -> None:
        self._file = file
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
    def head(self) -> str:
        with self._file.reading() as transaction:
            return transaction.chain.head

    def append(self, grant: Grant, cap: Totals) -> Totals | None:
        with self._file.writing() as transaction:
            spent = self._account(transaction.chain).spent
            if not spent.plus(grant).within(cap):
                return spent
            transaction.append(self._dataset, Kind.CHARGED, write_grant(grant), grant.id)
        return None

    def totals(self) -> Totals:
        with self._file.reading() as transaction:
            return self._account(transaction.chain).spent

    def history(self) -> tuple[Grant, ...]:
        with self._file.reading() as transaction:
            return tuple(
                read_grant(entry)
                for entry, _ in transaction.entries()
                if entry.kind == Kind.CHARGED and entry.dataset == self._dataset
            )

    def _account(self, chain: Chain) -> Account:
        account = chain.accounts.get(self._dataset)
        if account is None or account.identity != self._identity:
            raise LedgerError(
                f"the ledger at {self._file.path} is no longer the one that was opened. "
                "Nothing was released. Open it again and check it with verify(path, anchor=result)."
            )
        return account


def open_store(
    path: str | os.PathLike[str], dataset: str, wanted: Declaration | None
) -> tuple[SqliteStore, Declaration]:
    """The data set at this path and what is declared of it; declared now, as `wanted`, if it is new."""
    if not isinstance(dataset, str) or not 0 < len(dataset) <= LONGEST_NAME or not dataset.isprintable():
        raise ParameterError(
            f"dataset must be a name of 1 to {LONGEST_NAME} printable characters, such as 'claims-2026'."
        )
    file = LedgerFile(path)
    if not file.exists():
        if wanted is None:
            raise LedgerError(
                f"there is no ledger at {file.path}. Pass cap=Budget(epsilon=..., delta=...) to create one."
            )
        file.create()
    with file.reading() as transaction:
        account = transaction.chain.accounts.get(dataset)
    if account is None:
        if wanted is None:
            known = ", ".join(map(repr, transaction.chain.accounts)) or "none"
            raise LedgerError(
                f"the ledger at {file.path} has no data set {dataset!r} (it has: {known}). "
                "Pass cap=Budget(epsilon=..., delta=...) to declare it."
            )
        account = _declare(file, dataset, wanted)
    return SqliteStore(file, dataset, account.identity), account.declared


def _declare(file: LedgerFile, dataset: str, wanted: Declaration) -> Account:
    """The account, declared by us or by a rival who was faster."""
    with file.writing() as transaction:
        if dataset not in transaction.chain.accounts:
            transaction.append(dataset, Kind.DECLARED, write_declaration(wanted))
        return transaction.chain.accounts[dataset]
