"""What a model file and its report say about a run beyond its numbers: declared by whoever makes it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import final

from sottovoce.accounting.checks import writable


@final
@dataclass(frozen=True, kw_only=True)
class About:
    """What a run was made of and for.

    Args:
        dataset: The name of the table.
        purpose: What the model is for; goes into the ledger too.
        contact: Whom to ask.
    """

    dataset: str = ""
    purpose: str = ""
    contact: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            writable(field.name, getattr(self, field.name))
