"""A ledger file is one budget for every process, thread, copy and pickle, and outlives each of them."""

from __future__ import annotations

import copy
import os
import pickle
import random
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.accounting import (
    Budget,
    GaussianEvent,
    Ledger,
    PureEvent,
    QueryKind,
    SubsampledGaussianEvent,
    verify,
)
from sottovoce.cli import application
from sottovoce.errors import LedgerError
from tests import problems
from tests.attacks.crash.kills import UNRELEASED, Point, Scene, event, in_child, kill_once, race

CAP = Budget(1.0, 1e-6)


def small(units: float = 1e-4) -> GaussianEvent:
    return GaussianEvent(QueryKind.GRADIENT, units**0.5, 1.0, 3, 2.0**-30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def new_ledger(path: Path, **options: object) -> Ledger:
    return Ledger.create(path, **{"dataset": "claims", "cap": CAP, **options})  # type: ignore[arg-type]


def test_what_was_charged_is_there_when_the_file_is_opened_again(path: Path) -> None:
    ledger = new_ledger(path)
    run = ledger.run(Budget(0.5, 1e-7), "nightly")
    events = (
        small(),
        PureEvent(QueryKind.LINE_SEARCH, 0.001),
        GaussianEvent(QueryKind.GRAM, 1e-9, 0.1 + 0.2, 7, 5e-324),
    )
    grants = [run.charge(event) for event in events]
    again = Ledger.open(str(path), dataset="claims")
    assert again.history == tuple(grants)
    assert [grant.run for grant in again.history] == ["nightly"] * 3
    assert again.units_spent == ledger.units_spent == sum(grant.units for grant in grants)
    assert again.lattice_left == ledger.lattice_left < new_ledger(path, dataset="other").lattice_left
    assert (again.cap, again.identity, again.head) == (CAP, ledger.identity, ledger.head)
    assert again.persistent
    assert sorted(file.name for file in path.parent.iterdir()) == ["budget.db", "budget.db.witness"]


def test_batched_events_survive_the_file(path: Path) -> None:
    ledger = new_ledger(path, currency="renyi", order=20.0)
    alone = SubsampledGaussianEvent(QueryKind.GRADIENT, 0.1, 0.9, 3, 0.0, 10, 1000)
    grant = ledger.charge(alone)
    assert Ledger.open(path, dataset="claims").history == (grant,)
    assert "of a batch" in str(verify(path))


def test_each_data_set_has_its_own_cap_and_both_share_one_chain(path: Path) -> None:
    first, second = new_ledger(path), new_ledger(path, dataset="visits", cap=Budget(0.1, 1e-9))
    before = second.head
    first.charge(small())
    assert second.units_spent == 0
    assert second.head == first.head != before
    assert first.identity != second.identity
    with pytest.raises(sv.errors.BudgetExceeded):
        second.charge(small(0.01))
    assert second.history == ()


@pytest.mark.parametrize(
    "options",
    [
        {"cap": Budget(2.0, 1e-6)},
        {"currency": "renyi", "order": 32.0},
        {"order": 8.0},
        {"cap": Budget(1.0, 1e-7)},
    ],
)
def test_a_cap_is_fixed_for_good(path: Path, options: dict[str, object]) -> None:
    new_ledger(path)
    with pytest.raises(
        (sv.errors.LedgerError, sv.errors.ParameterError), match=r"fixed for good|has no order"
    ):
        Ledger.open(path, dataset="claims", **options)  # type: ignore[arg-type]
    assert Ledger.open(path, dataset="claims").cap == CAP


def test_a_new_data_set_needs_a_cap_and_the_error_says_so(path: Path) -> None:
    with pytest.raises(sv.errors.LedgerError, match=r"no ledger at .*Ledger.create"):
        Ledger.open(path, dataset="claims")
    assert not path.exists()
    new_ledger(path)
    with pytest.raises(sv.errors.LedgerError, match=r"it has: 'claims'.*Ledger.create"):
        Ledger.open(path, dataset="clams")


@pytest.mark.parametrize("name", ["", "a\nb", "\x00", "x" * 201, 3, None])
def test_a_data_set_has_a_printable_name(path: Path, name: object) -> None:
    with pytest.raises(sv.errors.ParameterError, match="dataset"):
        new_ledger(path, dataset=name)
    assert not path.exists()


@pytest.mark.parametrize("place", [None, 3, "a\0b"])
def test_a_path_must_name_a_file(place: object) -> None:
    with pytest.raises(sv.errors.ParameterError, match="path"):
        new_ledger(place)  # type: ignore[arg-type]


def test_copies_share_and_pickles_reopen(path: Path) -> None:
    ledger = new_ledger(path)
    assert copy.copy(ledger) is copy.deepcopy(ledger) is ledger
    other = pickle.loads(pickle.dumps(ledger))
    assert other is not ledger
    other.charge(small())
    assert ledger.units_spent == other.units_spent > 0
    assert ledger.history == other.history


def test_a_pickle_does_not_open_another_ledger_in_its_place(path: Path) -> None:
    pickled = pickle.dumps(new_ledger(path))
    path.unlink()
    Path(f"{path}.witness").unlink()
    new_ledger(path)
    with pytest.raises(sv.errors.LedgerError, match="not the one that was pickled"):
        pickle.loads(pickled)


def test_a_charge_id_is_used_once(path: Path) -> None:
    ledger = new_ledger(path)
    grant = ledger.charge(small())
    with pytest.raises(sv.errors.LedgerError, match="Nothing was released"):
        ledger._append(grant)
    assert ledger.history == (grant,)


def test_the_last_unit_can_be_spent_and_no_more(path: Path) -> None:
    ledger = new_ledger(path)
    for _ in range(7):
        ledger.charge(event(ledger, 7))
    with pytest.raises(sv.errors.BudgetExceeded, match="in the ledger"):
        ledger.charge(event(ledger, 7))
    while ledger.units_left:
        ledger.charge(GaussianEvent(QueryKind.GRADIENT, 1e-200, 1.0, 1, 0.0))
    assert ledger.units_spent == ledger.units_cap
    verify(path)


def test_threads_get_exact_grants(path: Path) -> None:
    ledger, granted = new_ledger(path), []

    def spend() -> None:
        while True:
            try:
                granted.append(ledger.charge(event(ledger, 60)))
            except sv.errors.BudgetExceeded:
                return

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(ledger.history) == 60


def test_a_forked_child_charges_the_same_budget(path: Path) -> None:
    ledger = new_ledger(path)
    ledger.charge(small())
    child = in_child(lambda: ledger.charge(small()) and None)
    assert os.waitpid(child, 0)[1] == 0
    assert len(ledger.history) == 2
    verify(path)


@pytest.mark.parametrize("_round", range(2))
def test_eight_processes_racing_for_one_budget_get_exact_grants(tmp_path: Path, _round: int) -> None:
    assert race(Scene(tmp_path), 8, 40) == (40, 40)


@pytest.mark.parametrize("point", Point)
def test_a_killed_process_releases_nothing_that_is_not_charged(tmp_path: Path, point: Point) -> None:
    scene, luck = Scene(tmp_path), random.Random(3)
    scene.open()
    for _ in range(5):
        unreleased = len(scene.durable) - len(scene.released)
        assert kill_once(scene, point, luck)
        assert set(scene.released) <= set(scene.durable)
        if point is not Point.ANY_TIME:
            assert len(scene.durable) - len(scene.released) - unreleased == UNRELEASED.get(point, 0)


def test_the_kill_test_catches_a_release_before_the_charge(tmp_path: Path) -> None:
    scene, luck = Scene(tmp_path), random.Random(3)
    scene.open()
    for caught in range(1, 6):
        assert kill_once(scene, Point.BEFORE_BEGIN, luck, release_first=True)
        assert len(set(scene.released) - set(scene.durable)) == caught


def test_every_commit_waits_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack: SQLite quietly set to a weaker mode."""
    ledger = new_ledger(path)
    connect = sqlite3.connect

    class Lax(sqlite3.Connection):
        def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
            return super().execute(sql.replace("synchronous = FULL", "synchronous = NORMAL"), *values)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, factory=Lax, **k))
    with pytest.raises(sv.errors.LedgerError, match="synchronous is 1, not 2"):
        ledger.charge(small())


def test_the_write_ahead_log_cannot_be_turned_off(path: Path) -> None:
    ledger = new_ledger(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    with pytest.raises(sv.errors.LedgerError, match="journal_mode is 'delete', not 'wal'"):
        ledger.charge(small())


def test_training_charges_the_file_and_its_result_is_the_anchor(path: Path, tmp_path: Path) -> None:
    ledger, risk = new_ledger(path), problems.logistic(n=100, dim=2)
    result = sv.minimize(risk, budget=Budget(0.5, 1e-7), ledger=ledger)
    assert (result.ledger, result.ledger_head) == (ledger.identity, ledger.head)
    result.save(tmp_path / "run.json")
    statement = ledger.verify(sv.Result.load(tmp_path / "run.json"))
    assert statement.at_home
    assert "run 'adapt'" in str(statement)
    again = sv.minimize(
        risk, budget=Budget(0.3, 1e-7), ledger=pickle.loads(pickle.dumps(ledger)), start=result
    )
    assert again.ledger == result.ledger
    with pytest.raises(sv.errors.LedgerError, match="simulated"):
        sv.minimize(risk, budget=Budget(0.1, 1e-8), ledger=ledger, simulate=0)


def test_a_memory_ledger_has_no_file_to_verify() -> None:
    with pytest.raises(sv.errors.LedgerError, match=r"Ledger\.create"):
        Ledger(CAP).verify()
    assert Ledger(CAP).head == ""


def test_clock_jumps_change_nothing_but_the_printed_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime

    from sottovoce.accounting.disk import ledger_file

    ledger = new_ledger(path)
    for year in (2030, 1970, 9999, 2001):

        class Clock:
            @staticmethod
            def now(zone: object, year: int = year) -> datetime:
                return datetime(year, 1, 1, tzinfo=UTC)

        monkeypatch.setattr(ledger_file, "datetime", Clock)
        ledger.charge(small())
    lines = verify(path).lines[-4:]
    assert [line.split()[1][:4] for line in lines] == ["2030", "1970", "9999", "2001"]
    assert [int(line.split()[0]) for line in lines] == [3, 4, 5, 6]


def test_history_is_written_for_people(path: Path) -> None:
    ledger = new_ledger(path)
    ledger.run(Budget(0.5, 1e-7), "nightly").charge(small(0.01))
    said = str(verify(path))
    assert "claims: 0.0100000 of 0.0560" in said
    assert "claims: gradient, 0.0100000 mu^2, run 'nightly'" in said
    assert "declared, Budget(epsilon=1.0, delta=1e-06) in mu^2" in said


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root to mount")
def test_a_ledger_on_a_read_only_mount_is_shown_and_verified_and_takes_no_charge(tmp_path: Path) -> None:
    place = tmp_path / "mounted"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=False)
    if mounted.returncode:
        pytest.skip("mounting is not permitted here")
    try:
        ledger = Ledger.create(place / "budget.db", dataset="d", cap=CAP)
        with ledger.start(Budget(0.1, 1e-6), "run") as run:
            run.charge(GaussianEvent(QueryKind.GRADIENT, 0.001, 1.0, 3, 0.0))
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        statement = verify(place / "budget.db")
        assert [run.answers for run in statement.runs] == [1]
        shown = CliRunner().invoke(application("ledger"), ["ledger", "show", str(place / "budget.db")])
        assert shown.exit_code == 0
        with pytest.raises(LedgerError):
            Ledger.open(place / "budget.db", dataset="d").start(Budget(0.1, 1e-6), "run")
        assert len(verify(place / "budget.db").runs) == 1
    finally:
        subprocess.run(["umount", str(place)], check=True)
