"""The command line destroys nothing: no file without --force, no input and no ledger even with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce import cli
from sottovoce.cli import outputs
from tests.tables import TWO, write

BUDGET = ("--epsilon", "2", "--delta", "1e-5")
CHARGED = ("--ledger", "budget.db", "--dataset", "claims")
FIT = ("fit", "claims.csv", "--schema", "schema.toml", "--method", "majorize", *BUDGET)
Spell = Callable[[Path], str]


class Shell:
    """A folder with data, schema and ledger in it, and commands that must not change one byte of it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.patch, self.capsys = folder, patch, capsys
        patch.chdir(folder)
        write(folder / "claims.csv", n=300)
        (folder / "schema.toml").write_text(TWO.to_toml(), encoding="utf-8")
        sv.Ledger.create("budget.db", dataset="claims", cap=sv.Budget(9.0, 1e-4))

    def __call__(self, *arguments: str) -> tuple[object, str]:
        self.patch.setattr(sys, "argv", ["sottovoce", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = self.capsys.readouterr()
        return end.value.code, said.out + said.err

    def contents(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def refuses(self, *arguments: str, words: str) -> None:
        before = self.contents()
        code, said = self(*arguments)
        assert code == 1
        assert words in said
        assert said.count("\n") == 1
        assert self.contents() == before
        assert sv.Ledger.open("budget.db", dataset="claims").history == ()


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def as_it_is(path: Path) -> str:
    return path.name


def absolutely(path: Path) -> str:
    return str(path.absolute())


def roundabout(path: Path) -> str:
    return f"../{path.absolute().parent.name}/./{path.name}"


def by_symbolic_link(path: Path) -> str:
    link = path.absolute().with_name(f"link to {path.name}")
    link.symlink_to(path.absolute())
    return link.name


def by_hard_link(path: Path) -> str:
    link = path.absolute().with_name(f"other name of {path.name}")
    os.link(path, link)
    return link.name


def through_a_linked_folder(path: Path) -> str:
    folder = path.absolute().parent
    (folder / "here").symlink_to(folder)
    return f"here/{path.name}"


SPELLINGS = (as_it_is, absolutely, roundabout, by_symbolic_link, by_hard_link, through_a_linked_folder)


@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_fit_overwrites_neither_ledger_nor_input_however_they_are_spelled(
    shell: Shell, spell: Spell, option: str
) -> None:
    others = () if option == "-o" else ("-o", "model.json")
    for victim, words in (
        ("budget.db", "belongs to a ledger"),
        ("budget.db.witness", "belongs to a ledger"),
        ("claims.csv", "read by this command"),
        ("schema.toml", "read by this command"),
    ):
        if spell is through_a_linked_folder and (shell.folder / "here").exists():
            (shell.folder / "here").unlink()
        place = spell(Path(victim))
        shell.refuses(*FIT, *CHARGED, *others, option, place, "--force", words=words)


@pytest.mark.parametrize("part", ["budget.db-wal", "budget.db-shm", "budget.db-journal", "budget.db"])
def test_a_ledger_is_safe_with_its_parts_even_if_the_command_does_not_name_it(
    shell: Shell, part: str
) -> None:
    for charged in (CHARGED, ()):
        shell.refuses(*FIT, *charged, "-o", part, "--force", words="belongs to a ledger")
    shell.refuses("schema", "claims.csv", "-o", part, "--force", words="belongs to a ledger")


def test_the_witness_of_a_ledger_that_is_gone_is_kept(shell: Shell) -> None:
    Path("budget.db").rename("elsewhere.db")
    code, said = shell("schema", "claims.csv", "-o", "budget.db.witness", "--force")
    assert code == 1
    assert "belongs to a ledger" in said


@pytest.mark.parametrize("spell", [as_it_is, absolutely, roundabout, through_a_linked_folder])
def test_two_outputs_are_two_files(shell: Shell, spell: Spell) -> None:
    shell.refuses(
        *FIT, *CHARGED, "-o", "new.json", "--report", spell(Path("new.json")), "--force", words="two outputs"
    )


def test_nothing_that_exists_is_overwritten_without_force(shell: Shell) -> None:
    Path("kept").write_text("mine", encoding="utf-8")
    Path("nowhere").symlink_to("nothing there")
    for place in ("kept", "nowhere"):
        shell.refuses(*FIT, *CHARGED, "-o", place, words="--force")
        shell.refuses(*FIT, *CHARGED, "-o", "model.json", "--report", place, words="--force")
        shell.refuses("schema", "claims.csv", "-o", place, words="--force")
        shell.refuses("demo", "--report", place, words="--force")
    assert shell(*FIT, "-o", "model.json")[0] == 0
    shell.refuses(*FIT, "-o", "model.json", words="--force")
    shell.refuses("predict", "model.json", "claims.csv", "-o", "kept", words="--force")
    shell.refuses("report", "model.json", "-o", "kept", words="--force")
    for command in (("predict", "model.json", "claims.csv"), ("report", "model.json")):
        for source in command[1:]:
            shell.refuses(*command, "-o", source, "--force", words="read by this command")
    assert shell(*FIT, "-o", "model.json", "--force")[0] == 0
    assert shell("report", "model.json", "-o", "kept", "--force")[0] == 0
    assert Path("kept").read_text(encoding="utf-8").startswith("<!doctype")


def test_a_study_is_not_mixed_into_a_folder_of_other_things(shell: Shell) -> None:
    Path("tables").mkdir()
    Path("tables/tables.md").write_text("mine", encoding="utf-8")
    shell.refuses("reproduce", "covtype", "--render", "-o", "tables", words="--force")


def test_what_came_meanwhile_is_kept_and_what_was_paid_for_too(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears between the check and the writing, after the charge."""
    checked = outputs.require_free

    def late(*places: object, **options: object) -> None:
        checked(*places, **options)  # type: ignore[arg-type]
        Path("model.json").write_text("mine", encoding="utf-8")

    monkeypatch.setattr(outputs, "require_free", late)
    code, said = shell(*FIT, *CHARGED, "-o", "model.json")
    assert code == 0
    assert Path("model.json").read_text(encoding="utf-8") == "mine"
    (beside,) = shell.folder.glob("model-*.json")
    assert beside.name in said
    assert sv.Model.load(beside).result.guarantee.epsilon == 2.0


def test_a_failed_write_leaves_no_empty_file(tmp_path: Path) -> None:
    def fail(place: Path) -> None:
        assert place.exists()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"), outputs.place_for(tmp_path / "x") as place:
        fail(place)
    assert list(tmp_path.iterdir()) == []


def test_saving_from_python_destroys_no_ledger(shell: Shell) -> None:
    assert shell(*FIT, *CHARGED, "-o", "model.json")[0] == 0
    model, before = sv.Model.load("model.json"), Path("budget.db").read_bytes()
    for place in ("budget.db", "budget.db.witness", "budget.db-wal", by_symbolic_link(Path("budget.db"))):
        for save in (model.save, model.result.save):
            with pytest.raises(sv.errors.LedgerError, match="never overwritten"):
                save(place)
    assert Path("budget.db").read_bytes() == before
    model.save("model.json")


def test_evaluation_says_when_no_ledger_counts_it(shell: Shell) -> None:
    assert shell(*FIT, "-o", "model.json")[0] == 0
    asked = ("evaluate", "model.json", "claims.csv", *BUDGET)
    assert "No ledger was charged" in shell(*asked)[1]
    assert '"ledger": ""' in shell(*asked, "--json")[1]
    assert "No ledger was charged" not in shell(*asked, *CHARGED)[1]
    charges = len(sv.Ledger.open("budget.db", dataset="claims").history)
    assert charges == 6  # five figures, the area under the curve by two numbers


@pytest.mark.parametrize("command", [FIT, ("evaluate", "model.json", "claims.csv", *BUDGET)])
def test_a_data_set_without_a_ledger_is_refused(shell: Shell, command: tuple[str, ...]) -> None:
    assert shell(*FIT, "-o", "model.json")[0] == 0
    more = ("-o", "again.json") if command is FIT else ()
    shell.refuses(*command, "--dataset", "claims", *more, words="Add --ledger FILE")


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        ("20", "1e-5", "epsilon = 20 promises little"),
        ("1", "0.5", "delta = 0.5 is above 1/n = 0.00333"),
        ("1", "0.004", "delta = 0.004 is above 1/n"),
        ("1", "0.003", "delta = 0.003 lets all be revealed with that probability"),
    ],
)
def test_a_weak_budget_is_said_to_be_once_on_the_console_in_the_result_and_in_the_report(
    shell: Shell, epsilon: str, delta: str, words: str
) -> None:
    told = (
        "fit",
        "claims.csv",
        "--schema",
        "schema.toml",
        "--method",
        "majorize",
        "--epsilon",
        epsilon,
        "--delta",
        delta,
    )
    code, said = shell(*told, "-o", "model.json", "--report", "page.html")
    assert code == 0
    assert said.count(words) == 1
    assert [words in caveat for caveat in sv.Model.load("model.json").result.caveats] == [True]
    assert Path("page.html").read_text(encoding="utf-8").count(words) == 1
    assert shell(*told, "-o", "model.json", "--force", "--json")[1].count(words) == 1
    measured = shell("evaluate", "model.json", "claims.csv", "--epsilon", epsilon, "--delta", delta)[1]
    assert measured.count(words) == 1
    plan = ("plan", "--rows", "300", "--schema", "schema.toml", "--epsilon", epsilon, "--delta", delta)
    assert shell(*plan)[1].count(words) == 1


@pytest.mark.parametrize("budget", [("10", "1e-4"), ("1", "0.00099"), ("1", "1/n^1.5")])
def test_a_usual_budget_passes_without_a_word(shell: Shell, budget: tuple[str, str]) -> None:
    told = (
        "fit",
        "claims.csv",
        "--schema",
        "schema.toml",
        "--method",
        "majorize",
        "--epsilon",
        budget[0],
        "--delta",
        budget[1],
    )
    assert "Caveat" not in shell(*told, "-o", "model.json")[1]
    assert sv.Model.load("model.json").result.caveats == ()


def test_a_weak_cap_is_said_to_be_when_it_is_fixed(shell: Shell) -> None:
    made = shell("ledger", "create", "weak.db", "--dataset", "x", "--epsilon", "30", "--delta", "0.5")[1]
    assert "epsilon = 30 promises little" in made
    assert "delta = 0.5" in made


def test_a_simulated_run_promises_nothing_that_could_be_weak(shell: Shell) -> None:
    told = (
        "fit",
        "claims.csv",
        "--schema",
        "schema.toml",
        "--method",
        "majorize",
        "--epsilon",
        "20",
        "--delta",
        "1e-5",
    )
    assert "promises little" not in shell(*told, "--simulate", "1", "-o", "model.json")[1]
