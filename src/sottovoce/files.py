"""Files replaced in one step, and JSON read with errors that say what to do."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from sottovoce.errors import DataError


def write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Replace a file in one step: the old content or the new, never a part. Text is written as UTF-8.

    The draft lies in the same folder under a random name and gets the mode the user's umask gives."""
    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
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


def insist_writable(path: str | os.PathLike[str]) -> None:
    """Refuse before any work, and before any charge, a place that `write` could not fill."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise DataError(f"{os.fspath(path)} cannot be written: there is no folder {folder}.")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise DataError(f"{os.fspath(path)} cannot be written: name a file in a folder you may write to.")


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """The values in a JSON file, or DataError that calls it `what`."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"there is no {what} at {os.fspath(path)}.") from None
    except (OSError, ValueError, RecursionError):
        raise DataError(f"{os.fspath(path)} cannot be read as a {what} (JSON).") from None
