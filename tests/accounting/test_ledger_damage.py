"""Damage, loss and misplacement of a ledger file: always a clear refusal, never an overspend."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, adopt, verify
from tests.attacks.crash.kills import in_child

CAP = Budget(1.0, 1e-6)
COST = GaussianEvent(QueryKind.GRADIENT, 0.05, 1.0, 3, 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "budget.db"
    ledger = Ledger.create(place, dataset="claims", cap=CAP)
    for _ in range(4):
        ledger.charge(COST)
    return place


def reopened(path: Path) -> Ledger:
    return Ledger.open(path, dataset="claims")


class Anchored:
    """What a result remembers."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.ledger_head = ledger.identity, ledger.head


def tampered(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


FREE = "DROP TRIGGER kept"
LOOSE = "DROP TRIGGER fixed"
KEPT = (
    "CREATE TRIGGER kept BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END"
)
FIXED = (
    "CREATE TRIGGER fixed BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
)


@pytest.mark.parametrize(
    "statements",
    [
        (FREE, "DELETE FROM entry WHERE number = 4", KEPT),
        (FREE, "DELETE FROM entry WHERE number = 6", KEPT),
        (FREE, "DELETE FROM entry", KEPT),
        (FREE, "DELETE FROM entry", KEPT, "DELETE FROM head"),
        (LOOSE, "UPDATE entry SET body = replace(body, 'units', 'Units') WHERE number = 5", FIXED),
        (LOOSE, "UPDATE entry SET body = replace(body, '\"epsilon\":1.0', '\"epsilon\":9.0')", FIXED),
        (LOOSE, "UPDATE entry SET at = '' WHERE number = 3", FIXED),
        (LOOSE, "UPDATE entry SET number = 9 WHERE number = 6", FIXED),
        (LOOSE, "UPDATE entry SET seal = x'00' WHERE number = 6", FIXED),
        (LOOSE, "UPDATE entry SET body = x'ff00' WHERE number = 6", FIXED),
        (LOOSE, "UPDATE entry SET body = CAST(x'ff00' AS TEXT) WHERE number = 6", FIXED),
        (LOOSE,),
        ("CREATE TABLE more (x)",),
        ("UPDATE head SET number = 5",),
        ("DROP TABLE head",),
        ("PRAGMA application_id = 1",),
    ],
)
def test_a_changed_entry_is_refused_and_the_way_out_named(path: Path, statements: tuple[str, ...]) -> None:
    tampered(path, *statements)
    for attempt in (reopened, verify):
        with pytest.raises(sv.errors.LedgerError, match="Nothing was released"):
            attempt(path)


def test_a_change_under_a_running_ledger_is_noticed(path: Path) -> None:
    ledger = reopened(path)
    tampered(path, FREE, "DELETE FROM entry WHERE number > 4", KEPT)
    with pytest.raises(sv.errors.LedgerError, match="older state"):
        ledger.charge(COST)


def test_entries_cannot_be_changed_by_accident(path: Path) -> None:
    for statement in ("DELETE FROM entry", "UPDATE entry SET body = ''"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            tampered(path, statement)
    reopened(path).charge(COST)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    place=st.floats(0.0, 1.0, exclude_max=True),
    length=st.sampled_from([1, 16, 700, 5000]),
    fill=st.binary(min_size=1, max_size=3),
)
def test_a_corrupted_file_is_refused_or_counts_every_charge(
    path: Path, place: float, length: int, fill: bytes
) -> None:
    """Bytes overwritten anywhere: either an error, or the file still says what it said."""
    sound = path.read_bytes()
    told = reopened(path).history
    start = int(place * len(sound))
    damaged = sound[:start] + (fill * length)[:length] + sound[start + length :]
    try:
        path.write_bytes(damaged)
        try:
            history = reopened(path).history
        except sv.errors.LedgerError:
            return
        assert history == told
    finally:
        path.write_bytes(sound)
        for part in ("-wal", "-shm"):
            Path(f"{path}{part}").unlink(missing_ok=True)


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 12_000])
def test_a_truncated_file_is_refused(path: Path, size: int) -> None:
    os.truncate(path, size)
    with pytest.raises(sv.errors.LedgerError, match="Nothing was released"):
        Ledger.open(path, dataset="claims", cap=CAP)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "notes"
    place.write_bytes(content)
    with pytest.raises(sv.errors.LedgerError):
        Ledger.open(place, dataset="claims", cap=CAP)
    assert place.read_bytes() == content


def test_another_database_is_refused(tmp_path: Path) -> None:
    tampered(tmp_path / "other.db", "CREATE TABLE entry (x)", "PRAGMA journal_mode = WAL")
    with pytest.raises(sv.errors.LedgerError, match="application_id"):
        Ledger.open(tmp_path / "other.db", dataset="claims", cap=CAP)


def _moved(path: Path) -> Path:
    return path.rename(path.parent / "moved.db")


def _copied(path: Path) -> Path:
    return Path(shutil.copy(path, path.parent / "copy.db"))


def _put_back(path: Path) -> Path:
    """A backup restored to the same path is told by its inode."""
    copy = shutil.copy(path, path.parent / "backup")
    os.replace(copy, path)
    return path


def _linked(path: Path) -> Path:
    os.link(path, path.parent / "link.db")
    return path.parent / "link.db"


@pytest.mark.parametrize("misplace", [_moved, _copied, _put_back, _linked])
def test_a_moved_or_copied_file_is_refused_until_its_owner_adopts_it(
    path: Path, misplace: Callable[[Path], Path]
) -> None:
    ledger = reopened(path)
    history = ledger.history
    place = misplace(path)
    with pytest.raises(sv.errors.LedgerError, match=r"moved, copied or put back.*adopt\(path\)"):
        reopened(place)
    assert not verify(place).at_home
    assert "until adopted" in str(verify(place))
    adopt(place)
    adopt(place)
    assert verify(place).at_home
    assert reopened(place).history == history
    reopened(place).charge(COST)


def test_a_ledger_whose_file_is_gone_or_replaced_grants_nothing(path: Path) -> None:
    ledger = reopened(path)
    path.unlink()
    with pytest.raises(sv.errors.LedgerError, match="Nothing was released"):
        ledger.charge(COST)
    assert not path.exists()
    Path(f"{path}.witness").unlink()
    Ledger.create(path, dataset="claims", cap=CAP)
    with pytest.raises(sv.errors.LedgerError, match="Nothing was released"):
        ledger.charge(COST)


def test_a_symbolic_link_leads_to_the_file_itself(path: Path) -> None:
    link = path.parent / "link"
    link.symlink_to(path)
    reopened(link).charge(COST)
    assert len(reopened(path).history) == 5


def test_a_rolled_back_file_is_told_by_a_result_charged_since(path: Path) -> None:
    backup = path.read_bytes()
    ledger = reopened(path)
    ledger.charge(COST)
    anchor = Anchored(ledger)
    verify(path, anchor)
    path.write_bytes(backup)
    Path(f"{path}.witness").unlink()
    verify(path)
    with pytest.raises(sv.errors.LedgerError, match=r"charges were undone.*restore the newest"):
        verify(path, anchor)
    with pytest.raises(sv.errors.LedgerError, match="older state"):
        ledger.charge(COST)


def test_an_anchor_from_elsewhere_is_named_as_such(path: Path, tmp_path: Path) -> None:
    other = Ledger.create(tmp_path / "other.db", dataset="claims", cap=CAP)
    with pytest.raises(sv.errors.LedgerError, match="another ledger"):
        verify(path, Anchored(other))
    with pytest.raises(sv.errors.LedgerError, match="not charged to a ledger file"):
        verify(path, Anchored(Ledger(CAP)))
    with pytest.raises(sv.errors.LedgerError, match="no ledger at"):
        verify(tmp_path / "none.db")


def refuses(path: Path, words: str, prepare: Callable[[], object]) -> None:
    """In a process of its own: after `prepare` a charge is refused in these words and nothing is counted."""
    ledger = reopened(path)

    def attempt() -> None:
        prepare()
        with pytest.raises(
            sv.errors.LedgerError, match=rf"{words}.*Nothing was released|Nothing was released.*{words}"
        ):
            ledger.charge(COST)

    child = in_child(attempt)
    assert os.waitpid(child, 0)[1] == 0
    assert len(reopened(path).history) == 4
    reopened(path).charge(COST)


def test_a_disk_that_takes_no_more_bytes_grants_nothing(path: Path) -> None:
    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    refuses(path, "cannot be used", prepare)


def charge_often(ledger: Ledger) -> None:
    for _ in range(100):
        ledger.charge(GaussianEvent(QueryKind.GRADIENT, 1e-9, 1.0, 3, 0.0))


def test_a_full_disk_grants_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def full(*places: object, **options: object) -> sqlite3.Connection:
        connection = connect(*places, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 1").fetchall()
        return connection  # type: ignore[no-any-return]

    ledger = reopened(path)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", full)
        with pytest.raises(sv.errors.LedgerError, match=r"full.*Free some disk space"):
            charge_often(ledger)
    assert len(reopened(path).history) == len(ledger.history) < 100


def test_a_read_only_file_grants_nothing(path: Path) -> None:
    """Root may write anywhere, so the attempt is made as nobody."""
    for folder in path.parents:
        if folder.stat().st_uid == os.getuid() and folder != Path(folder.anchor):
            folder.chmod(folder.stat().st_mode | 0o055)
    path.chmod(0o444)

    def prepare() -> None:
        if os.getuid() == 0:
            os.setuid(65534)

    refuses(path, "writable", prepare)


def test_a_lock_held_by_another_process_ends_in_a_refusal(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.accounting.disk.ledger_file.WAIT_SECONDS", 0.05)
    ledger = reopened(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(sv.errors.LedgerError, match=r"locked.*end that one, or try again"):
        ledger.charge(COST)
    holder.close()
    ledger.charge(COST)
