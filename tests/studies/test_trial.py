"""One run: what the meter counts, where it cuts, and that exact values stay outside."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from sottovoce import Budget, Ledger, minimize
from sottovoce.accounting.events import QueryKind
from sottovoce.errors import DataError
from sottovoce.methods.registry import by_name
from sottovoce.queries import Derivatives, Queries
from sottovoce_studies.meter import Meter, Metered, MeteredBatch, Reading
from sottovoce_studies.problems import require_present, risk_on
from sottovoce_studies.settings import Cell, Table, Trial
from sottovoce_studies.trial import Run, perform
from tests.studies.rows import write_rows

LOOSE = Table("ijcnn1", "logistic", "loose")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_rows(tmp_path_factory.mktemp("rows")))


def test_the_meter_forwards_every_query() -> None:
    for protocol, proxy in ((Queries, Meter), (Derivatives, MeteredBatch)):
        asked = {name for name in dir(protocol) if not name.startswith("_")}
        assert asked <= set(dir(proxy))


@pytest.mark.parametrize("method", ["majorize", "cubic", "2opt-ls", "opt", "tr", "dp-gd"])
def test_passes_are_the_queries_charged_to_the_ledger(rows: str, method: str) -> None:
    risk = risk_on("ijcnn1", "logistic", rows)
    budget, reading = Budget(epsilon=4.0, delta=1.0 / risk.n), Reading(longest=50)
    ledger = Ledger(budget)
    metered = Metered(by_name(method), reading)
    minimize(risk, budget=budget, method=metered, tolerance=LOOSE.tolerance, ledger=ledger, simulate=3)
    charged = [entry.event.query for entry in ledger.history]
    assert reading.passes == len(charged) > 0
    assert reading.hessians == sum(query in (QueryKind.HESSIAN, QueryKind.EIGENVALUE) for query in charged)


def test_a_batch_is_a_part_of_a_pass(rows: str) -> None:
    run = perform(Trial(Cell(LOOSE, "opt-b", 8.0, "published"), 0), rows, 5)
    assert run.passes == pytest.approx(0.01 * round(run.passes / 0.01))
    assert 0.0 < run.passes <= 0.11


def test_the_meter_changes_no_answer(rows: str) -> None:
    trial = Trial(Cell(LOOSE, "2opt-ls", 4.0, "tight"), 2)
    risk = risk_on("ijcnn1", "logistic", rows)
    plain = minimize(
        risk,
        budget=Budget(epsilon=4.0, delta=1.0 / risk.n),
        method="2opt-ls",
        tolerance=LOOSE.tolerance,
        start=np.random.default_rng(2).standard_normal(risk.dim),
        simulate=2,
    )
    run = perform(trial, rows, 300)
    assert (run.stop, run.visits) == (plain.stop.name, len(plain.trace))
    assert run.final_loss == risk.value(plain.weights)
    assert run.gradient_norm == pytest.approx(np.linalg.norm(risk.gradient(plain.weights)), rel=1e-12)
    assert run.inside == (run.gradient_norm <= 0.04 and run.eigenvalue >= -0.2)


def test_a_long_run_is_cut_and_says_so(rows: str) -> None:
    trial = Trial(Cell(LOOSE, "opt", 0.2, "published"), 0)
    run = perform(trial, rows, 7)
    assert (run.cut, run.visits, run.longest) == (True, 7, 7)
    assert not run.stopped
    assert run.path[0][0] == 1.0
    assert not perform(Trial(Cell(LOOSE, "majorize", 4.0, "tight"), 0), rows, 7).cut


def test_a_run_survives_its_file(rows: str) -> None:
    run = perform(Trial(Cell(LOOSE, "majorize", 4.0, "tight"), 0), rows, 300)
    raw = run.to_dict()
    assert Run.from_dict(raw) == run
    assert (raw["dataset"], raw["loss"], raw["method"], raw["seed"]) == ("ijcnn1", "logistic", "majorize", 0)
    del raw["stop"]
    with pytest.raises(DataError, match="not a run"):
        Run.from_dict(raw)


def test_only_the_first_seed_keeps_its_path(rows: str) -> None:
    first = Trial(Cell(LOOSE, "majorize", 4.0, "tight"), 0)
    assert perform(first, rows, 300).path
    assert not perform(dataclasses.replace(first, seed=1), rows, 300).path


def test_without_ijcnn1_one_line_says_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    require_present(["covtype"], None)
    with pytest.raises(DataError, match=r"LIBSVM publishes it at https://.*--data PATH, or SOTTOVOCE_DATA"):
        require_present(["covtype", "ijcnn1"], None)
    with pytest.raises(DataError, match="cannot be read as IJCNN1"):
        require_present(["ijcnn1"], str(tmp_path))
