"""A schema to fill in, from the names of columns alone."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sottovoce.data.columns import check_name
from sottovoce.errors import ParameterError

_HEADER = """\
# Written from column names alone: no row was read. Replace every "?" by what is known without the data
# (units, codebooks, physical limits), never by its minima, maxima or distinct values.
# Delete the columns that are not to be used, and the target from among them. If a name is a value of some
# record, the data has no header line: delete this file and write the names into the data's first line.
# If people have several rows, name the column of their keys here, person = "?", and delete it below.
# More is declared above the columns: missing = ["?", 999], fold = true, interactions = [["age", "sex"]].

"""
_ENTRY = """\
[columns.{name}]
type = "?"  # "numeric" or "categorical"; also "binned", "spline" and "date"
# low = 0  # numeric: values outside are clipped
# high = 100
# categories = ["a", "b"]  # categorical: any other value counts as missing
# reference = "a"  # what coefficients of the others are compared with; the first unless said
"""
_FOOTER = """
[target]
column = "?"  # the column to predict
# classes = ["no", "yes"]  # classification
# low = 0  # regression: targets outside are clipped
# high = 100
# type = "count"  # with high alone: counts from 0 to high
"""


def template(names: Iterable[str]) -> str:
    """TOML with types and bounds left to fill in."""
    listed = tuple(names)
    if not listed or len(set(listed)) < len(listed):
        raise ParameterError("column names must be one or more, all distinct.")
    for name in listed:
        check_name(name)
    return _HEADER + "\n".join(_ENTRY.format(name=quoted(name)) for name in listed) + _FOOTER


def quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's, but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
