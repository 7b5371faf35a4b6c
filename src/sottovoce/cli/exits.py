"""How a command ends: its exit code, what signals do, and what is said of runs that were paid for."""

from __future__ import annotations

import signal
from enum import IntEnum
from types import FrameType
from typing import NoReturn

from sottovoce.errors import ApprovalNeeded, BudgetExceeded, SottovoceError


class ExitCode(IntEnum):
    """0 to 2 as everywhere; a signal ends with 128 and its number."""

    OK = 0
    FAILED = 1
    USAGE = 2
    BUDGET_REFUSED = 3
    USELESS = 4
    """`check` found a column that no model could use."""
    SHORT = 5
    """A model was written whose run ended short of its plan."""
    ELSEWHERE = 6
    """A result could not be written where it belongs, and is where the message says."""
    WAITS = 7
    """A run above its account's limit waits for `ledger approve`; nothing was charged."""


def code_of(error: SottovoceError) -> ExitCode:
    if isinstance(error, ApprovalNeeded):
        return ExitCode.WAITS
    return ExitCode.BUDGET_REFUSED if isinstance(error, BudgetExceeded) else ExitCode.FAILED


class Interrupted(BaseException):
    """SIGINT or SIGTERM. Nothing but `main` catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def code(self) -> int:
        return 128 + self.number


def raise_on_signals() -> None:
    """Runs end by leaving their contexts, which give free what they reserved."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Interrupted(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def standing() -> str:
    """What runs of this process were charged and how to go on with them; empty where none was charged."""
    from sottovoce.accounting.run import opened

    said = []
    for run in opened():
        if not run.units_spent:
            continue
        spent = f"{100.0 * run.units_spent / run.units_cap:.3g} % of its budget was charged"
        if run.journal is None:
            said.append(f"{spent}, and no ledger file keeps its answers: count all of it as spent.")
        else:
            said.append(
                f"{spent}. Go on with the same command and --resume {run.identity[:12]}; with fit, "
                "--no-further then makes the best model its answers allow."
            )
    return " ".join(dict.fromkeys(said))
