"""The first line of a CSV file: names of columns, or a record that must not be taken for them."""

from __future__ import annotations

import math
import re

from sottovoce.data.cell import spelled, spells_missing
from sottovoce.errors import ParameterError

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


def checked_delimiter(delimiter: str) -> str:
    """One character; a tab also as the two characters that a command line passes on."""
    plain = "\t" if delimiter == "\\t" else delimiter
    if not isinstance(plain, str) or len(plain) != 1 or not plain.isascii() or plain in '"\r\n\0':
        raise ParameterError(r'delimiter must be one character, such as "," or ";", or \t for a tab.')
    return plain
