"""Which ledger a file is: opening never creates, and a deleted, restored or misnamed one is told."""

from __future__ import annotations

import os
import shutil
import unicodedata
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, adopt, verify
from sottovoce.accounting.disk import ledger_file as module
from sottovoce.accounting.disk.identity import Mark, Witness, birth_of
from tests.attacks.crash.kills import in_child

CAP = Budget(1.0, 1e-6)
COST = GaussianEvent(QueryKind.GRADIENT, 0.05, 1.0, 3, 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "budget.db"
    Ledger.create(place, dataset="claims", cap=CAP).charge(COST)
    return place


def witness(path: Path) -> Path:
    return Path(f"{path}.witness")


def refused(match: str) -> pytest.RaisesExc[sv.errors.LedgerError]:
    return pytest.raises(sv.errors.LedgerError, match=match)


def restored(path: Path, copy: Path) -> None:
    """Delete the file and put the copy there, with the inode it had if the file system gives it out again."""
    wanted = path.stat().st_ino
    path.unlink()
    for attempt in range(200):
        shutil.copyfile(copy, path)
        if path.stat().st_ino == wanted:
            return
        path.rename(path.with_name(f"spare{attempt}"))
    shutil.copyfile(copy, path)


def test_opening_creates_nothing_whatever_cap_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("budget.db", tmp_path / "elsewhere.db"):
        with refused(r"no ledger at .*Nothing was created.*Ledger\.create"):
            Ledger.open(place, dataset="claims", cap=CAP)
    assert list(tmp_path.iterdir()) == []


def test_a_relative_path_from_another_folder_grants_no_fresh_cap(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = path.parent / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    with refused("no ledger at"):
        Ledger.open(path.name, dataset="claims", cap=CAP)
    assert list(other.iterdir()) == []
    assert len(Ledger.open(f"../{path.name}", dataset="claims", cap=CAP).history) == 1


def test_opening_declares_no_data_set(path: Path) -> None:
    with refused("it has: 'claims'.*Nothing was created"):
        Ledger.open(path, dataset="visits", cap=CAP)
    assert [part.name for part in verify(path).datasets] == ["claims"]


def test_creating_refuses_what_is_there(path: Path) -> None:
    with refused("already, and its cap is fixed"):
        Ledger.create(path, dataset="claims", cap=Budget(9.0, 1e-3))
    assert Ledger.open(path, dataset="claims").cap == CAP
    assert len(verify(path).lines) == 3


@pytest.mark.parametrize("name", ["claims ", " claims", "Claims", "CLAIMS", "  claims  "])
def test_another_spelling_is_the_same_data_set(path: Path, name: str) -> None:
    assert len(Ledger.open(path, dataset=name).history) == 1
    with refused("'claims' is in"):
        Ledger.create(path, dataset=name, cap=CAP)


def test_names_are_compared_as_people_read_them(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    Ledger.create(place, dataset="Ärzte  2026", cap=CAP)
    assert verify(place).datasets[0].name == "Ärzte 2026"
    for name in (unicodedata.normalize("NFD", "Ärzte 2026"), "ärzte 2026", " Ärzte   2026 "):
        Ledger.open(place, dataset=name).charge(COST)
    assert len(Ledger.open(place, dataset="Ärzte 2026").history) == 3
    Ledger.create(place, dataset="Aerzte 2026", cap=CAP)


UNSEEN = "\u3164\ufe0f\u034f\u2800\u115f\uffa0\u17b5\u180b\u2060\U000e0100\U0001d159\U00013441\u00ad"


@pytest.mark.parametrize("name", ["  ", "a\u00a0b", "a\u200bb", "a\tb", *(f"claims{one}" for one in UNSEEN)])
def test_blank_or_invisible_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(sv.errors.ParameterError, match="printable"):
        Ledger.create(tmp_path / "budget.db", dataset=name, cap=CAP)


def test_every_name_that_can_be_seen_is_taken_and_compatible_forms_are_one(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    for name in (
        "claims-2026",
        "\u0391\u03b8\u03ae\u03bd\u03b1",
        "\u6771\u4eac (2)",
        "\u0627\u0644\u0639\u0631\u0628",
        "a+b=\u20ac3",
        "cafe\u0301",
    ):
        Ledger.create(place, dataset=name, cap=CAP)
    Ledger.create(place, dataset="o\ufb03ce", cap=CAP)
    for name in ("office", "OFFICE", "\uff4f\uff46\uff46\uff49\uff43\uff45"):
        Ledger.open(place, dataset=name).charge(COST)
    assert len(Ledger.open(place, dataset="o\ufb03ce").history) == 3


def test_a_file_restored_from_a_copy_under_its_old_inode_is_told_by_its_birth(path: Path) -> None:
    """Even the copy's witness was put back, so that only path, inode and birth are left."""
    copy = Path(shutil.copy(path, path.with_name("copy")))
    remembered = witness(path).read_bytes()
    Ledger.open(path, dataset="claims").charge(COST)
    restored(path, copy)
    witness(path).write_bytes(remembered)
    if birth_of(str(path)) is None:
        pytest.skip("this file system keeps no birth time")
    with refused("put back"):
        Ledger.open(path, dataset="claims")


def test_a_file_restored_from_a_copy_is_told_by_its_witness(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a birth time, and under its old inode."""
    adopted = path.with_name("plain.db")
    monkeypatch.setattr(module, "birth_of", lambda _: None)
    ledger = Ledger.create(adopted, dataset="claims", cap=CAP)
    copy = Path(shutil.copy(adopted, path.with_name("copy")))
    ledger.charge(COST)
    restored(adopted, copy)
    with refused(r"charges were undone|put back"):
        Ledger.open(adopted, dataset="claims")


def test_one_undone_charge_is_told_by_the_witness(path: Path) -> None:
    """A backup written into the same file: same path, same inode, same birth."""
    backup = path.read_bytes()
    Ledger.open(path, dataset="claims").charge(COST)
    path.write_bytes(backup)
    for attempt in (lambda: Ledger.open(path, dataset="claims"), lambda: verify(path), lambda: adopt(path)):
        with refused("charges were undone"):
            attempt()
    witness(path).unlink()
    adopt(path)
    assert len(Ledger.open(path, dataset="claims").history) == 1


def test_a_deleted_ledger_is_not_made_anew_in_silence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    with refused("no ledger at"):
        Ledger.open(path, dataset="claims", cap=CAP)
    other = path.parent / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    for place in (path, Path("..") / path.name):
        with refused(r"a ledger was at .*witness by hand|a ledger was at"):
            Ledger.create(place, dataset="claims", cap=CAP)
    assert not path.exists()
    witness(path).unlink()
    Ledger.create(path, dataset="claims", cap=CAP)


def test_a_ledger_without_its_witness_grants_nothing_until_adopted(path: Path) -> None:
    ledger = Ledger.open(path, dataset="claims")
    witness(path).unlink()
    for attempt in (lambda: ledger.charge(COST), lambda: Ledger.open(path, dataset="claims")):
        with refused(r"witness .* is gone.*adopt"):
            attempt()
    assert not verify(path).at_home
    adopt(path)
    ledger.charge(COST)
    assert witness(path).exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b"\xff\xfe", b'{"format": 1}', b"[" * 5000])
def test_a_damaged_witness_is_refused_with_the_way_out(path: Path, content: bytes) -> None:
    witness(path).write_bytes(content)
    with refused(r"witness .* cannot be read.*remove the witness.*adopt"):
        Ledger.open(path, dataset="claims")


def test_a_process_killed_between_commit_and_witness_leaves_a_ledger_that_works(path: Path) -> None:
    def charge() -> None:
        Witness.advance = lambda *_: os.kill(os.getpid(), 9)  # type: ignore[method-assign, assignment]
        Ledger.open(path, dataset="claims").charge(COST)

    before = Witness(str(path)).read()
    os.waitpid(in_child(charge), 0)
    assert Witness(str(path)).read() == before
    ledger = Ledger.open(path, dataset="claims")
    assert len(ledger.history) == 2
    ledger.charge(COST)
    assert Witness(str(path)).read() == Mark(5, ledger.head)


def test_a_process_killed_while_it_creates_does_not_block_the_next(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"

    def create() -> None:
        module.LedgerFile._found = lambda *_: os.kill(os.getpid(), 9)  # type: ignore[method-assign, assignment]
        Ledger.create(place, dataset="claims", cap=CAP)

    os.waitpid(in_child(create), 0)
    assert not place.exists()
    Ledger.create(place, dataset="claims", cap=CAP).charge(COST)


def test_a_witness_never_goes_back(tmp_path: Path) -> None:
    place = Witness(str(tmp_path / "x"))
    place.found(Mark())
    place.advance(Mark(7, "g" * 64))
    place.advance(Mark(6, "f" * 64))
    place.found(Mark(1, "a"))
    assert place.read() == Mark(7, "g" * 64)


def test_a_moved_ledger_leaves_its_witness_where_it_was(path: Path) -> None:
    moved = path.rename(path.with_name("moved.db"))
    adopt(moved)
    Ledger.open(moved, dataset="claims").charge(COST)
    with refused("a ledger was at"):
        Ledger.create(path, dataset="claims", cap=CAP)
