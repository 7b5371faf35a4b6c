"""A declaration as TOML and JSON files hold it, key by key."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from sottovoce.data.columns import Categorical, Column, Target
from sottovoce.data.dates import DatePart
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.data.survival import HAPPENED, Survival
from sottovoce.data.template import quoted
from sottovoce.errors import ParameterError, meant

_UNFILLED = "?"
_KINDS: dict[str, tuple[type[Column], tuple[str, ...]]] = {
    "numeric": (Numeric, ("low", "high")),
    "categorical": (Categorical, ("categories",)),
    "binned": (Binned, ("edges",)),
    "spline": (Spline, ("low", "high", "knots")),
    "date": (DatePart, ("part",)),
}
"""Types as a file names them, and what each must declare; what it may declare are its other fields."""


def parsed(where: Path) -> tuple[Any, str]:
    """Values of a TOML or JSON file, or why there are none: by line and column, without its words."""
    try:
        text = where.read_text(encoding="utf-8")
        if where.suffix.lower() == ".json":
            return json.loads(text, object_pairs_hook=_once), ""
        return tomllib.loads(text), ""
    except FileNotFoundError:
        return None, f"there is no schema at {where}. Schema.template(names) writes one to fill in."
    except OSError:
        return None, f"the schema {where} cannot be read."
    except (ValueError, RecursionError) as error:
        place = re.search(r"line \d+,? column \d+", str(error))
        return None, f"{where} is not valid TOML or JSON{f', see {place[0]}' if place else ''}."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, as TOML has it: no key twice, of which the last would win in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def column_of(name: str, raw: object) -> Column:
    where = f"column {name!r}"
    kind = table_of(raw, where, None).get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ParameterError(f'{where}: write type = "numeric", "categorical", "binned", "spline" or "date".')
    made, required = _KINDS[kind]
    allowed = tuple(part.name for part in fields(made) if part.name != "name")
    part = table_of(raw, where, ("type", *allowed))
    needed = [_required(part, key, where) for key in required]
    return made(name, *needed, **{key: part[key] for key in part if key != "type" and key not in required})


def target_of(raw: object) -> Target:
    if isinstance(raw, Mapping) and raw.get("type") == "survival":
        return _survival_of(raw)
    exposed = ("exposure", "exposure_low", "exposure_high")
    known = ("column", "type", "classes", "low", "high", "class_weight", "typical", *exposed)
    part = table_of(raw, "[target]", known)
    name = _required(part, "column", "[target]")
    if name == _UNFILLED and len(part) == 1:
        raise ParameterError("[target]: write the name of the column to predict, or delete the section.")
    if part.get("type", "count") != "count":
        raise ParameterError(
            '[target]: type may be "count", "survival" or left out: classes, or low and high, say the rest.'
        )
    bounds = (part.get(key) for key in ("classes", "low", "high"))
    chosen = {key: part[key] for key in ("class_weight", "typical", *exposed) if key in part}
    return Target(name, *bounds, **chosen, count="type" in part)


def _survival_of(raw: object) -> Target:
    where = "[target]"
    part = table_of(raw, where, ("event", "type", "time", "entry", "grid", "link", "classes", "typical"))
    event, time, grid = (_required(part, key, where) for key in ("event", "time", "grid"))
    chosen = {key: part[key] for key in ("entry", "link") if key in part}
    for name in (time, part.get("entry", time)):
        if not isinstance(name, str) or not name:
            raise ParameterError(f"{where}: time and entry must name columns.")
    if "classes" in part:
        chosen["events"] = part["classes"]
    return Target(event, HAPPENED, typical=part.get("typical"), survival=Survival(time, grid, **chosen))


def table_of(raw: object, where: str, known: tuple[str, ...] | None) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise ParameterError(
            f"{where} must be a table of names and values; Schema.template shows one.", argument=where
        )
    for key in raw:
        if known is not None and key not in known:
            raise ParameterError(
                f"{where}: {key!r} is unknown.{meant(str(key), known)} Use {', '.join(known)}."
            )
    return raw


def _required(part: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in part:
        raise ParameterError(f"{where}: {key} is missing. Declare it from what is known without the data.")
    return part[key]


def lines_of(part: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in part.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)
