"""The name of a data set: two spellings that people take for one must not open two accounts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from sottovoce.errors import ParameterError

LONGEST_NAME = 200


def dataset_name(given: object) -> str:
    """The name as it is kept: Unicode NFC, outer blanks removed, inner ones a single space each."""
    printable = isinstance(given, str) and given.isprintable()
    name = " ".join(unicodedata.normalize("NFC", str(given)).split()) if printable else ""
    if not 0 < len(name) <= LONGEST_NAME:
        raise ParameterError(
            f"dataset must be a name of 1 to {LONGEST_NAME} printable characters, such as 'claims-2026'."
        )
    return name


def known_as(name: str, known: Iterable[str]) -> str | None:
    """Which of the known names means the same data set: case does not tell two apart."""
    spelled = list(known)
    if name in spelled:
        return name
    return next((other for other in spelled if _folded(other) == _folded(name)), None)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", dataset_name(name).casefold())
