"""Approval: a run above an account's limit waits until someone who has a key has signed it.

It is a rule of the house, not a part of the guarantee: the cap holds with it and without it. Who can write to
the ledger's file cannot make an approval; who can write a ledger of their own needs none."""

from __future__ import annotations

import os
from pathlib import Path

from sottovoce import openssh
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import positive, writable
from sottovoce.accounting.currency import Units, named
from sottovoce.accounting.disk.entries import (
    Account,
    Approval,
    Declaration,
    EntryKind,
    Request,
    Signed,
    write_signed,
)
from sottovoce.accounting.disk.ledger_file import LedgerFile
from sottovoce.errors import LedgerError, ParameterError

NAMESPACE = "sottovoce-approval"
"""What these signatures are for: one of a model file approves nothing."""


def approval(above: float, signers: str | os.PathLike[str]) -> Approval:
    """The rule of an account: runs above this epsilon need one of the signers in this file."""
    positive("above", above)
    try:
        lines = writable("signers", Path(signers).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"there is no file of signers at {signers} that can be read.") from None
    if not any(len(line.split()) >= 3 and not line.startswith("#") for line in lines.splitlines()):
        raise ParameterError(
            f"{signers} names no signer. Write a line for each, a name and a public key: "
            "officer@example.org ssh-ed25519 AAAA..."
        )
    return Approval(float(above), lines)


def is_above(declared: Declaration, units: Units) -> bool:
    """Whether a run that may spend so much is above what the account lets anyone run."""
    rule = declared.approval
    if rule is None:
        return False
    limit = Budget(rule.above, declared.cap.delta, declared.cap.relation)
    return units > named(declared.currency, declared.order).cap(limit)


def approver(account: Account, run: str) -> str | None:
    """Who approved the run as it was asked for; None where nobody did whom the account names."""
    rule, request, signature = account.declared.approval, account.asked.get(run), account.signed.get(run)
    if rule is None or request is None or signature is None:
        return None
    return openssh.signer_of(request.text(account.identity), signature, rule.signers, NAMESPACE)


def waiting(path: str | os.PathLike[str], start: str) -> tuple[str, Request]:
    """The data set and the request of the one run that waits and whose identity begins like this."""
    with LedgerFile(path).reading() as transaction:
        accounts = transaction.chain.accounts
    found = [
        (dataset, request)
        for dataset, account in accounts.items()
        for run, request in account.asked.items()
        if start and run.startswith(start) and run not in account.signed
    ]
    if len(found) != 1:
        several = "several runs that wait begin" if found else "no run that waits begins"
        raise LedgerError(
            f"{several} with this name in {path}. `sottovoce ledger show` lists them; give more of its "
            "letters."
        )
    return found[0]


def approve(path: str | os.PathLike[str], run: str, key: str | os.PathLike[str]) -> Request:
    """Sign a run that waits with a private key whose public one the account names; it may then go on."""
    dataset, request = waiting(path, run)
    file = LedgerFile(path)
    with file.reading() as transaction:
        account = transaction.chain.accounts[dataset]
    rule = account.declared.approval
    assert rule is not None
    text = request.text(account.identity)
    signature = openssh.signature_of(text, Path(key), NAMESPACE)
    if openssh.signer_of(text, signature, rule.signers, NAMESPACE) is None:
        raise LedgerError(
            f"the key {key} is of none of those who approve runs of {dataset!r}. Nothing was changed."
        )
    with file.writing() as transaction:
        transaction.append(dataset, EntryKind.APPROVED, write_signed(Signed(request.run, signature)))
    return request
