"""Evaluations, recalibrations and searches reserve their budget, and go on where they were interrupted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.accounting import Budget, Ledger, verify
from sottovoce.accounting.resume import part_of
from sottovoce.errors import BudgetExceeded, LedgerError, ParameterError
from sottovoce.evaluation.holdout import figures
from sottovoce.privacy import counting
from tests.attacks.test_resumed import Coupled, Dead, Stage, lines
from tests.tables import TWO, write

BUDGET = Budget(1.0, 1e-6)
POINTS = ("charged", "drawn", "written", "torn", "uncharged")
N = 400


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> sv.Model:
    table = write(tmp_path_factory.mktemp("trained") / "claims.csv", n=N)
    return sv.fit(table, TWO, epsilon=1.0, delta=1e-6, method="majorize", simulate=0)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "claims.csv", n=N, seed=1)


@pytest.fixture
def stages(tmp_path: Path) -> Iterator[Callable[[str], Stage]]:
    with pytest.MonkeyPatch.context() as patch:

        def made(name: str) -> Stage:
            patch.undo()
            (tmp_path / name).mkdir()
            stage = Stage(tmp_path / name, patch)
            patch.setattr(counting, "noise_for", lambda seed: Coupled(stage.released))
            return stage

        yield made


Task = Callable[[Ledger, str | None], Any]


def killed(task: Task, stage: Stage, fatal: int, point: str, run: str | None = None) -> None:
    stage.fatal, stage.point = fatal, point
    with pytest.raises(Dead):
        task(stage.ledger, run)
    stage.fatal = -1


def evaluated(model: sv.Model, table: Path, **other: Any) -> Task:
    def task(ledger: Ledger, run: str | None) -> Any:
        found = evaluation.evaluate(
            model, table, **{"budget": BUDGET, "ledger": ledger, "resume": run, **other}
        )
        return found.accuracy, found.log_loss, found.area, found.confusion.counts.tolist()

    return task


def recalibrated(model: sv.Model, table: Path, **other: Any) -> Task:
    def task(ledger: Ledger, run: str | None) -> Any:
        made = model.recalibrated(table, **{"budget": BUDGET, "ledger": ledger, "resume": run, **other})
        return made.result.weights.tolist()

    return task


def searched(seed: int = 0, **other: Any) -> Task:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (600, 2))
    y = X[:, 0] > X[:, 1]

    def task(ledger: Ledger, run: str | None) -> Any:
        settings = {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta, "ledger": ledger, **other}
        grid = settings.pop("grid", {"strength": [1e-6, 1e-2]})
        part = sv.PrivateClassifier(radius=1.0, classes=(False, True), method="majorize")
        search = sv.PrivateSearch(part, grid, **settings).fit(X, y, resume=run)
        return search.best_index_, [result.weights.tolist() for result in search.results_]

    return task


@pytest.mark.parametrize("kind", ["evaluate", "recalibrate", "search"])
def test_a_resumed_figure_is_the_uninterrupted_one(
    kind: str, model: sv.Model, table: Path, stages: Callable[[str], Stage]
) -> None:
    """With coupled noise: equal bit by bit and in their charges, so whatever the noise's law, theirs are
    equal. Killed five times, at other points of other answers."""
    task = {"evaluate": evaluated(model, table), "recalibrate": recalibrated(model, table)}.get(
        kind, searched()
    )
    whole = stages("whole")
    expected = task(whole.ledger, None)
    stage = stages("parts")
    killed(task, stage, 0, "charged")
    run = begun(stage)
    for fatal, point in enumerate(("drawn", "written", "torn", "uncharged"), start=1):
        killed(task, stage, fatal, point, run)
    seen = lines(stage.path)
    assert task(stage.ledger, run) == expected
    assert stage.ledger.units_spent == whole.ledger.units_spent
    assert [grant.event for grant in stage.ledger.history] == [grant.event for grant in whole.ledger.history]
    assert set(seen) <= set(lines(stage.path))
    assert len(set(stage.released)) == len(stage.released) == len(stage.ledger.history)
    spent = stage.ledger.units_spent
    assert task(stage.ledger, run) == expected
    assert stage.ledger.units_spent == spent
    assert not stage.ledger._store.held()


def begun(stage: Stage) -> str:
    """The first run that the ledger names: of a search the whole, not a part."""
    return verify(stage.path).runs[0].identity


@pytest.mark.parametrize(
    "other",
    [
        {"budget": Budget(0.9, 1e-6)},
        {"bins": 5},
        {"ceiling": 3.0},
        {"reading": sv.ReadOptions(invalid="zero")},
        {"declared": {"query": "another"}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_an_evaluation_goes_on_under_its_own_declarations_alone(
    other: dict[str, Any], model: sv.Model, table: Path, stages: Callable[[str], Stage]
) -> None:
    stage = stages("one")
    killed(evaluated(model, table), stage, 2, "written")
    spent, seen = stage.ledger.units_spent, lines(stage.path)
    with pytest.raises(LedgerError):
        evaluated(model, table, **other)(stage.ledger, begun(stage))
    with pytest.raises(ParameterError):
        evaluated(model, table, resume=sv.Resume(begun(stage), further=False))(stage.ledger, None)
    assert (stage.ledger.units_spent, lines(stage.path)) == (spent, seen)


def test_an_evaluation_goes_on_with_its_own_model_and_table_alone(
    model: sv.Model, table: Path, stages: Callable[[str], Stage]
) -> None:
    stage = stages("one")
    killed(evaluated(model, table), stage, 2, "written")
    run, times = begun(stage), os.stat(table)
    other = sv.fit(table, TWO, epsilon=1.0, delta=1e-6, method="majorize", simulate=1)
    with pytest.raises(LedgerError):
        evaluated(other, table)(stage.ledger, run)
    with pytest.raises(LedgerError):
        recalibrated(model, table)(stage.ledger, run)
    write(table, n=N, seed=2)
    os.utime(table, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(LedgerError):
        evaluated(model, table)(stage.ledger, run)


def test_a_model_that_cannot_be_told_from_others_is_not_gone_on_with(stages: Callable[[str], Stage]) -> None:
    class Local:
        classes_ = np.array([0, 1])

        def predict(self, X: Any) -> Any:
            return np.zeros(len(X), dtype=int)

    def task(ledger: Ledger, run: str | None) -> Any:
        X = np.zeros((20, 1))
        return evaluation.confusion_matrix(
            Local(), X, np.zeros(20, dtype=int), budget=BUDGET, ledger=ledger, resume=run
        )

    stage = stages("one")
    killed(task, stage, 0, "charged")
    with pytest.raises(LedgerError):
        task(stage.ledger, begun(stage))


@pytest.mark.parametrize("changed", ["grid", "held_out", "selection_share"])
def test_a_search_goes_on_with_its_own_contest_alone(changed: str, stages: Callable[[str], Stage]) -> None:
    other = {"grid": {"strength": [1e-2, 1e-6]}, "held_out": 0.3, "selection_share": 0.1}[changed]
    stage = stages("one")
    killed(searched(), stage, 2, "written")
    spent = stage.ledger.units_spent
    with pytest.raises(LedgerError):
        searched(**{changed: other})(stage.ledger, begun(stage))
    assert stage.ledger.units_spent == spent


def test_a_search_over_persons_draws_who_is_held_out_and_cannot_go_on(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "budget.db", dataset="d", cap=Budget(2.0, 1e-6), unit="person")
    X, keys = np.zeros((20, 1)), [str(place // 2) for place in range(20)]
    search = sv.PrivateSearch(
        sv.PrivateClassifier(radius=1.0, classes=(0, 1)), {"strength": [1.0]}, delta=1e-6, ledger=ledger
    )
    with pytest.raises(ParameterError):
        search.fit(X, np.zeros(20, dtype=int), groups=keys, resume="abc")
    assert ledger.history == ()


def test_whoever_measures_has_the_budget_to_itself(
    model: sv.Model, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rival that starts while a figure is computed is refused, whatever front began it."""
    ledger = Ledger.create(tmp_path / "budget.db", dataset="d", cap=Budget(1.1, 1e-6))
    refused: list[str] = []
    charged = Ledger._append

    def rivalled(account: Ledger, grant: Any) -> None:
        with pytest.raises(BudgetExceeded):
            ledger.start(Budget(1.0, 1e-6), "rival")
        refused.append(grant.run)
        charged(account, grant)

    monkeypatch.setattr(Ledger, "_append", rivalled)
    searched()(ledger, None)
    assert len({grant.run_id for grant in ledger.history}) == 3
    assert refused[-1] == "search"
    assert not ledger._store.held()
    other = Ledger.create(tmp_path / "other.db", dataset="d", cap=Budget(1.1, 1e-6))
    monkeypatch.setattr(Ledger, "_append", charged)
    sv.fit(table, TWO, epsilon=1.0, delta=1e-6, evaluate=0.2, method="majorize", ledger=other)
    assert [run.end for run in verify(tmp_path / "other.db").runs] == ["finished", "finished"]


def test_rows_held_out_are_paid_for_from_the_start(table: Path, tmp_path: Path) -> None:
    """Where the figures' part is not there, nothing is trained."""
    ledger = Ledger.create(tmp_path / "budget.db", dataset="d", cap=Budget(1.0, 1e-6))
    rival = ledger.start(Budget(0.3, 1e-6), "rival")
    with pytest.raises(BudgetExceeded):
        sv.fit(table, TWO, epsilon=1.0, delta=1e-6, evaluate=0.2, method="majorize", ledger=ledger)
    assert ledger.history == ()
    rival.close()
    sv.fit(table, TWO, epsilon=1.0, delta=1e-6, evaluate=0.2, method="majorize", ledger=ledger)


@pytest.mark.parametrize("how", ["memory", "file"])
def test_a_part_takes_from_its_whole_and_from_nobody_else(how: str, tmp_path: Path) -> None:
    cap = Budget(2.0, 1e-6)
    ledger = Ledger(cap) if how == "memory" else Ledger.create(tmp_path / "b.db", dataset="d", cap=cap)
    whole = ledger.start(Budget(1.5, 1e-6), "whole", parts=2)
    left = ledger.units_left
    within = ledger.within(whole)
    part = within.start(Budget(0.5, 1e-6), "part")
    assert part.identity == part_of(whole.identity, 0)
    assert ledger.units_left == left
    assert ledger._store.held()[whole.identity].units == whole.units_cap - part.units_cap
    with pytest.raises(BudgetExceeded):
        within.start(Budget(1.99, 1e-6), "more than there is")
    part.close()
    assert ledger.units_left == left + part.units_cap
    whole.close()
    assert ledger.units_left == ledger.units_cap


def test_figures_of_counts_and_numbers_are_one_run(tmp_path: Path, model: sv.Model, table: Path) -> None:
    ledger = Ledger.create(tmp_path / "budget.db", dataset="d", cap=Budget(1.0, 1e-6))
    found = figures(model, model.encode(table), sv_target(table), budget=BUDGET, ledger=ledger)
    assert [figure.name for figure in found] == [
        "accuracy",
        "majority rate",
        "area under the ROC curve",
        "log loss",
    ]
    assert len({grant.run_id for grant in ledger.history}) == 1
    assert ledger.units_spent >= 0.99 * ledger.units_cap


def sv_target(table: Path) -> Any:
    from sottovoce.data.files import read

    return read(table, TWO).target
