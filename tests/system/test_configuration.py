"""What an operator sets beside the command line, and what programs are told: options, errors, logs."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger
from sottovoce.cli.exits import ExitCode
from tests.system.test_outputs import Shell
from tests.tables import TWO, write

FIT = ("fit", "claims.csv", "--schema", "schema.toml", "-o", "model.json", "--method", "majorize")
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
READS = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def promised(shell: Shell) -> tuple[float, float]:
    found = sv.Model.load(shell.folder / "model.json").result.guarantee
    return found.epsilon, found.delta


def test_the_command_line_comes_before_the_environment_and_that_before_the_file(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.folder / "c.toml").write_text(
        '[fit]\nepsilon = 0.5\ndelta = "1e-6"\nsimulate = 0\n[ledger.create]\nquiet = true\n'
    )
    monkeypatch.setenv("SOTTOVOCE_CONFIG", "c.toml")
    assert shell(*FIT)[0] == 0
    assert promised(shell) == (0.5, 1e-6)
    monkeypatch.setenv("SOTTOVOCE_FIT_EPSILON", "0.7")
    monkeypatch.setenv("SOTTOVOCE_FIT_FORCE", "true")
    assert shell(*FIT)[0] == 0
    assert promised(shell) == (0.7, 1e-6)
    assert shell(*FIT, "--epsilon", "0.9")[0] == 0
    assert promised(shell) == (0.9, 1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [("SOTTOVOCE_FIT_EPSLION", "1"), ("SOTTOVOCE_CONFIG", "absent.toml"), ("SOTTOVOCE_LOG", "xml")],
)
def test_what_is_misspelt_is_refused(
    name: str, value: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    shell.refuses(*FIT, "--epsilon", "1", "--delta", "1e-6", words=name)


@pytest.mark.parametrize("content", ["[fit]\nepslion = 1", "[fti]\nepsilon = 1", "epsilon = 1", "= 1"])
def test_a_file_that_sets_what_no_command_has_is_refused(
    content: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.folder / "c.toml").write_text(content)
    monkeypatch.setenv("SOTTOVOCE_CONFIG", "c.toml")
    shell.refuses(*FIT, "--epsilon", "1", "--delta", "1e-6", words="c.toml")


def test_with_json_an_error_is_one_object_that_names_its_kind(shell: Shell) -> None:
    code, said = shell(*FIT, "--epsilon", "-1", "--delta", "1e-6", "--json")
    told = json.loads(said.splitlines()[-1])
    assert (told["error"], told["exit"], code) == ("ParameterError", 1, 1)
    asked = ("--ledger", "budget.db", "--dataset", "claims", "--epsilon", "20", "--delta", "1e-6", "--json")
    code, said = shell(*FIT, *asked)
    told = json.loads(said.splitlines()[-1])
    assert (told["error"], told["exit"], code) == ("BudgetExceeded", 3, ExitCode.BUDGET_REFUSED)


def test_a_run_is_logged_by_what_the_ledger_holds_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """On two tables that differ in one record, with the same answers, the log is the same but for names that
    are drawn; and every number in it is one of the ledger or of the declarations."""
    logs = []
    for number in range(2):
        table = write(tmp_path / f"claims{number}.csv", n=300)
        if number:
            lines = table.read_text().splitlines()
            lines[5] = lines[6]
            table.write_text("\n".join(lines) + "\n")
        ledger = Ledger.create(tmp_path / f"{number}.db", dataset="d", cap=Budget(2.0, 1e-6))
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="sottovoce"):
            sv.fit(
                table,
                TWO,
                epsilon=1.0,
                delta=1e-6,
                method="majorize",
                ledger=ledger,
                about=sv.About(purpose="try"),
            )
        facts: list[dict[str, Any]] = [getattr(record, "facts", {}) for record in caplog.records]
        charged = [fact for fact in facts if "charge" in fact]
        assert [fact["charge"] for fact in charged] == [grant.id for grant in ledger.history]
        assert {name for fact in facts for name in fact} <= {
            *("run", "name", "begun_before", "query", "share_of_budget", "charge", "how", "spent_of_budget")
        }
        kept = ("name", "begun_before", "query", "how")
        logs.append([{name: fact[name] for name in kept if name in fact} for fact in facts])
    assert logs[0] == logs[1]


def test_logs_are_lines_of_json(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_LOG", "json")
    code, said = shell(*FIT, "--epsilon", "1", "--delta", "1e-6", "--simulate", "0", "-q")
    assert code == 0
    told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert told[0]["message"].startswith("a run began")
    assert all({"at", "level", "logger", "run", "name"} <= line.keys() for line in told)


@pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root to become nobody",
)
def test_somebody_without_a_home_trains_where_nothing_can_be_written_but_the_output() -> None:
    """The interpreter may lie in a folder that nobody else reads: reading, not writing, is allowed."""
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are its user's alone
    try:
        _as_nobody(folder)
    finally:
        shutil.rmtree(folder)


def _as_nobody(folder: Path) -> None:
    write(folder / "claims.csv", n=300)
    (folder / "schema.toml").write_text(TWO.to_toml())
    folder.chmod(0o755)
    out = folder / "out"
    out.mkdir()
    out.chmod(0o777)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
    command = [sys.executable, "-m", "sottovoce", *FIT, "--epsilon", "1", "--delta", "1e-6", "-q"]
    command[command.index("model.json")] = "out/model.json"
    done = subprocess.run(
        [*NOBODY, *READS, *command],
        cwd=folder,
        env={**kept, "HOME": "/nonexistent", "TMPDIR": str(out)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sv.Model.load(out / "model.json").result.guarantee.epsilon == 1.0
