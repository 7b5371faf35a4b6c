"""Runs that were interrupted and go on: the same law, nothing paid or drawn twice, or a refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import training
from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.disk.journal import Journal
from sottovoce.errors import LedgerError, ParameterError
from sottovoce.privacy.noise import SimulatedNoise
from tests.tables import TWO, write

BUDGET, CAP = Budget(1.0, 1e-6), Budget(3.0, 1e-6)
METHODS = (
    "adapt",
    "majorize",
    pytest.param("accelerate", marks=pytest.mark.slow),
    pytest.param("cubic", marks=pytest.mark.slow),
)


class Dead(BaseException):
    """SIGKILL, as far as one process can play it: nothing after it runs but what has no effect."""


class Coupled:
    """Noise that depends on how many answers were released before, and on nothing else."""

    simulated = False

    def __init__(self, released: list[str]) -> None:
        self._released = released

    def _fresh(self) -> SimulatedNoise:
        return SimulatedNoise(1000 + len(self._released))

    def gaussian(self, *arguments: Any) -> Any:
        return self._fresh().gaussian(*arguments)

    def laplace(self, *arguments: Any) -> Any:
        return self._fresh().laplace(*arguments)

    def first_above(self, *arguments: Any) -> Any:
        return self._fresh().first_above(*arguments)


def risk(seed: int = 0, n: int = 2000) -> sv.Risk:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 3)) / 2.0
    return sv.Risk(sv.Records.from_arrays(X, X[:, 0] > X[:, 1], labels=(False, True)), sv.losses.Logistic())


def lines(path: Path) -> list[str]:
    return [
        line for file in sorted(path.parent.glob("*.runs/*")) for line in file.read_text().splitlines()[1:]
    ]


class Stage:
    """A ledger, and runs on it that die at a point of their k-th answer."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.path, self.patch = folder / "budget.db", patch
        self.ledger = Ledger.create(self.path, dataset="d", cap=CAP)
        self.released: list[str] = []
        patch.setattr(training, "noise_for", lambda seed: Coupled(self.released))
        self.fatal, self.point = -1, ""
        write, charge = Journal._write, Ledger._append

        def written(journal: Journal, raw: Any) -> None:
            if "charge" in raw and len(self.released) == self.fatal and self.point == "drawn":
                raise Dead
            if "charge" in raw and len(self.released) == self.fatal and self.point == "torn":
                half = json.dumps({"charge": raw["charge"], "part": 0, "vec": "tor"}).encode()
                with open(journal.path, "ab") as stream:
                    stream.write(half)
                raise Dead
            write(journal, raw)
            if "charge" in raw:
                self.released.append(raw["charge"])
                if len(self.released) - 1 == self.fatal and self.point == "written":
                    raise Dead

        def charged(ledger: Ledger, grant: Any) -> None:
            if len(self.released) == self.fatal and self.point == "uncharged":
                raise Dead
            charge(ledger, grant)
            if len(self.released) == self.fatal and self.point == "charged":
                raise Dead

        patch.setattr(Journal, "_write", written)
        patch.setattr(Ledger, "_append", charged)

    def run(self, method: str, **options: Any) -> sv.Result:
        return sv.minimize(risk(), budget=BUDGET, method=method, ledger=self.ledger, inference=0.2, **options)

    def dies(self, method: str, fatal: int, point: str, **options: Any) -> None:
        self.fatal, self.point = fatal, point
        with pytest.raises(Dead):
            self.run(method, **options)
        self.fatal = -1

    @property
    def identity(self) -> str:
        return next(self.path.parent.glob("*.runs/*")).stem


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_is_the_uninterrupted_one(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same noise, same weights, bit by bit, same charges: so whatever the law of the noise, that of the
    weights is the same. Killed five times, at other points of other answers."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        whole = Stage(tmp_path / "whole", patch)
        expected = whole.run(method)
    stage = Stage(tmp_path / "parts", monkeypatch)
    stage.dies(method, 1, "charged")
    stage.dies(method, 3, "drawn", resume=stage.identity)
    stage.dies(method, 5, "written", resume=stage.identity)
    stage.dies(method, 7, "torn", resume=stage.identity)
    stage.dies(method, 8, "uncharged", resume=stage.identity)
    seen = lines(stage.path)
    result = stage.run(method, resume=stage.identity)
    assert np.array_equal(result.weights, expected.weights)
    assert result.stop is expected.stop
    assert result.caveats == expected.caveats
    assert result.spending == expected.spending
    assert [grant.event for grant in stage.ledger.history] == [grant.event for grant in whole.ledger.history]
    assert stage.ledger.units_spent == whole.ledger.units_spent
    assert lines(stage.path)[: len(seen)] == seen
    assert len(set(stage.released)) == len(stage.released) == len(stage.ledger.history)
    again = stage.run(method, resume=stage.identity)
    assert np.array_equal(again.weights, expected.weights)
    assert stage.ledger.units_spent == whole.ledger.units_spent


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupted_run_gives_the_model_its_answers_allow_and_is_charged_no_more(
    method: str, stage: Stage
) -> None:
    stage.dies(method, 4, "charged")
    spent, seen = stage.ledger.units_spent, lines(stage.path)
    result = stage.run(method, resume=sv.Resume(stage.identity, further=False))
    assert result.stop is sv.Stop.CUT_SHORT
    assert len(result.caveats) == 1
    assert np.isfinite(result.weights).all()
    assert stage.ledger.units_spent == spent
    assert lines(stage.path) == seen
    stage.run(method, resume=stage.identity)


@pytest.mark.parametrize(
    "other",
    [
        {"method": "majorize"},
        {"budget": Budget(0.9, 1e-6)},
        {"inference": 0.1},
        {"confidence": 0.9},
        {"tolerance": sv.Tolerance(gradient=0.5)},
        {"purpose": "another"},
        {"start": np.ones(3)},
        {"declared": {"schema": "another"}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_run_goes_on_under_its_own_declarations_alone(other: dict[str, Any], stage: Stage) -> None:
    stage.dies("adapt", 3, "written")
    spent, seen = stage.ledger.units_spent, lines(stage.path)
    options = {"budget": BUDGET, "method": "adapt", "inference": 0.2, **other}
    with pytest.raises(LedgerError):
        sv.minimize(risk(), ledger=stage.ledger, resume=stage.identity, **options)
    assert (stage.ledger.units_spent, lines(stage.path)) == (spent, seen)


def test_a_run_goes_on_with_its_own_data_set_alone(stage: Stage) -> None:
    stage.dies("adapt", 3, "written")
    other = Ledger.create(stage.path, dataset="other", cap=CAP)
    asked: dict[str, Any] = {"budget": BUDGET, "method": "adapt", "inference": 0.2, "resume": stage.identity}
    with pytest.raises(LedgerError):
        sv.minimize(risk(), ledger=other, **asked)
    with pytest.raises(LedgerError):
        sv.minimize(risk(n=1999), ledger=stage.ledger, **asked)
    assert other.history == ()


@pytest.mark.parametrize("damage", ["changed", "shorter", "longer", "swapped", "gone"])
def test_a_journal_that_does_not_fit_its_ledger_is_refused(damage: str, stage: Stage) -> None:
    """Among them one from a backup: what came after it would be drawn a second time."""
    stage.dies("adapt", 5, "charged")
    file = next(stage.path.parent.glob("*.runs/*"))
    held = file.read_text().splitlines(keepends=True)
    match damage:
        case "changed":
            held[2] = held[2].replace('"part": 0', '"part": 1')
        case "shorter":
            held = held[:-1]
        case "longer":
            held.append(held[-1])
        case "swapped":
            held[1], held[2] = held[2], held[1]
    if damage == "gone":
        file.unlink()
    else:
        file.write_text("".join(held))
    spent = stage.ledger.units_spent
    with pytest.raises(LedgerError):
        stage.run("adapt", resume=file.stem)
    assert stage.ledger.units_spent == spent


def test_a_journal_without_its_last_answer_is_refused_once_the_run_ended(stage: Stage) -> None:
    stage.run("adapt")
    file = next(stage.path.parent.glob("*.runs/*"))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(LedgerError):
        stage.run("adapt", resume=file.stem)


def test_a_run_at_work_is_not_gone_on_with_by_another(stage: Stage) -> None:
    stage.dies("adapt", 3, "written")
    held = Journal(str(next(stage.path.parent.glob("*.runs/*"))))
    held.resume()
    with pytest.raises(LedgerError):
        stage.run("adapt", resume=stage.identity)
    held.close()
    stage.run("adapt", resume=stage.identity)


def test_a_fit_goes_on_with_the_file_it_read_and_under_its_schema(stage: Stage, tmp_path: Path) -> None:
    table = write(tmp_path / "claims.csv", n=400)
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "ledger": stage.ledger}
    stage.fatal, stage.point = 3, "written"
    with pytest.raises(Dead):
        sv.fit(table, TWO, **asked)
    stage.fatal = -1
    with pytest.raises(LedgerError):
        sv.fit(table, TWO, reading=sv.ReadOptions(invalid="zero"), resume=stage.identity, **asked)
    with pytest.raises(ParameterError):
        sv.fit(table, TWO, evaluate=0.1, resume=stage.identity, **asked)
    model = sv.fit(table, TWO, resume=stage.identity, **asked)
    assert model.result.stop is sv.Stop.FINISHED
    write(table, n=400, seed=1)
    with pytest.raises(LedgerError):
        sv.fit(table, TWO, resume=stage.identity, **asked)


def test_only_runs_on_a_ledger_file_can_go_on() -> None:
    with pytest.raises(LedgerError):
        sv.minimize(risk(), budget=BUDGET, ledger=Ledger(CAP), resume="3f9a")
    with pytest.raises(ParameterError):
        sv.minimize(risk(), budget=BUDGET, ledger=Ledger(CAP), resume="")
