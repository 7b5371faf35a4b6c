"""A table as declared in TOML, JSON or Python, without looking at its rows."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from sottovoce.data.cell import Label
from sottovoce.data.columns import Categorical, Column, Numeric, Target, check_name
from sottovoce.errors import ParameterError

__all__ = ["Categorical", "Numeric", "Schema", "Target"]

_UNFILLED = "?"


@final
@dataclass(frozen=True)
class Schema:
    """Columns in the order of the encoded features, and what to predict from them.

    Public by declaration: it must come from what is known without the data, never from its minima, maxima or
    distinct values."""

    columns: tuple[Column, ...]
    target: Target | None = None

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        if not columns or not all(isinstance(column, Numeric | Categorical) for column in columns):
            raise ParameterError("a schema needs one or more columns, each Numeric(...) or Categorical(...).")
        if self.target is not None and not isinstance(self.target, Target):
            raise ParameterError(
                'target must be Target("name", classes=(...)) or Target("name", low=, high=).'
            )
        names = [column.name for column in columns] + ([self.target.name] if self.target else [])
        for name in names:
            if names.count(name) > 1:
                raise ParameterError(
                    f"{name!r} is declared twice. A column is either a feature or the target, once."
                )
        object.__setattr__(self, "columns", columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the feature columns."""
        return tuple(column.name for column in self.columns)

    def labels_of(self, name: str) -> tuple[Label, ...] | None:
        """Declared categories or classes of a column; None where it is declared a number."""
        if self.target is not None and self.target.name == name:
            return self.target.classes
        named = [column for column in self.columns if column.name == name]
        return named[0].categories if named and isinstance(named[0], Categorical) else None

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration, in hexadecimal: names this schema in models and reports."""
        text = json.dumps(self.to_dict(), sort_keys=False, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, in the shape of the TOML and JSON files."""
        raw: dict[str, Any] = {"columns": {column.name: column.to_dict() for column in self.columns}}
        if self.target is not None:
            raw["target"] = self.target.to_dict()
        return raw

    @classmethod
    def from_dict(cls, raw: object) -> Schema:
        """The schema of `to_dict`, or ParameterError that names what is missing."""
        table = _table(raw, "a schema", None)
        if not set(table) <= {"columns", "target"}:
            raise ParameterError("a schema: a key is unknown; use columns and target. Is this another file?")
        columns = _table(table.get("columns"), "[columns]", None)
        target = table.get("target")
        return cls(
            columns=tuple(_column(name, part) for name, part in columns.items()),
            target=None if target is None else _target(target),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a .toml or .json file."""
        where = Path(path)
        raw, refusal = _parsed(where)
        if refusal:  # raised here, where the parser's own, which holds the file, is forgotten
            raise ParameterError(refusal)
        return cls.from_dict(raw)

    def to_toml(self) -> str:
        """The declaration as TOML, which `load` reads back to an equal schema."""
        parts = [f"[columns.{_quoted(column.name)}]\n{_lines(column.to_dict())}" for column in self.columns]
        if self.target is not None:
            parts.append(f"[target]\n{_lines(self.target.to_dict())}")
        return "\n".join(parts)

    @staticmethod
    def template(names: Iterable[str]) -> str:
        """TOML with types and bounds left to fill in, from column names alone."""
        listed = tuple(names)
        if not listed or len(set(listed)) < len(listed):
            raise ParameterError("column names must be one or more, all distinct.")
        for name in listed:
            check_name(name)
        return _HEADER + "\n".join(_ENTRY.format(name=_quoted(name)) for name in listed) + _FOOTER


_HEADER = """\
# Written from column names alone: no row was read. Replace every "?" by what is known without the data
# (units, codebooks, physical limits), never by its minima, maxima or distinct values.
# Delete the columns that are not to be used, and the target from among them. If a name is a value of some
# record, the data has no header line: delete this file and write the names into the data's first line.

"""
_ENTRY = """\
[columns.{name}]
type = "?"  # "numeric" or "categorical"
# low = 0  # numeric: values outside are clipped
# high = 100
# categories = ["a", "b"]  # categorical: any other value counts as none
"""
_FOOTER = """
[target]
column = "?"  # the column to predict
# classes = ["no", "yes"]  # classification
# low = 0  # regression: targets outside are clipped
# high = 100
"""


def _parsed(where: Path) -> tuple[Any, str]:
    """Values of a TOML or JSON file, or why there are none: by line and column, without its words."""
    try:
        text = where.read_text(encoding="utf-8")
        return (json.loads(text) if where.suffix.lower() == ".json" else tomllib.loads(text)), ""
    except FileNotFoundError:
        return None, f"there is no schema at {where}. Schema.template(names) writes one to fill in."
    except OSError:
        return None, f"the schema {where} cannot be read."
    except (ValueError, RecursionError) as error:
        place = re.search(r"line \d+,? column \d+", str(error))
        return None, f"{where} is not valid TOML or JSON{f', see {place[0]}' if place else ''}."


def _column(name: str, raw: object) -> Column:
    where = f"column {name!r}"
    match _table(raw, where, None).get("type"):
        case "numeric":
            part = _table(raw, where, ("type", "low", "high"))
            return Numeric(name, *(_required(part, key, where) for key in ("low", "high")))
        case "categorical":
            part = _table(raw, where, ("type", "categories"))
            return Categorical(name, _required(part, "categories", where))
        case _:
            raise ParameterError(f'{where}: write type = "numeric" or type = "categorical".')


def _target(raw: object) -> Target:
    part = _table(raw, "[target]", ("column", "classes", "low", "high"))
    name = _required(part, "column", "[target]")
    if name == _UNFILLED and len(part) == 1:
        raise ParameterError("[target]: write the name of the column to predict, or delete the section.")
    return Target(name, part.get("classes"), part.get("low"), part.get("high"))


def _table(raw: object, where: str, known: tuple[str, ...] | None) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise ParameterError(f"{where} must be a table of names and values; Schema.template shows one.")
    for key in raw:
        if known is not None and key not in known:
            raise ParameterError(f"{where}: {key!r} is unknown; use {', '.join(known)}.")
    return raw


def _required(part: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in part:
        raise ParameterError(f"{where}: {key} is missing. Declare it from what is known without the data.")
    return part[key]


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's, but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(part: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in part.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)
