"""Options from a file and from the environment, for those that the command line does not give.

`SOTTOVOCE_FIT_EPSILON=1` is `fit --epsilon 1`; the file that SOTTOVOCE_CONFIG names has a table a command,
`[fit]` with `epsilon = 1`, and one a command of a group, `[ledger.create]`. The command line comes before the
environment, and that before the file. A name that is none of a command's options is refused: a misspelt
budget must not be passed over."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Any

from sottovoce.errors import ParameterError, meant

PREFIX = "SOTTOVOCE_"
FILE = "SOTTOVOCE_CONFIG"


def defaults(command: Any, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What click calls a default map: values by command and parameter."""
    return _merged(_from_file(command, environment.get(FILE, "")), _from_environment(command, environment))


def _from_environment(command: Any, environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, part in _commands(command):
        start = PREFIX + "".join(f"{_variable(name)}_" for name in path)
        names = {_variable(name): parameter for name, parameter in _options(part).items()}
        for variable, value in environment.items():
            if not path or not variable.startswith(start):
                continue
            name = variable.removeprefix(start)
            if any(name.startswith(f"{_variable(inner)}_") for inner in getattr(part, "commands", {})):
                continue
            if name not in names:
                raise ParameterError(f"{variable} is no option of {' '.join(path)}.{meant(name, names)}")
            _put(found, path, names[name], value)
    return found


def _from_file(command: Any, place: str) -> dict[str, Any]:
    if not place:
        return {}
    try:
        with open(place, "rb") as stream:
            raw = tomllib.load(stream)
    except OSError:
        raise ParameterError(f"{FILE} names {place}, which cannot be read.") from None
    except tomllib.TOMLDecodeError:
        raise ParameterError(f"{place}, which {FILE} names, is not TOML.") from None
    found: dict[str, Any] = {}
    known = dict(_commands(command))
    for path, table in _tables(raw, known, place):
        names = _options(known[path])
        for name, value in table.items():
            if name not in names:
                raise ParameterError(
                    f"{place} sets {name!r}, which is no option of {' '.join(path)}.{meant(name, names)}"
                )
            _put(found, path, names[name], value)
    return found


def _tables(
    raw: Mapping[str, Any], known: Mapping[tuple[str, ...], Any], place: str
) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Tables of the commands that are loaded; those of others are theirs to check."""
    from sottovoce.cli import COMMANDS

    found: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    for name, table in raw.items():
        if name not in COMMANDS or not isinstance(table, dict):
            raise ParameterError(f"{place} has {name!r}, which is no command with a table of options.")
        if (name,) not in known:
            continue
        inner = {key: value for key, value in table.items() if (name, key) in known}
        found.append(((name,), {key: value for key, value in table.items() if key not in inner}))
        found += [((name, key), value) for key, value in inner.items()]
    return found


def _commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", {}).items()
    return [(path, command), *(pair for name, part in inner for pair in _commands(part, (*path, name)))]


def _options(command: Any) -> dict[str, str]:
    """Names on the command line, without dashes, and those of parameters."""
    return {
        flag.removeprefix("--"): parameter.name
        for parameter in command.params
        if parameter.param_type_name == "option"
        for flag in parameter.opts
        if flag.startswith("--")
    }


def _variable(name: str) -> str:
    return name.replace("-", "_").upper()


def _put(found: dict[str, Any], path: tuple[str, ...], name: str, value: Any) -> None:
    for step in path:
        found = found.setdefault(step, {})
    found[name] = value


def _merged(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    both = {
        name: _merged(low[name], high[name])
        for name in low.keys() & high.keys()
        if isinstance(low[name], dict) and isinstance(high[name], dict)
    }
    return {**low, **high, **both}
