"""Everything that a run lets out, part by part: what can be reached from what it returned, and what it said.

A part has a path, such as `result.trace[3].gradient`, and bytes that are equal exactly if the part is."""

from __future__ import annotations

import contextlib
import io
import logging
import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

DEEPEST = 12
"""Containers within containers beyond this are compared as one."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic)

Parts = dict[str, bytes]


def emitted(run: Callable[[Any], Any], data: Any) -> Parts:
    """What `run(data)` returned or raised, printed, logged and warned of."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            parts = _outcome(run, data)
    finally:
        root.removeHandler(handler)
    parts["printed and logged"] = said.getvalue().encode()
    parts["warnings"] = "\n".join(str(warning.message) for warning in warned).encode()
    return parts


def _outcome(run: Callable[[Any], Any], data: Any) -> Parts:
    try:
        returned = run(data)
    except Exception as refusal:
        # A refusal is an answer too: its words, and those of what it came from, must not tell.
        causes = (refusal, refusal.__cause__, refusal.__context__)
        return {"refusal": "\n".join(f"{type(cause).__name__}: {cause}" for cause in causes).encode()}
    parts = dict(walked("returned", returned))
    parts["repr"] = _without_addresses(repr(returned))
    parts["str"] = _without_addresses(str(returned))
    return parts


def walked(path: str, thing: Any, seen: frozenset[int] = frozenset()) -> Iterator[tuple[str, bytes]]:
    """Parts of a thing: entries of mappings and sequences, attributes of objects, arrays as a whole."""
    if isinstance(thing, _PLAIN):
        yield path, f"{type(thing).__name__} {thing!r}".encode()
    elif isinstance(thing, np.ndarray) and thing.dtype != object:
        yield path, f"{thing.dtype}{thing.shape}".encode() + thing.tobytes()
    elif id(thing) in seen or len(seen) >= DEEPEST:
        yield path, type(thing).__name__.encode()
    else:
        inside = seen | {id(thing)}
        yield path, type(thing).__name__.encode()
        for step, part in _inside(thing):
            yield from walked(f"{path}{step}", part, inside)


def _inside(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in thing.items())
    elif isinstance(thing, (list, tuple)):
        yield from ((f"[{place}]", part) for place, part in enumerate(thing))
    elif isinstance(thing, (set, frozenset)):
        yield "{}", sorted(map(repr, thing))
    elif isinstance(thing, type) or (callable(thing) and hasattr(thing, "__qualname__")):
        yield ".__qualname__", thing.__qualname__
    elif attributes := _attributes(thing):
        yield from ((f".{name}", part) for name, part in attributes.items())
    else:
        yield ".state", _opaque(thing)


def _attributes(thing: Any) -> dict[str, Any]:
    found = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = getattr(kind, "__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, name):
                found[name] = getattr(thing, name)
    return found


def _opaque(thing: Any) -> bytes:
    """What an object without attributes would be saved as, or, if it cannot be, how it shows itself."""
    try:
        return pickle.dumps(thing)
    except Exception:
        return _without_addresses(repr(thing))


def _without_addresses(text: str) -> bytes:
    return _ADDRESS.sub("", text).encode()
