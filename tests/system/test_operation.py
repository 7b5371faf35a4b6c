"""What an operator meets: a full disk, a file that may not be written, signals, a read-only mount."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce import cli
from sottovoce.accounting import Budget, Ledger, verify
from sottovoce.accounting.disk import ledger_file
from sottovoce.cli.exits import ExitCode
from sottovoce.data.databases import refused
from tests.tables import TWO, write

FIT = "fit claims.csv --schema schema.toml --epsilon 1 --delta 1e-6 -o model.json"
CHARGED = "--ledger budget.db --dataset claims --method majorize"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "claims.csv", n=300)
    (tmp_path / "schema.toml").write_text(TWO.to_toml(), encoding="utf-8")
    Ledger.create(tmp_path / "budget.db", dataset="claims", cap=Budget(1.5, 1e-5))
    return tmp_path


def command(folder: Path, words: str, before: str = "true") -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["bash", "-c", f"{before}; exec {sys.executable} -m sottovoce {words}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # under `ulimit -f` Python would leave compiled modules that end too early
        env={**os.environ, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_a_signal_says_what_was_charged_and_the_run_goes_on_without_paying_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run that is interrupted is a process of its own; those that go on need not be."""
    monkeypatch.chdir(folder)

    def resumed(words: str) -> tuple[int, dict[str, Any]]:
        monkeypatch.setattr(sys, "argv", ["sottovoce", *f"{FIT} {CHARGED} {words} --json".split()])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return int(end.value.code or 0), json.loads(capsys.readouterr().out)

    slow = command(folder, f"{FIT} {CHARGED}", "export SOTTOVOCE_THREADS=1")
    ledger = Ledger.open(folder / "budget.db", dataset="claims")
    while len(ledger.history) < 4 and slow.poll() is None:
        time.sleep(0.002)
    slow.send_signal(signal.SIGTERM)
    _, said = slow.communicate(timeout=120)
    (run,) = verify(folder / "budget.db").runs
    if slow.returncode == 0:
        assert run.end == "finished"  # it was faster than the signal
    else:
        assert slow.returncode == 128 + signal.SIGTERM
        assert run.identity[:12] in said
        assert "Traceback" not in said
        assert run.end == "interrupted"
        spent = ledger.units_spent
        code, told = resumed(f"--resume {run.identity} --no-further")
        assert code == ExitCode.SHORT
        assert told["stop"] == sv.Stop.CUT_SHORT.name
        assert len(told["caveats"]) == 1
        assert ledger.units_spent == spent
    code, told = resumed(f"--force --resume {run.identity[:12]}")
    assert code == 0
    assert told["stop"] == sv.Stop.FINISHED.name
    assert len({grant.run_id for grant in ledger.history}) == 1
    assert ledger.units_spent <= Ledger(Budget(1.0, 1e-6)).units_cap


def test_a_model_that_cannot_be_written_is_printed(folder: Path) -> None:
    ended = command(folder, FIT, "ulimit -f 2")
    told, said = ended.communicate(timeout=120)
    assert ended.returncode == ExitCode.ELSEWHERE
    assert said.count("cannot be written") == said.splitlines()[-1].count("cannot be written") == 1
    raw = json.loads(told)
    assert sv.Model.from_dict(raw).result.guarantee.epsilon == 1.0
    assert not (folder / "model.json").exists()


def test_a_ledger_without_room_is_not_called_damaged(folder: Path) -> None:
    size = (folder / "budget.db").stat().st_size // 1024
    ended = command(folder, f"{FIT} {CHARGED}", f"ulimit -f {size}")
    _, said = ended.communicate(timeout=120)
    assert ended.returncode == 1
    assert "backup" not in said
    assert "space" in said


def test_a_failure_for_lack_of_room_is_told_as_such() -> None:
    import errno

    assert ledger_file._is_full(OSError(errno.ENOSPC, "No space left on device"), "x")
    assert not ledger_file._is_full(OSError(errno.EACCES, "Permission denied"), "x")


def test_a_ledger_where_nobody_may_write_is_shown_and_verified(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a read-only mount; root may write anywhere else, so that the query is asked by a double."""
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    monkeypatch.setattr(ledger_file.LedgerFile, "_is_still", True)
    assert [part.name for part in verify(folder / "budget.db").datasets] == ["claims"]
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_why_postgresql_does_not_answer_is_told_by_its_code() -> None:
    codes = ("57014", "08006", "42601", "28P01", "42501", "53300", "57P01", "")
    assert len({refused(code) for code in codes}) == len(codes)
