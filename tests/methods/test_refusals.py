"""What public facts decide is decided before the first charge; a run that has begun is not ended by them."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

import sottovoce as sv
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.methods.paper.gap import MeasuredGap
from sottovoce.methods.paper.opt import OptBatch, OptSearch
from sottovoce.methods.paper.phases import Batch
from sottovoce.methods.registry import METHODS
from tests import problems
from tests.covering import covering

DIM, N = 6, 400
BUDGET = sv.Budget(2.0, 1e-5)
TOLERANCES = {
    "none": None,
    "loose": sv.Tolerance(gradient=0.2, curvature=1.0),
    "tight": sv.Tolerance(gradient=0.05, curvature=0.01),
}
LIMITS = {"matrices fit": 5000, "too wide for a matrix": 4}
LEDGERS = ("none", "gdp", "renyi", "file")


@cache
def risk_of(name: str, folder: Path) -> Any:
    X, y = problems.arrays(N, DIM, seed=1)
    match name:
        case "margin":
            return sv.Risk(sv.Records.from_arrays(X, y, labels=(-1, 1)), sv.losses.Sigmoid())
        case "regression":
            records = sv.Records.from_arrays(X, X @ np.ones(DIM), target=(-2.0, 2.0))
            return sv.Risk(records, sv.losses.Cauchy(), sv.regularizers.L2(1e-3))
        case "softmax":
            records = sv.Records.from_arrays(X[:, :2], np.arange(N) % 3, labels=(0, 1, 2))
            return sv.SoftmaxRisk(records)
        case "sparse":
            records = sv.Records.from_arrays(sparse.csr_array(X), y, labels=(-1, 1), nonzeros=DIM)
            return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-3))
        case "streamed":
            return sv.Risk(streamed(folder, X, y), sv.losses.Savage(), sv.regularizers.Tukey(1e-3))
        case _:
            pytest.importorskip("torch", reason="PyTorch is not installed")
            from tests.autodiff import models

            return models.linear_risk(N, DIM, curvature=name.removeprefix("torch "))


def streamed(folder: Path, X: np.ndarray, y: np.ndarray) -> sv.Records:
    names = [f"x{column}" for column in range(DIM)]
    table = pa.table({**dict(zip(names, X.T, strict=True)), "y": y})
    parquet.write_table(table, folder / "rows.parquet", row_group_size=100)
    schema = Schema(tuple(Numeric(name, -1, 1) for name in names), Target("y", classes=(-1, 1)))
    return sv.Records.from_parquet(folder / "rows.parquet", schema, memory=2**10)


REFUSED = {("spider", "softmax")}
"""Changes of a gradient are of one score a record."""

RISKS = ("margin", "regression", "softmax", "sparse", "streamed", "torch matrix", "torch products")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows")


def ledger_of(kind: str, path: Path) -> sv.Ledger | None:
    match kind:
        case "gdp":
            return sv.Ledger(BUDGET)
        case "renyi":
            return sv.Ledger(BUDGET, currency="renyi", order=16)
        case "file":
            return sv.Ledger.create(path / "budget.db", dataset="d", cap=BUDGET, currency="renyi", order=16)
        case _:
            return None


def refused_or_run(risk: Any, ledger: sv.Ledger | None, **given: Any) -> sv.Stop | None:
    """None where the run was refused, in which case nothing may have been charged."""
    persistent = ledger is not None and ledger.persistent
    try:
        result = sv.minimize(risk, budget=BUDGET, ledger=ledger, simulate=None if persistent else 0, **given)
    except (sv.errors.ParameterError, sv.errors.LedgerError):
        assert ledger is None or not ledger.units_spent
        return None
    return result.stop


WAYS = tuple(product(("gdp", "renyi"), TOLERANCES))
"""Ledgers and tolerances."""


def few_ways(method: str, name: str, limit: str) -> list[tuple[str, str]]:
    """For the default run: every tolerance where a matrix may have to be refused, on a ledger that all
    methods can charge; elsewhere one way, another one at the next risk."""
    if limit == "too wide for a matrix":
        return [("renyi", wish) for wish in TOLERANCES]
    return [WAYS[(list(METHODS).index(method) + RISKS.index(name)) % len(WAYS)]]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", RISKS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["few ways", "all ways"]
)
def test_a_run_is_refused_before_the_first_charge_or_runs_to_its_end(
    method: str, name: str, limit: str, whole: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.problem.LARGEST_MATRIX", LIMITS[limit])
    risk = risk_of(name, folder)
    for kind, wish in WAYS if whole else few_ways(method, name, limit):
        given = {"method": method, "tolerance": TOLERANCES[wish]}
        ran = refused_or_run(risk, ledger_of(kind, folder), **given) is not None
        if (method, name) in REFUSED:
            assert not ran
        elif limit == "matrices fit" and not name.startswith("torch") and (kind, wish) == ("renyi", "loose"):
            assert ran


@pytest.mark.parametrize(("method", "limit"), covering(product(METHODS, LIMITS), together=1))
def test_a_ledger_file_too_is_charged_only_by_runs_that_go_on(
    method: str, limit: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.problem.LARGEST_MATRIX", LIMITS[limit])
    given = {"method": method, "tolerance": TOLERANCES["loose"]}
    refused_or_run(risk_of("margin", folder), ledger_of("file", tmp_path), **given)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize(
    "method",
    [
        OptSearch(gap=MeasuredGap()),
        OptBatch(batch=Batch(fraction=0.1)),
        BatchDescent(looks=3, steps=20),
    ],
    ids=lambda method: method.name,
)
@pytest.mark.parametrize("name", ["margin", "torch products"])
def test_configured_methods_find_out_in_time_too(
    name: str, method: Any, tolerance: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.problem.LARGEST_MATRIX", 4)
    ledger = ledger_of("renyi", folder)
    refused_or_run(risk_of(name, folder), ledger, method=method, tolerance=TOLERANCES[tolerance])


@pytest.mark.parametrize("method", ["opt", "2opt-ls", "tr", "opt-b"])
def test_published_noise_that_would_not_do_at_far_weights_is_refused_at_the_start(method: str) -> None:
    """At zero weights the paper's sensitivity covers a radius of 1.2, at long ones it does not."""
    X, y = problems.arrays(N, 3)
    records = sv.Records.from_arrays(5 * X, y, radius=1.2, labels=(-1, 1))
    ledger = sv.Ledger(BUDGET, currency="renyi", order=16)
    with pytest.raises(sv.errors.ParameterError, match="not be private"):
        sv.minimize(
            sv.Risk(records, sv.losses.Logistic()),
            budget=BUDGET,
            method=method,
            tolerance=sv.Tolerance(gradient=0.3, curvature=0.5),
            calibration="published",
            ledger=ledger,
            simulate=0,
        )
    assert not ledger.units_spent


def test_wide_softmax_descends_without_looks_at_a_curvature_it_cannot_form(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.problem.LARGEST_MATRIX", 4)
    given: dict[str, Any] = {"method": BatchDescent(steps=20), "simulate": 0, "budget": BUDGET}
    result = sv.minimize(risk_of("softmax", folder), **given)
    assert result.stop is sv.Stop.FINISHED
    assert {row.kind for row in result.trace} == {"batch step", "measurement"}
    plan = sv.plan(n=N, dim=2, classes=3, loss=sv.losses.Logistic(), budget=BUDGET, method="descent-b")
    assert "Hessian" not in {query.query for query in plan.noise}
