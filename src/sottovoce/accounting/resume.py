"""Which run to go on with; how, `resuming` knows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import final

from sottovoce.errors import ParameterError


@final
@dataclass(frozen=True)
class Resume:
    """Which run to go on with, by the start of its identity, as `ledger show` lists it.

    `further=False`: charge and ask nothing more, and make the best model its answers allow."""

    run: str
    further: bool = True

    @classmethod
    def of(cls, given: str | Resume | None) -> Resume | None:
        if given is None or isinstance(given, Resume):
            return given
        if not isinstance(given, str) or not given:
            raise ParameterError(
                "resume must name a run, such as '3f9a', or be Resume(run, further=False).", argument="resume"
            )
        return cls(given)


def part_of(whole: str, place: int) -> str:
    """The identity of a run that is part of another, by its place among the parts."""
    return hashlib.sha256(f"{whole} {place}".encode("ascii")).hexdigest()[:32]
