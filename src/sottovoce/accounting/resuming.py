"""Going on with a run where it stopped: the same declarations, its charges and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sottovoce.accounting.resume import Resume
from sottovoce.accounting.run import Run
from sottovoce.errors import LedgerError

if TYPE_CHECKING:
    from sottovoce.accounting.budget import Budget
    from sottovoce.accounting.ledger import Ledger


def begun_before(ledger: Ledger, identity: str) -> Resume | None:
    """To go on with a part that was begun when its whole was interrupted."""
    from sottovoce.accounting.disk.journal import journal_of

    if ledger.address is None:
        return None
    journal = journal_of(ledger.address[0], identity)
    if journal.is_blank:
        journal.remove()
    return Resume(identity) if journal.exists else None


def journaled(ledger: Ledger, run: Run, declared: Mapping[str, str]) -> Run:
    """The run with a journal of its own beside the ledger's file."""
    from sottovoce.accounting.disk.journal import journal_of

    path, dataset = _address(ledger)
    journal = journal_of(path, run.identity)
    journal.begin(_header(ledger, run, dataset, declared))
    return Run(ledger, run.budget, run.name, journal=journal, identity=run.identity)


def resumed(ledger: Ledger, budget: Budget, name: str, declared: Mapping[str, str], resume: Resume) -> Run:
    """A run that was interrupted: what it was charged, and the answers it had, in their order.

    Refused where its journal is of another ledger, data set or declaration, or does not fit the charges:
    every answer must have been paid for, at most the last charge may lack its answer, and the ledger holds
    the seal of all answers before each charge, so that a journal from a backup is told."""
    from sottovoce.accounting.disk.journal import found, journal_of

    path, dataset = _address(ledger)
    identity = found(path, resume.run)
    journal = journal_of(path, identity)
    journal.resume()
    try:
        past = [grant for grant in ledger.history if grant.run_id == identity]
        run = Run(ledger, budget, name, journal=journal, identity=identity, past=past, further=resume.further)
        _require_same(journal.header, _header(ledger, run, dataset, declared))
        sealed = {ledger.sealed(identity), *(grant.journal for grant in past)} - {""}
        unpaid = journal.charges - {grant.id for grant in past}
        unanswered = [grant for grant in past if not journal.holds(grant.id)]
        if unpaid or unanswered not in ([], past[-1:]) or not sealed <= journal.seals:
            raise LedgerError(
                "the journal of this run does not fit the charges of the ledger. Nothing was released. Put "
                "back the journal and the ledger as they were together."
            )
    except BaseException:
        journal.close()
        raise
    return run


def _header(ledger: Ledger, run: Run, dataset: str, declared: Mapping[str, str]) -> dict[str, object]:
    budget = run.budget
    return {
        "run": run.identity,
        "name": run.name,
        "ledger": ledger.identity,
        "dataset": dataset,
        **({"part": ledger.part} if ledger.part else {}),
        "budget": [budget.epsilon, budget.delta, budget.relation.value],
        "declared": dict(declared),
    }


def _require_same(written: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Names of what differs are told: declarations are public."""
    before, after = dict(written), dict(now)
    before.pop("format", None)
    old, new = before.pop("declared", {}), after.pop("declared", {})
    pairs = [*_differing(before, after), *_differing(_facts(old), _facts(new))]
    if pairs:
        raise LedgerError(
            f"this run was begun with other declarations ({', '.join(pairs)}). Nothing was charged, nothing "
            "released. Repeat the command or call as it was, with the same data."
        )


def _facts(raw: object) -> dict[str, object]:
    return raw if isinstance(raw, dict) else {}


def _differing(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    return [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]


def _address(ledger: Ledger) -> tuple[str, str]:
    address = ledger.address
    if address is None:
        raise LedgerError(
            "only runs that were charged to a ledger file have a journal to go on from. Use "
            "Ledger.create(path, dataset=..., cap=...)."
        )
    return address
