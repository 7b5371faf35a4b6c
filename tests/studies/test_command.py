"""`sottovoce reproduce` as a user types it."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import pytest

from sottovoce import cli
from sottovoce_studies.command import reproduce
from sottovoce_studies.settings import LONGEST, SEEDS
from tests.studies.rows import write_rows


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["sottovoce", "reproduce", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code if isinstance(end.value.code, int) else 0


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_small_study_runs_once_and_is_rendered_from_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("ijcnn1", "--methods", "majorize", "2opt-ls", "--epsilons", "4", "8", "--seeds", "2")
    where = ("--data", str(write_rows(tmp_path)), "--setting", "loose", "-o", "out")
    assert call(monkeypatch, *asked, *where) == 0
    said = capsys.readouterr().out
    assert "epsilon 4" in said
    assert "2/2 certified, 2/2 inside" in said
    assert "exact: computed on public data" in " ".join(said.split())
    kept = (tmp_path / "out" / "runs.jsonl").read_bytes()
    assert kept.count(b"\n") == 1 + 2 * 2 * 2
    assert call(monkeypatch, *asked, *where, "--json") == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [(cell["method"], cell["epsilon"], cell["runs"]) for cell in cells] == [
        ("2opt-ls", 4.0, 2),
        ("2opt-ls", 8.0, 2),
        ("majorize", 4.0, 2),
        ("majorize", 8.0, 2),
    ]
    assert (tmp_path / "out" / "runs.jsonl").read_bytes() == kept


def test_a_study_without_its_data_ends_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(monkeypatch, "ijcnn1") == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "LIBSVM publishes it at" in said
    assert "--data PATH" in said
    assert not (tmp_path / "reproduction").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "covtype or ijcnn1"),
        (("covtype", "--all"), "covtype or ijcnn1"),
        (("mnist",), "covtype, ijcnn1"),
        (("covtype", "--methods", "adam"), "'adam'"),
        (("covtype", "--jobs", "0"), "--jobs"),
        (("covtype", "--longest", "0"), "--longest"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(monkeypatch, *arguments) == 1
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_the_commands_defaults_are_the_studys() -> None:
    given = inspect.signature(reproduce).parameters
    assert (given["longest"].default, given["seeds"].default) == (LONGEST, SEEDS)


def test_several_values_may_stand_in_a_row_before_the_data_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--loss", "logistic", "sigmoid", "--epsilons", "0.2", "covtype", "--methods", "opt", "--render")
    assert call(monkeypatch, *asked, "--json") == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [(cell["loss"], cell["runs"]) for cell in cells] == [("logistic", 0), ("sigmoid", 0)]
