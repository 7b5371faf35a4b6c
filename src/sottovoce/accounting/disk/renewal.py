"""Budgets over time and over teams: an account that follows another, and parts of one."""

from __future__ import annotations

import os
from dataclasses import replace
from types import MappingProxyType

from sottovoce.accounting.allowance import Allowance
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import writable
from sottovoce.accounting.currency import named
from sottovoce.accounting.disk.entries import Allotment, Declaration, EntryKind, write_allotment
from sottovoce.accounting.disk.ledger_file import LedgerFile
from sottovoce.accounting.disk.opening import day_of
from sottovoce.accounting.disk.sqlite_store import create_store, open_store
from sottovoce.accounting.ledger import Ledger
from sottovoce.errors import BudgetExceeded, ParameterError


def renew(
    path: str | os.PathLike[str],
    *,
    dataset: str,
    following: str,
    cap: Budget | None = None,
    expires: str = "",
) -> Ledger:
    """A new account for new records, which says whose it follows: `dataset` follows `following`.

    Currency, relation, unit and approval are the old one's, and so is the cap unless another is given. Both
    caps hold for whoever is in one of them; who is in both can lose both, and the statement says how much."""
    known, old = open_store(path, following)
    chosen = old.cap if cap is None else cap
    if chosen.relation is not old.cap.relation:
        raise ParameterError(
            f"the account counts under {old.cap.relation.value!r}, and what follows it does so too."
        )
    until = day_of(expires)
    fresh = Ledger(chosen, currency=old.currency, order=old.order, unit=old.unit)
    declared = Declaration(chosen, old.currency, old.order, old.unit, known.address[1], until, old.approval)
    store = create_store(path, dataset, declared)
    return Ledger(fresh.cap, currency=old.currency, order=old.order, unit=old.unit, store=store)


def allot(path: str | os.PathLike[str], *, dataset: str, part: str, budget: Budget) -> None:
    """Keep a part of an account's cap for a team or a purpose, or change what it has.

    Runs on `Ledger.open(..., part=...)` stay within it, and others leave it what it has not used. Refused
    where the cap does not hold it beside all that is spent, reserved and allotted."""
    writable("part", part)
    if not part.strip() or not isinstance(budget, Budget):
        raise ParameterError("a part has a name and a budget: allot(..., part='risk team', budget=...).")
    store, declared = open_store(path, dataset)
    name = store.address[1]
    if budget.relation is not declared.cap.relation:
        raise ParameterError(
            f"the account counts under {declared.cap.relation.value!r}, and so do its parts."
        )
    currency = named(declared.currency, declared.order)
    cap, asked = (Allowance.of(one, currency).cap for one in (declared.cap, budget))
    file = LedgerFile(path)
    with file.writing() as transaction:
        account = transaction.chain.accounts[name]
        made = Allotment(part, budget.epsilon, budget.delta, asked)
        tried = replace(account, parts=MappingProxyType({**account.parts, part: made}))
        if not account.used(part).within(asked) or not tried.taken("", "", cap).within(cap):
            raise BudgetExceeded(
                f"the cap of {name!r} does not hold epsilon={budget.epsilon:g} for {part!r} beside what is "
                "spent, reserved and allotted. Nothing was changed. Allot less."
            )
        transaction.append(name, EntryKind.ALLOTTED, write_allotment(made))
