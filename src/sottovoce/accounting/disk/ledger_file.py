"""A ledger file: SQLite, write-ahead log, every commit on disk before it counts.

A connection lives for one transaction, so none is ever shared by threads or carried through a fork, and a
closed one leaves no log behind. What is read is believed only as far as its chain of seals holds."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from sottovoce.accounting.disk.entries import Chain, Entry, EntryKind, Home, broken, write_home
from sottovoce.accounting.disk.identity import APPLICATION, Mark, Witness, birth_of
from sottovoce.errors import LedgerError, ParameterError

WAIT_SECONDS = 60.0
_LEAST_ROOM = 2**20
"""Bytes a transaction may need, in the file and its log."""
_SCHEMA = (
    "CREATE TABLE entry (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL, "
    "kind TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL, seal TEXT NOT NULL)",
    "CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), number INTEGER NOT NULL, "
    "seal TEXT NOT NULL)",
    "CREATE TRIGGER kept BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END",
    "CREATE TRIGGER fixed BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END",
)
_SETTINGS = ("synchronous = FULL", "fullfsync = ON", "wal_autocheckpoint = 1", "trusted_schema = OFF")
_DEMANDS = (("journal_mode", "wal"), ("synchronous", 2), ("application_id", APPLICATION))


@final
class Transaction:
    """One look at the file, or one change to it, that happens wholly or not at all."""

    def __init__(self, connection: sqlite3.Connection, known: Chain) -> None:
        self._connection = connection
        self.chain = _caught_up(connection, known)

    def append(self, dataset: str, kind: EntryKind, body: str, name: str | None = None) -> None:
        """Add one entry; it counts once the transaction has been committed."""
        number = self.chain.number + 1
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(number, name or uuid.uuid4().hex, dataset, kind.value, now, body)
        seal = entry.seal(self.chain.head)
        values = (entry.number, entry.id, entry.dataset, entry.kind, entry.at, entry.body, seal)
        self._connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        self._connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", (number, seal))
        self.chain = self.chain.after([(entry, seal)])

    def holds(self, mark: Mark) -> bool:
        """Whether the file still has the entry that was last seen."""
        found = self._connection.execute("SELECT seal FROM entry WHERE number = ?", (mark.number,))
        return not mark.number or found.fetchone() == (mark.seal,)

    def entries(self) -> list[tuple[Entry, str]]:
        """Every entry with its seal, oldest first."""
        return _rows(self._connection, 0)


@final
class LedgerFile:
    """The file at one place. Remembers what it has verified, so each transaction reads only what is new."""

    __slots__ = ("_known", "_witness", "path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.path = os.path.realpath(str(Path(path)))
        except (TypeError, ValueError):
            raise ParameterError("path must name a file, such as 'budget.db'.", argument="path") from None
        self._known = Chain()
        self._witness = Witness(self.path)

    def exists(self) -> bool:
        return os.path.lexists(self.path)

    def create(self) -> None:
        """Found the file, complete from the first moment it is seen. A rival's file is left as it is."""
        draft = f"{self.path}.{uuid.uuid4().hex}.new"
        with _explained(self.path):
            self._require_nothing_was_here()
            self._witness.found(Mark())
            try:
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                self._found(draft)
                with suppress(FileExistsError):
                    os.link(draft, self.path)
                _sync_folder(self.path)
            finally:
                for part in (draft, f"{draft}-wal", f"{draft}-shm"):
                    Path(part).unlink(missing_ok=True)

    def _found(self, draft: str) -> None:
        with closing(_connect(draft)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute("PRAGMA journal_mode = WAL")
            _require_demands(connection)
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            home = Home(self.path, os.stat(draft).st_ino, birth_of(draft))
            Transaction(connection, Chain()).append("", EntryKind.FOUNDED, write_home(home))
            connection.execute("COMMIT")

    @contextmanager
    def reading(self, *, anywhere: bool = False) -> Iterator[Transaction]:
        """A consistent view of the file."""
        with self._transaction("BEGIN", anywhere) as transaction:
            yield transaction

    @contextmanager
    def writing(self, *, anywhere: bool = False) -> Iterator[Transaction]:
        """The only writer until the end. Leaving without an error means that the disk has it."""
        with self._transaction("BEGIN IMMEDIATE", anywhere) as transaction:
            yield transaction

    @contextmanager
    def _transaction(self, begin: str, anywhere: bool) -> Iterator[Transaction]:
        still = anywhere and begin == "BEGIN" and self._is_still
        with _explained(self.path), closing(_connect(self.path, still=still)) as connection:
            _require_demands(connection, still=still)
            mark = self._witness.read()
            connection.execute(begin)
            if not self._known.number:
                _require_sound(connection)
            transaction = Transaction(connection, self._known)
            if transaction.chain.home is None:
                raise broken("it is empty")
            if mark is not None and not transaction.holds(mark):
                raise self._rolled_back(mark)
            if not anywhere:
                self._require_home(transaction.chain.home, mark)
            before = transaction.chain.number
            yield transaction
            connection.execute("COMMIT")
            self._known = transaction.chain
            if mark is not None and self._known.number > before:
                self._witness.advance(Mark(self._known.number, self._known.head))

    @property
    def _is_still(self) -> bool:
        """Whether nobody can write here, as on a read-only mount, and no log waits to be merged."""
        folder = os.path.dirname(self.path)
        return not os.access(folder, os.W_OK) and not os.path.exists(f"{self.path}-wal")

    def adopt(self) -> None:
        """Make the present place this file's home. Only the owner can know that no other copy is in use."""
        with self.writing(anywhere=True) as transaction:
            home = self._place()
            if home != transaction.chain.home:
                transaction.append("", EntryKind.MOVED, write_home(home))
        with _explained(self.path):
            self._witness.found(Mark(self._known.number, self._known.head))

    def at_home(self, chain: Chain) -> bool:
        return chain.home == self._place() and self._witness.read() is not None

    def _place(self) -> Home:
        return Home(self.path, os.stat(self.path).st_ino, birth_of(self.path))

    def _require_home(self, home: Home, mark: Mark | None) -> None:
        if home != self._place():
            raise LedgerError(
                f"the ledger at {self.path} was moved, copied or put back from {home.path}: another copy may "
                "be spending the same budget. Nothing was released. Use the original, or, if no other copy "
                "is in use, make this place its home with sottovoce.accounting.adopt(path)."
            )
        if mark is None:
            raise LedgerError(
                f"the witness {self._witness.path} of this ledger is gone, and with it the proof that no "
                "charge was undone. Nothing was released. Put it back, or verify the ledger against your "
                "latest result and make a new one with sottovoce.accounting.adopt(path)."
            )

    def _require_nothing_was_here(self) -> None:
        mark = self._witness.read()
        if mark is not None and mark.number and not self.exists():
            raise LedgerError(
                f"a ledger was at {self.path} and is gone; its witness remembers {mark.number} entries. No "
                "new cap is granted in its place. Put the ledger back. If its data set is never to be used "
                f"again, remove {self._witness.path} by hand, or name another file."
            )

    def _rolled_back(self, mark: Mark) -> LedgerError:
        return LedgerError(
            f"charges were undone: the ledger at {self.path} is an older state, or another file, than its "
            f"witness {self._witness.path} has seen, which remembers entry {mark.number}. Nothing was "
            "released. Put back the newest file. Only if that is lost for good, and what it charged may be "
            "forgotten, remove the witness by hand and use sottovoce.accounting.adopt(path)."
        )


def _connect(path: str, *, still: bool = False) -> sqlite3.Connection:
    """To an existing file, never creating one; commits wait for the disk. A `still` one cannot change."""
    mode = "mode=ro&immutable=1" if still else "mode=rw"
    connection = sqlite3.connect(
        f"{Path(path).as_uri()}?{mode}", uri=True, isolation_level=None, timeout=WAIT_SECONDS
    )
    try:
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _require_demands(connection: sqlite3.Connection, *, still: bool = False) -> None:
    """Settings that make commits durable; of a file that cannot change, only whose it is."""
    for name, wanted in _DEMANDS[-1:] if still else _DEMANDS:
        (found,) = connection.execute(f"PRAGMA {name}").fetchone()
        if found != wanted:
            raise LedgerError(
                f"this is not a ledger that can be trusted: SQLite's {name} is {found!r}, not {wanted!r}. "
                "Nothing was released. Name a ledger file on a local disk, or a path where none exists yet."
            )


def _require_sound(connection: sqlite3.Connection) -> None:
    """SQLite's own check of the whole file, and that its tables and triggers are ours."""
    if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
        raise broken("SQLite finds the file damaged")
    found = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    if sorted(found) != sorted(_SCHEMA):
        raise broken("its tables are not those of a ledger")


def _caught_up(connection: sqlite3.Connection, known: Chain) -> Chain:
    """`known` and what came after it, up to the head the file names."""
    if known.number:
        row = connection.execute("SELECT seal FROM entry WHERE number = ?", (known.number,)).fetchone()
        if row != (known.head,):
            raise broken("entries seen before are gone; the file was put back to an older state")
    chain = known.after(_rows(connection, known.number))
    named = connection.execute("SELECT number, seal FROM head").fetchall()
    if named != ([(chain.number, chain.head)] if chain.number else []):
        raise broken("its last entries are missing")
    return chain


def _rows(connection: sqlite3.Connection, after: int) -> list[tuple[Entry, str]]:
    found = connection.execute(
        "SELECT number, id, dataset, kind, at, body, seal FROM entry WHERE number > ? ORDER BY number",
        (after,),
    )
    return [(Entry(*fields), seal) for *fields, seal in found]


def _sync_folder(path: str) -> None:
    """The new name must be on disk too. Windows has no such call, and needs none."""
    if os.name == "nt":
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_WAYS_OUT = (
    ("locked", "Another process holds it for long: end that one, or try again."),
    (
        "full",
        "Free some disk space, or raise the quota: the ledger is as it was, and runs go on with --resume.",
    ),
    ("readonly", "Make the file and its folder writable."),
    ("permission", "Make the file, its witness and their folder writable."),
    ("unable to open", "Check that the file exists and that its folder is writable."),
    ("i/o", "Nothing was charged by this. Look after the disk, then check the ledger with verify(path)."),
    ("", "Restore it from a backup and check that with verify(path, anchor=result)."),
)


def _way_out(failure: str) -> str:
    return next(text for sign, text in _WAYS_OUT if sign in failure)


def _is_full(failure: Exception, path: str) -> bool:
    """Whether there was no room to write: SQLite calls a file that may not grow an error of the disk."""
    if isinstance(failure, OSError):
        return failure.errno in _NO_ROOM
    if not isinstance(failure, sqlite3.OperationalError) or "i/o" not in str(failure).lower():
        return False
    return shutil.disk_usage(os.path.dirname(path)).free < _LEAST_ROOM or _may_not_grow(path)


def _may_not_grow(path: str) -> bool:
    """Whether `ulimit -f` stands in the way of the file or its log."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return limit != resource.RLIM_INFINITY and limit < os.path.getsize(path) + _LEAST_ROOM


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Any failure of disk or database becomes a LedgerError: whoever asked for a grant has none."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeError, OverflowError, TypeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        way_out = _way_out("full" if _is_full(failure, path) else str(failure).lower())
        raise LedgerError(
            f"the ledger at {path} cannot be used: {reason}. Nothing was released. {way_out}"
        ) from None
