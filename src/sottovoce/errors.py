"""Exceptions, each of which says what to do next and none of which quotes data.

SottovoceError
├── DataError          the records break a declared bound or shape (also ValueError)
├── ParameterError     an argument is outside its domain (also ValueError)
├── ClusterError       the workers that hold the records cannot answer; nothing was released
├── ResourceError      the machine leaves too little memory or threads; nothing was charged
├── BudgetExceeded     a query would cost more privacy than is left; nothing was released
└── LedgerError        the ledger cannot be read, written, copied or trusted
    ├── UnsupportedEvent   the ledger's currency has no price for this event
    └── ApprovalNeeded     a run waits until someone who may has approved it; nothing was charged

PrivacyWarning, a UserWarning: something around a fit weakens its guarantee.
AccuracyWarning, a UserWarning: public numbers say that what is paid for will tell little.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Advice(NamedTuple):
    """An argument to pass, as a message spells it: `name="value"`, or as `spelled` says."""

    argument: str
    value: str
    spelled: str = ""

    @property
    def python(self) -> str:
        return self.spelled or f'{self.argument}="{self.value}"'


BLANK = Advice("invalid", "zero")
TIGHT = Advice("calibration", "tight")
MAJORIZE = Advice("method", "majorize")


class SottovoceError(Exception):
    """Base of every error this library raises on purpose.

    `argument` names the argument that is outside its domain, where there is one; `advice` are arguments that
    the message tells to pass. Another front can so say both in its own words."""

    def __init__(self, message: str = "", *, argument: str = "", advice: tuple[Advice, ...] = ()) -> None:
        super().__init__(message)
        self.argument = argument
        self.advice = advice


class DataError(SottovoceError, ValueError):
    """The records break a declared bound, type or shape. Never quotes a value or a row."""


class ParameterError(SottovoceError, ValueError):
    """An argument is outside its domain. Names the argument, the rule and the way out."""


class ClusterError(SottovoceError):
    """The workers that hold the records cannot answer. Nothing was released; charges stay charged."""


class ResourceError(SottovoceError):
    """The machine leaves too little memory, too few threads or no room on disk for what was asked."""


class BudgetExceeded(SottovoceError):
    """The next query would exceed the privacy budget. Nothing was computed or released."""


class LedgerError(SottovoceError):
    """The ledger cannot be read, written, copied or trusted; it fails closed."""


class UnsupportedEvent(LedgerError):
    """The ledger's currency has no valid price for this event."""


class ApprovalNeeded(LedgerError):
    """A run is larger than its account lets one be that nobody approved. Nothing was charged; it waits."""


class PrivacyWarning(UserWarning):
    """Something that the library can see, but not prevent, weakens a stated guarantee."""


class AccuracyWarning(UserWarning):
    """Public numbers lead to expect that what is about to be paid for will tell little."""


def meant(name: str, known: Iterable[str]) -> str:
    """For a message: which of the public names may have been meant; empty where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1, 0.6)
    return f" Did you mean {near[0]!r}?" if near else ""
