"""Kill a process at a named point of a charge, or at any time, and look at what it left behind.

A process charges and then releases, which here means to append the charge's id to a file. SIGKILL leaves
what was written to the page cache, so it tries the order of events, not the disk's own honesty."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import sottovoce as sv
from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, verify
from sottovoce.accounting.allowance import new_grant

CAP = Budget(epsilon=1.0, delta=1e-6)
DATASET = "patients"


class Point(StrEnum):
    BEFORE_BEGIN = "before BEGIN"
    AFTER_INSERT = "after INSERT"
    AFTER_COMMIT = "after COMMIT"
    BEFORE_RELEASE = "before release"
    AFTER_RELEASE = "after release"
    ANY_TIME = "at a random time"


UNRELEASED = {Point.AFTER_COMMIT: 1, Point.BEFORE_RELEASE: 1}
"""Charges a process killed at this point leaves durable but unreleased; elsewhere none."""


@dataclass(frozen=True)
class Scene:
    """A ledger file and the file of releases beside it."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "budget.db"

    def open(self) -> Ledger:
        made_or_found = Ledger.open if self.path.exists() else Ledger.create
        return made_or_found(self.path, dataset=DATASET, cap=CAP)

    def release(self, name: str) -> None:
        handle = os.open(self.folder / "released", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{name}\n".encode())
        os.close(handle)

    @property
    def released(self) -> list[str]:
        log = self.folder / "released"
        return log.read_text().split() if log.exists() else []

    @property
    def durable(self) -> list[str]:
        """Charges in the file, once its chain, its totals and its cap have been verified."""
        verify(self.path)
        ledger = self.open()
        assert ledger.units_spent <= ledger.units_cap
        return [grant.id for grant in ledger.history]


def event(ledger: Ledger, parts: int) -> GaussianEvent:
    """One of `parts` equal charges that fit the cap exactly."""
    mu = ledger.currency.mu_squared(ledger.units_cap // parts) ** 0.5
    return GaussianEvent(QueryKind.GRADIENT, mu, 1.0, 3, 0.0)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Guillotine(sqlite3.Connection):
    """Dies at its point of the `fatal`-th charge of this process."""

    point = Point.ANY_TIME
    fatal = 0
    charges = 0

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        mine = type(self)
        if sql == "BEGIN IMMEDIATE":
            mine.charges += 1
        due = mine.charges == mine.fatal
        if due and mine.point is Point.BEFORE_BEGIN and sql == "BEGIN IMMEDIATE":
            _die()
        done = super().execute(sql, *values)
        if due and mine.point is Point.AFTER_INSERT and sql.startswith("INSERT INTO entry"):
            _die()
        if due and mine.point is Point.AFTER_COMMIT and sql == "COMMIT":
            _die()
        return done


def _spend(scene: Scene, point: Point, fatal: int, *, release_first: bool) -> None:
    """Charge and release until killed or refused."""
    ledger = scene.open()
    cost = event(ledger, 200)
    connect = sqlite3.connect
    Guillotine.point, Guillotine.fatal, Guillotine.charges = point, fatal, 0
    sqlite3.connect = lambda *places, **options: connect(*places, factory=Guillotine, **options)  # type: ignore[assignment, misc]
    while True:
        grant = new_grant(cost, ledger.currency, ledger.relation)
        if release_first:
            scene.release(grant.id)
        try:
            ledger._append(grant)
        except sv.errors.BudgetExceeded:
            return
        if point is Point.BEFORE_RELEASE and Guillotine.charges == fatal:
            _die()
        if not release_first:
            scene.release(grant.id)
        if point is Point.AFTER_RELEASE and Guillotine.charges == fatal:
            _die()


def in_child(work: Callable[[], None]) -> int:
    """The id of a forked process that does the work and ends without running anything of its parent's."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def kill_once(scene: Scene, point: Point, luck: random.Random, *, release_first: bool = False) -> bool:
    """Let a process spend until it is killed at the point. Whether SIGKILL ended it."""
    fatal = luck.randrange(1, 4)
    child = in_child(lambda: _spend(scene, point, fatal, release_first=release_first))
    if point is Point.ANY_TIME:
        time.sleep(luck.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def race(scene: Scene, processes: int, parts: int) -> tuple[int, int]:
    """Processes charge one budget of `parts` charges until each is refused: (granted, in the file)."""
    scene.open()

    def spend() -> None:
        ledger = scene.open()
        cost = event(ledger, parts)
        while True:
            try:
                scene.release(ledger.charge(cost).id)
            except sv.errors.BudgetExceeded:
                return

    children = [in_child(spend) for _ in range(processes)]
    for child in children:
        _, status = os.waitpid(child, 0)
        assert status == 0
    durable = scene.durable
    assert sorted(durable) == sorted(scene.released)
    return len(scene.released), len(durable)
