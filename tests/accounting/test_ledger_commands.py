"""The ledger commands over a file that was rolled back, moved, copied or damaged: one line, no grant."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce import cli
from tests.tables import TWO, write

BUDGET = ("--epsilon", "1", "--delta", "1e-5")
LEDGER = ("--ledger", "budget.db", "--dataset", "claims")


class Shell:
    """Runs a command in this process: its exit code, and what it said on either stream."""

    def __init__(self, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.patch, self.capsys = patch, capsys

    def __call__(self, *arguments: str) -> tuple[object, str]:
        self.patch.setattr(sys, "argv", ["sottovoce", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = self.capsys.readouterr()
        return end.value.code, said.out + said.err


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "claims.csv", n=300)
    (tmp_path / "schema.toml").write_text(TWO.to_toml(), encoding="utf-8")
    shell = Shell(monkeypatch, capsys)
    create = ("ledger", "create", "budget.db", "--dataset", "claims", "--epsilon", "3", "--delta", "1e-4")
    assert shell(*create)[0] == 0
    return shell


def fit(run: Shell, output: str) -> None:
    assert run("fit", "claims.csv", "--schema", "schema.toml", *BUDGET, *LEDGER, "-o", output)[0] == 0


def files(tmp_path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in tmp_path.glob("budget.db*") if path.is_file()}


def test_a_backup_written_back_is_told_by_a_model_made_since(tmp_path: Path, run: Shell) -> None:
    """The same file, path and inode, so that only the model knows better."""
    fit(run, "early.json")
    backup = files(tmp_path)
    fit(run, "late.json")
    assert run("ledger", "verify", "budget.db", "--anchor", "late.json")[0] == 0
    for path in filter(Path.is_file, tmp_path.glob("budget.db*")):
        path.write_bytes(backup.get(path.name, b""))
    assert run("ledger", "verify", "budget.db")[0] == 0
    assert run("ledger", "verify", "budget.db", "--anchor", "early.json")[0] == 0
    code, said = run("ledger", "verify", "budget.db", "--anchor", "late.json")
    assert code == 1
    assert "undone" in said


@pytest.mark.parametrize("way", [shutil.copy, shutil.move])
def test_a_copy_is_refused_until_it_is_adopted(tmp_path: Path, run: Shell, way: object) -> None:
    fit(run, "early.json")
    way("budget.db", "other.db")  # type: ignore[operator]
    told = ("fit", "claims.csv", "--schema", "schema.toml", *BUDGET, "-o", "late.json")
    asked = (*told, "--ledger", "other.db", "--dataset", "claims")
    code, said = run(*asked)
    assert code == 1
    assert "adopt" in said
    assert not (tmp_path / "late.json").exists()
    assert run("ledger", "adopt", "other.db")[0] == 0
    assert run(*asked)[0] == 0
    shown = run("ledger", "show", "other.db")[1]
    assert shown.count("claims") >= 1
    assert run("ledger", "verify", "other.db", "--anchor", "early.json")[0] == 0


def test_a_damaged_file_is_one_line_and_nothing_is_written(tmp_path: Path, run: Shell) -> None:
    fit(run, "early.json")
    for path in filter(Path.is_file, tmp_path.glob("budget.db*")):
        content = bytearray(path.read_bytes())
        content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
        path.write_bytes(bytes(content))
    told = ("fit", "claims.csv", "--schema", "schema.toml", *BUDGET, *LEDGER, "-o", "late.json")
    code, said = run(*told)
    assert code == 1
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "late.json").exists()


def test_a_report_tells_the_state_of_the_ledger_that_was_charged_and_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cap = sv.Budget(3.0, 1e-5)
    ledger, other = (sv.Ledger.create(name, dataset="people", cap=cap) for name in ("l.db", "other.db"))
    model = sv.fit(
        write(tmp_path / "d.csv", 300),
        TWO,
        epsilon=1.0,
        delta=1e-5,
        ledger=ledger,
        about=sv.About(purpose="prices"),
    )
    model.save("m.json")

    def run(*words: str) -> tuple[object, str]:
        monkeypatch.setattr("sys.argv", ["sottovoce", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        shown = capsys.readouterr()
        return ended.value.code, shown.out + shown.err

    assert run("report", "m.json", "-o", "r.html", "--ledger", "l.db")[0] == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert "of the cap of people, epsilon 3 at delta 1e-05" in page
    assert "Left: one more model up to epsilon" in page
    code, said = run("report", "m.json", "-o", "x.html", "--ledger", "other.db")
    assert (code, Path("x.html").exists()) == (1, False)
    assert "was not charged to the ledger" in said
    assert other.units_spent == 0
    code, said = run("ledger", "show", "l.db", "--html", "l.html")
    assert code == 0
    assert "left   one more model up to epsilon" in said
    assert "adapt: prices" in said
    assert "adapt: prices" in Path("l.html").read_text(encoding="utf-8")
    assert run("ledger", "show", "l.db", "--html", "l.db")[0] == 1, "a ledger is never overwritten"
    assert run("ledger", "show", "l.db", "--charges")[1].count("charge ") > 5
