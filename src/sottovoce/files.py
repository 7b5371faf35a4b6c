"""Files replaced in one step, JSON read with errors that say what to do, plain records rebuilt from it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import stat
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from sottovoce.accounting.disk.identity import belongs_to_ledger
from sottovoce.errors import DataError, LedgerError

T = TypeVar("T")


def write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Replace a file in one step: the old content or the new, never a part. Text is written as UTF-8.

    The draft lies in the same folder under a random name and gets the mode the user's umask gives. A ledger
    and what belongs to it is never replaced; a device or a pipe is written into."""
    target = Path(path)
    if belongs_to_ledger(target):
        raise LedgerError(
            f"{os.fspath(path)} belongs to a ledger and is never overwritten. Name another file."
        )
    data = content.encode("utf-8") if isinstance(content, str) else content
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        if is_stream(target):
            target.write_bytes(data)
            return
        try:
            with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as failure:
        raise DataError(f"{os.fspath(path)} cannot be written: {failure.strerror}.") from None


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a device, a pipe or a socket lies there, as /dev/stdout does: nothing that can be replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def require_writable(path: str | os.PathLike[str]) -> None:
    """Refuse before any work, and before any charge, a place that `write` could not fill."""
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise DataError(f"{os.fspath(path)} cannot be written: name a file that you may write to.")
        return
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise DataError(f"{os.fspath(path)} cannot be written: there is no folder {folder}.")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise DataError(f"{os.fspath(path)} cannot be written: name a file in a folder you may write to.")


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """The values in a JSON file, or DataError that calls it `what`; the parser's, which holds it, is gone."""
    refusal = f"{os.fspath(path)} cannot be read as a {what} (JSON)."
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        refusal = f"there is no {what} at {os.fspath(path)}."
    except (OSError, ValueError, RecursionError):
        pass
    raise DataError(refusal)


def with_checksum(raw: dict[str, Any]) -> dict[str, Any]:
    """The same values, and a checksum over all of them."""
    return {**raw, "checksum": _checksum(raw)}


def require_unchanged(raw: Any) -> Any:
    """The values of a JSON file, or DataError where they are not those its checksum was made of.

    A file without one, such as an older version wrote, is taken as it is."""
    if isinstance(raw, dict) and "checksum" in raw:
        stated = {name: value for name, value in raw.items() if name != "checksum"}
        if raw["checksum"] != _checksum(stated):
            raise DataError(
                "this file was changed after it was written: its checksum does not match. Take it again from "
                "where it was published, or from a backup."
            )
    return raw


def _checksum(raw: dict[str, Any]) -> str:
    """SHA-256 over the values, whatever the order and the layout of the file."""
    plain = json.loads(json.dumps(raw))
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def rebuilt(kind: type[T], raw: Any) -> T:
    """An instance of a dataclass of numbers, texts and truths; TypeError where a field is of another type.

    Numbers must be finite: a file written by this library holds no others."""
    hints = get_type_hints(kind)
    if not isinstance(raw, dict) or not all(fits(value, hints.get(name)) for name, value in raw.items()):
        raise TypeError(f"these are not the fields of a {kind.__name__}")
    return kind(**raw)


def finite(value: Any) -> float:
    """A finite number, or TypeError."""
    if not fits(value, float):
        raise TypeError("this is no finite number")
    return float(value)


def text_of(value: Any) -> str:
    """A text that can be written, or TypeError or ValueError."""
    if not isinstance(value, str):
        raise TypeError("this is no text")
    value.encode("utf-8")
    return value


def truth_of(value: Any) -> bool:
    """A truth, or TypeError."""
    if not isinstance(value, bool):
        raise TypeError("this is neither true nor false")
    return value


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of a plain type, or of one of several; whole numbers serve as floats."""
    return any(_is(value, kind) for kind in get_args(hint) or (hint,))


def _is(value: object, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return isinstance(value, str)
    return kind in (bool, str, NoneType) and isinstance(value, kind)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
