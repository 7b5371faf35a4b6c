"""Where a command may write: over nothing without --force, and never over an input or a ledger."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from sottovoce.accounting.disk.identity import SUFFIXES, belongs_to_ledger
from sottovoce.cli.exits import ExitCode
from sottovoce.errors import DataError, LedgerError, SottovoceError
from sottovoce.files import is_stream, require_writable, write


def require_free(
    outputs: Iterable[Path | None],
    *,
    inputs: Iterable[Path | None] = (),
    ledger: Path | None = None,
    force: bool = False,
) -> None:
    """Refuse, before any work and any charge, outputs that would destroy something.

    The same file under another spelling, through a link or by a hard link is the same file."""
    charged = () if ledger is None else tuple(Path(f"{os.path.realpath(ledger)}{part}") for part in SUFFIXES)
    taken: list[Path] = []
    read = [file for source in filter(None, inputs) for file in _files(source)]
    for output in filter(None, outputs):
        if belongs_to_ledger(output) or any(_same(output, part) for part in charged):
            raise LedgerError(f"{output} belongs to a ledger, which is never overwritten. Name another file.")
        if any(_same(output, source) for source in read):
            raise DataError(f"{output} is read by this command and never overwritten. Name another file.")
        if any(_same(output, other) for other in taken):
            raise DataError(f"{output} is named for two outputs of this command. Name another file for one.")
        require_writable(output)
        if os.path.lexists(output) and not force and not is_stream(output):
            raise DataError(f"{output} exists. Name another file, or add --force to replace it.")
        taken.append(output)


@contextmanager
def place_for(output: Path, *, force: bool = False) -> Iterator[Path]:
    """Where an output is to be written within this context.

    What came to lie there since it was found free is not overwritten: then it is written beside, under a name
    of its own, since what has been paid for must not be lost."""
    if force or is_stream(output):
        yield output
        return
    place = output if _reserved(output) else output.with_name(_another(output))
    try:
        yield place
    except BaseException:
        with suppress(OSError):
            if not place.stat().st_size:
                place.unlink()
        raise


def save_paid(content: str, output: Path, *, force: bool = False) -> Path:
    """Write a result that was paid for, and say where it is.

    A full disk or a quota must not cost it: then it goes to the system's temporary folder, and where that
    fails too to standard output, and the command ends with an exit code of its own."""
    try:
        with place_for(output, force=force) as place:
            write(place, content)
        return place
    except DataError as failure:
        reason = str(failure)
    where = str(Path(tempfile.gettempdir()) / _another(output))
    try:
        write(where, content)
    except DataError:
        print(content)
        where = "standard output"
    print(f"sottovoce: {reason} What was paid for is in {where}.", file=sys.stderr)
    raise typer.Exit(ExitCode.ELSEWHERE)


def _files(source: Path) -> tuple[Path, ...]:
    """Those of a folder or a pattern too; what cannot be found is told by whoever reads it."""
    from sottovoce.data.filesets import files_of

    with suppress(SottovoceError, OSError):
        return (source, *files_of(source))
    return (source,)


def _reserved(place: Path) -> bool:
    """Whether nothing lies there, and an empty file now holds the place. Writing tells of other failures."""
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def _another(output: Path) -> str:
    return f"{output.stem}-{secrets.token_hex(4)}{output.suffix}"


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        if os.path.samefile(one, other):
            return True
    return os.path.realpath(one) == os.path.realpath(other) or _spot(one) == _spot(other)


def _spot(path: Path) -> object:
    """Folder and name of a file that may not exist yet: a folder has several spellings, but one inode."""
    place = Path(os.path.abspath(path))
    try:
        folder = place.parent.stat()
    except OSError:
        return place
    return folder.st_dev, folder.st_ino, place.name
