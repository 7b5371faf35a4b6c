"""Canaries among the rows of a table: coins are told, records are charged for, the page says evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.audit import planted
from sottovoce.audit.evidence import evidence
from sottovoce.audit.one_run import OneRun, audit_one_run
from sottovoce.cli import app
from sottovoce.errors import BudgetExceeded, ParameterError

SCHEMA = """
[columns.a]
type = "numeric"
low = -1.0
high = 1.0

[target]
column = "y"
classes = ["no", "yes"]
"""


def written(folder: Path, seed: int = 0, schema: str = SCHEMA) -> tuple[Path, Path]:
    """A table of 300 rows and its schema."""
    rng = np.random.default_rng(seed)
    lines = [f"{a:.4f},{'yes' if a + e > 0 else 'no'}" for a, e in rng.uniform(-1.0, 1.0, (300, 2))]
    table, declared = folder / f"table{seed}.csv", folder / "schema.toml"
    table.write_text("a,y\n" + "\n".join(lines) + "\n")
    declared.write_text(schema)
    return table, declared


@pytest.mark.parametrize("relation", list(Relation))
def test_no_record_of_the_table_touches_the_column_of_a_canary(tmp_path: Path, relation: Relation) -> None:
    tossed = np.arange(100) % 3 == 0
    slopes = []
    for seed in (0, 1):
        found = planted.among(*written(tmp_path, seed), tossed, relation, sv.ReadOptions())
        slopes.append(found.risk.gradient(np.zeros(found.risk.dim))[found.first : found.first + 100])
        assert (found.others, found.first, found.risk.dim) == (300, 1, 102)
    np.testing.assert_array_equal(*slopes)
    heads, tails = -slopes[0][tossed], -slopes[0][~tossed]
    assert np.all(heads > tails[0])
    assert np.all(heads == heads[0])
    assert np.all(tails == tails[0])


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
def test_with_little_privacy_more_coins_are_told_than_by_guessing(tmp_path: Path, relation: str) -> None:
    table, schema = written(tmp_path)
    budget = sv.Budget(20.0, 1e-5, relation)
    found = audit_one_run("majorize", budget, canaries=400, simulate=1, table=table, schema=schema)
    assert stats.binom.sf(found.right - 1, found.guesses, 0.5) < 1e-6
    assert not found.flagged
    assert "300 records of a table" in str(found)


def test_an_audit_among_records_is_charged_as_a_fit_is(tmp_path: Path) -> None:
    table, schema = written(tmp_path)
    budget = sv.Budget(1.0, 1e-5)
    ledger = sv.Ledger(budget)
    asked: dict[str, Any] = {"canaries": 100, "confidence": 0.999, "ledger": ledger}
    asked |= {"table": table, "schema": schema}
    assert not audit_one_run("majorize", budget, **asked).flagged
    with pytest.raises(BudgetExceeded):
        audit_one_run("majorize", budget, **asked)


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA.replace('["no", "yes"]', '["no", "yes", "maybe"]'),
        SCHEMA.replace('classes = ["no", "yes"]', "low = 0.0\nhigh = 1.0"),
        'person = "who"\n' + SCHEMA,
        'weight = "w"\nweight_cap = 2.0\n' + SCHEMA,
    ],
    ids=["three classes", "a number", "persons", "weights"],
)
def test_a_table_where_no_canary_fits_is_refused_unread(tmp_path: Path, schema: str) -> None:
    _, declared = written(tmp_path, schema=schema)
    budget = sv.Budget(1.0, 1e-5)
    ledger = sv.Ledger(budget)
    with pytest.raises(ParameterError, match="canaries are"):
        audit_one_run("majorize", budget, table=tmp_path / "none.csv", schema=declared, ledger=ledger)
    assert not ledger.history


def test_a_table_needs_its_schema_and_one_run(tmp_path: Path) -> None:
    table, schema = written(tmp_path)
    for odd in ({"table": table}, {"schema": schema}, {"ledger": sv.Ledger(sv.Budget(1.0, 1e-5))}):
        with pytest.raises(ParameterError, match="go together"):
            audit_one_run("majorize", sv.Budget(1.0, 1e-5), **odd)
    said = CliRunner().invoke(app, ["audit", "--data", str(table), "--schema", str(schema)])
    assert isinstance(said.exception, ParameterError) or said.exit_code != 0


def test_the_page_shows_an_audit_of_its_own_promise_as_evidence(tmp_path: Path) -> None:
    table, schema = written(tmp_path)
    model, page, audited = tmp_path / "model.json", tmp_path / "page.html", tmp_path / "audit.json"
    promise = ["--epsilon", "1", "--delta", "1e-5"]
    run = CliRunner().invoke
    fitted = ["fit", str(table), "--schema", str(schema), *promise, "-o", str(model), "--quiet"]
    assert run(app, fitted).exit_code == 0
    asked = ["audit", "--one-run", "--canaries", "100", "--method", "majorize", "--json", *promise]
    said = run(app, [*asked, "--data", str(table), "--schema", str(schema)])
    assert said.exit_code == 0, said.output
    raw = json.loads(said.stdout)
    audited.write_text(json.dumps({**raw, "subject": "method <b>"}))
    shown = run(app, ["report", str(model), "-o", str(page), "--audit", str(audited)])
    assert shown.exit_code == 0, shown.output
    text = page.read_text()
    assert "evidence, not a guarantee" in text
    assert "method &lt;b&gt; was attacked by one run with 100 made-up records" in text
    audited.write_text(json.dumps({**raw, "epsilon": 3.0}))
    refused = run(app, ["report", str(model), "-o", str(page), "--audit", str(audited), "--force"])
    assert refused.exit_code != 0


def test_evidence_is_read_from_audits_alone_and_a_refuted_promise_is_named() -> None:
    claim = {"epsilon": 4.0, "delta": 1e-5, "relation": "replace-one", "mu": 0.92}
    proved = {"confidence": 0.95, "epsilon_at_least": 0.5, "mu_at_least": 0.1}
    told = OneRun(subject="method 'adapt'", canaries=100, guesses=40, right=30, **claim, **proved)
    found = told.to_dict()
    promise = sv.Guarantee(epsilon=4.0, delta=1e-5, n=100)
    assert "does not contradict" in evidence(found, promise)
    assert "REFUTES" in evidence({**found, "epsilon_at_least": 9.0, "flagged": True}, promise)
    many = {**found, "runs": 2000}
    del many["canaries"]
    assert "2,000 times" in evidence(many, promise)
    for odd in (
        [],
        {},
        {**found, "mu_at_least": float("nan")},
        {**found, "right": -1},
        {**found, "flagged": 1},
    ):
        with pytest.raises(ParameterError, match="no audit"):
            evidence(odd, promise)
    for name, other in (("delta", 1e-6), ("relation", "zero-out")):
        with pytest.raises(ParameterError, match="Audit what"):
            evidence({**found, name: other}, promise)
