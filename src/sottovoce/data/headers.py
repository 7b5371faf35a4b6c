"""The first line of a CSV file: names of columns, or a record that must not be taken for them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sottovoce.data.cell import spelled, spells_missing
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema

_VALUES = re.compile(
    r"""[^a-z]*                                       # numbers, amounts, dates, times, marks
      | [<>=@].*                                      # ">50K"
      | yes | no
      | \d{1,4}[-/. ][a-z]{3,9}[-/. ]\d{1,4}.*        # 1-Jan-2020
      | \d{4}-\d\d?-\d\d?t.*                          # 2020-01-01T12:00Z
      | \S+@\S+\.\S+                                  # a mail address
      | (?=.*\d)[0-9a-f]{8}[0-9a-f-]{8,}              # an identifier in hexadecimal digits
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


def looks_like_value(name: str) -> bool:
    """Whether a name is rather a record's value: a number, date, truth value, missing one or address."""
    text = name.strip()
    if not text or spells_missing(text) or not math.isnan(spelled(text)):
        return True
    return text.isascii() and _VALUES.fullmatch(text) is not None


_PEOPLE = (
    "person|patient|subject|customer|client|member|user|employee|worker|student|pupil|participant|respondent|"
    "individual|citizen|household|policyholder|insured|tenant|donor|borrower|taxpayer"
)
_KEYS = "id|ids|key|no|nr|num|number|code|uid|uuid|guid|hash|pseudonym"
_PERSON = re.compile(rf"({_PEOPLE})s?([-_. ]?({_KEYS}))?|({_KEYS})[-_. ]({_PEOPLE})|ssn|mrn|nhs[-_. ]?number")


def persons_unnamed(schema: Schema, names: Iterable[Any]) -> str:
    """What to say, before anything is charged, of a column that seems to hold persons' keys and that the
    schema does not name; empty where there is none. Decided by the header, which is public."""
    declared = {*schema.read_columns}
    given = [name for name in names if isinstance(name, str)]
    if schema.person is not None or not declared <= {name.strip() for name in given} | set(given):
        return ""
    for name in given:
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()
        if name not in declared and _PERSON.fullmatch(spaced):
            return (
                f"the table has a column {name!r}, which the schema does not name: the promise is for single "
                "records, and someone with k of them is protected about k times less. If it holds people's "
                f"keys, declare person = {name!r}."
            )
    return ""


def checked_delimiter(delimiter: str) -> str:
    """One character; a tab also as the two characters that a command line passes on."""
    plain = "\t" if delimiter == "\\t" else delimiter
    if not isinstance(plain, str) or len(plain) != 1 or not plain.isascii() or plain in '"\r\n\0':
        raise ParameterError(
            r'delimiter must be one character, such as "," or ";", or \t for a tab.', argument="delimiter"
        )
    return plain


def checked_decimal(decimal: str) -> str:
    """A point, or a comma."""
    if decimal not in (".", ","):
        raise ParameterError(
            'decimal, the mark before the fraction of a number, must be "." or ",".', argument="decimal"
        )
    return decimal


def delimiter_meant(line: str, delimiter: str) -> str:
    """Which other character separates names in a header that has no delimiter; empty where none does."""
    for other in (";", "\t", "|", ","):
        names = [name.strip() for name in line.split(other)]
        if other != delimiter and delimiter not in line and len(names) > 1 and all(names):
            return other
    return ""
