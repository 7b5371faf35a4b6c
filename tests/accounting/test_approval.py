"""Runs above an account's limit wait until someone who has a key has signed them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import openssh
from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, verify
from sottovoce.accounting.disk.approval import NAMESPACE, approval, approve
from sottovoce.accounting.disk.entries import EntryKind, Signed, write_signed
from sottovoce.accounting.disk.ledger_file import LedgerFile
from sottovoce.accounting.disk.renewal import renew
from sottovoce.cli.exits import ExitCode
from sottovoce.errors import ApprovalNeeded, BudgetExceeded, LedgerError, ParameterError, ResourceError
from tests.attacks.test_resumed import risk
from tests.system.test_outputs import Shell
from tests.tables import TWO, write

pytestmark = pytest.mark.skipif(not openssh.is_installed(), reason="ssh-keygen is not installed")

CAP, SMALL, LARGE = Budget(3.0, 1e-6), Budget(0.5, 1e-6), Budget(1.0, 1e-6)


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("officer", "stranger"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(made, check=True)
    signers = f"officer@example.org {(folder / 'officer.pub').read_text()}"
    (folder / "signers").write_text(f"# who may\n{signers}")
    return folder


@pytest.fixture
def ledger(tmp_path: Path, keys: Path) -> Ledger:
    rule = approval(0.5, keys / "signers")
    return Ledger.create(tmp_path / "budget.db", dataset="d", cap=CAP, approval=rule)


def path_of(ledger: Ledger) -> str:
    assert ledger.address is not None
    return ledger.address[0]


def fitted(ledger: Ledger, budget: Budget = LARGE, **options: Any) -> sv.Result:
    return sv.minimize(risk(n=500), budget=budget, ledger=ledger, method="majorize", **options)


def asked(ledger: Ledger, **options: Any) -> str:
    """A run that waits, by its identity."""
    with pytest.raises(ApprovalNeeded):
        fitted(ledger, **options)
    return verify(path_of(ledger)).runs[-1].identity


def test_a_run_within_the_limit_waits_for_nobody(ledger: Ledger) -> None:
    assert not ledger.waits(SMALL)
    assert fitted(ledger, SMALL).stop is sv.Stop.FINISHED


def test_a_run_above_it_waits_is_approved_and_goes_on(ledger: Ledger, keys: Path) -> None:
    run = asked(ledger)
    assert ledger.waits(LARGE)
    assert ledger.history == ()
    assert not ledger._store.held()
    assert verify(path_of(ledger)).runs[-1].end == "waits for approval"
    with pytest.raises(ApprovalNeeded):
        fitted(ledger, resume=run)
    assert len(verify(path_of(ledger)).runs) == 1
    assert approve(path_of(ledger), run[:8], keys / "officer").epsilon == LARGE.epsilon
    assert "approved by officer@example.org" in str(verify(path_of(ledger)))
    result = fitted(ledger, resume=run)
    assert result.stop is sv.Stop.FINISHED
    assert {grant.run_id for grant in ledger.history} == {run}
    with pytest.raises(LedgerError):
        approve(path_of(ledger), run, keys / "officer")


def test_an_approval_is_of_one_run_alone(ledger: Ledger, keys: Path) -> None:
    approve(path_of(ledger), asked(ledger), keys / "officer")
    second = asked(ledger)
    with pytest.raises(ApprovalNeeded):
        fitted(ledger, resume=second)
    first = verify(path_of(ledger)).runs[0].identity
    for other in ({"budget": Budget(1.1, 1e-6)}, {"purpose": "another"}, {"inference": 0.1}):
        with pytest.raises(LedgerError):
            fitted(ledger, resume=first, **other)
    assert ledger.history == ()


def test_nobody_else_approves(ledger: Ledger, keys: Path, tmp_path: Path) -> None:
    run = asked(ledger)
    with pytest.raises(LedgerError):
        approve(path_of(ledger), run, keys / "stranger")
    with pytest.raises(ParameterError):
        approve(path_of(ledger), run, tmp_path / "nokey")
    (tmp_path / "bad").write_text("no key")
    with pytest.raises(ResourceError):
        approve(path_of(ledger), run, tmp_path / "bad")
    with pytest.raises(ApprovalNeeded):
        fitted(ledger, resume=run)


@pytest.mark.parametrize("forgery", ["stranger", "another use", "another run", "another account"])
def test_an_entry_that_nobody_signed_as_it_should_be_approves_nothing(
    forgery: str, ledger: Ledger, keys: Path
) -> None:
    """Whoever can write to the file can write an entry, but no signature of the run."""
    file, run, earlier = LedgerFile(path_of(ledger)), asked(ledger), asked(ledger)
    with file.reading() as transaction:
        account = transaction.chain.accounts["d"]
    text = account.asked[earlier if forgery == "another run" else run].text(
        "0" * 32 if forgery == "another account" else account.identity
    )
    key = keys / ("stranger" if forgery == "stranger" else "officer")
    use = "sottovoce" if forgery == "another use" else NAMESPACE
    signature = openssh.signature_of(text, key, use)
    with file.writing() as transaction:
        transaction.append("d", EntryKind.APPROVED, write_signed(Signed(run, signature)))
    with pytest.raises(ApprovalNeeded):
        fitted(ledger, resume=run)
    with pytest.raises(LedgerError):
        verify(path_of(ledger))


def test_what_was_approved_is_what_the_journal_says(ledger: Ledger, keys: Path) -> None:
    """A journal with other declarations under the same name is refused, though its own seals hold."""
    run = asked(ledger)
    approve(path_of(ledger), run, keys / "officer")
    other = asked(ledger, purpose="another")
    folder = Path(f"{path_of(ledger)}.runs")
    header = json.loads((folder / f"{other}.jsonl").read_text())
    header["run"] = run
    from sottovoce.accounting.disk.journal import Journal

    (folder / f"{run}.jsonl").unlink()
    forged = Journal(str(folder / f"{run}.jsonl"))
    forged.begin({name: value for name, value in header.items() if name not in ("seal", "format")})
    forged.close()
    with pytest.raises(LedgerError):
        fitted(ledger, resume=run, purpose="another")
    assert ledger.history == ()


def test_what_cannot_wait_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ApprovalNeeded):
        ledger.run(LARGE)
    unit = GaussianEvent(QueryKind.GRADIENT, 1.0, 1.0, 3, 0.0)
    with pytest.raises(ApprovalNeeded):
        ledger.charge(unit)
    table = write(tmp_path / "claims.csv", n=300)
    terms: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    with pytest.raises(ApprovalNeeded):
        sv.fit(table, TWO, evaluate=0.2, **terms)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 2))
    part = sv.PrivateClassifier(radius=1.0, classes=(False, True))
    search = sv.PrivateSearch(part, {"strength": [1e-6, 1e-3]}, **terms)
    with pytest.raises(ApprovalNeeded):
        search.fit(X, X[:, 0] > 0, groups=np.arange(300))
    assert not ledger._store.held()
    assert verify(path_of(ledger)).runs == ()


def test_nobody_is_asked_for_what_the_cap_does_not_cover(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        fitted(ledger, Budget(4.0, 1e-6))
    assert verify(path_of(ledger)).runs == ()
    assert not list(Path(f"{path_of(ledger)}.runs").iterdir())


def test_estimators_and_searches_wait_and_go_on_with_all_their_parts(ledger: Ledger, keys: Path) -> None:
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
    part = sv.PrivateClassifier(radius=1.0, classes=(False, True), method="majorize")
    terms: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    search = sv.PrivateSearch(part, {"strength": [1e-6, 1e-3]}, **terms)
    single = sv.PrivateClassifier(radius=1.0, classes=(False, True), method="majorize", **terms)
    for front in (search, single):
        with pytest.raises(ApprovalNeeded):
            front.fit(X, X[:, 0] > 0)
        run = verify(path_of(ledger)).runs[-1].identity
        approve(path_of(ledger), run, keys / "officer")
        front.fit(X, X[:, 0] > 0, resume=run)
    assert search.best_index_ in (0, 1)
    assert single.coef_.shape == (1, 2)


def test_a_renewed_account_keeps_the_rule(ledger: Ledger) -> None:
    assert renew(path_of(ledger), dataset="later", following="d").waits(LARGE)


def test_a_rule_without_anybody_is_refused(tmp_path: Path, keys: Path) -> None:
    (tmp_path / "empty").write_text("# nobody\n")
    for above, signers in ((0.5, tmp_path / "empty"), (0.5, tmp_path / "none"), (0.0, keys / "signers")):
        with pytest.raises(ParameterError):
            approval(above, signers)


def test_commands_wait_approve_and_go_on(
    tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(tmp_path, monkeypatch, capsys)
    terms = ("--dataset", "d", "--epsilon", "3", "--delta", "1e-6")
    rule = ("--approve-above", "0.5", "--approvers", str(keys / "signers"))
    assert shell("ledger", "create", "waits.db", *terms, *rule[:2])[0] == ExitCode.FAILED
    assert shell("ledger", "create", "waits.db", *terms, *rule)[0] == 0
    fit = ("fit", "claims.csv", "--schema", "schema.toml", "--epsilon", "1", "--delta", "1e-6")
    fit = (*fit, "--ledger", "waits.db", "--dataset", "d", "-o", "waited.json", "--method", "majorize")
    code, said = shell(*fit)
    assert code == ExitCode.WAITS
    run = verify(tmp_path / "waits.db").runs[0].identity
    assert f"--resume '{run[:12]}'" in said
    shown = shell("ledger", "show", "waits.db")[1]
    assert "waits for approval" in shown
    assert "officer@example.org" in shown
    assert shell("ledger", "approve", "waits.db", run[:6], "--key", str(keys / "stranger"))[0] == 1
    assert shell("ledger", "approve", "waits.db", run[:6], "--key", str(keys / "officer"))[0] == 0
    assert shell(*fit, "--resume", run[:12])[0] == 0
    assert shell("ledger", "export", "waits.db", "-o", "waits.csv")[0] == 0
    assert {"request for approval", "approval"} <= set((tmp_path / "waits.csv").read_text().split(","))


def test_without_the_tool_a_statement_says_that_signatures_were_not_checked(
    ledger: Ledger, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = asked(ledger)
    approve(path_of(ledger), run, keys / "officer")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "not checked" in str(verify(path_of(ledger)))
    with pytest.raises(ResourceError):
        fitted(ledger, resume=run)
    assert sqlite3.connect(path_of(ledger)).execute("SELECT count(*) FROM entry").fetchone() == (4,)
