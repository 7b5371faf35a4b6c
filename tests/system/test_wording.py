"""The command line answers in its own words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce import cli
from sottovoce.cli import app, main
from sottovoce.cli.wording import in_words_of_the_command_line
from sottovoce.errors import ParameterError
from sottovoce.results.result import NO_FINDINGS

PYTHON = re.compile(
    r"(?<![\w^-])(?!(?:epsilon|delta|low|high)=)\w+=[\"'(\w.]|\w\(\.\.\.|[a-z]\(path|Budget\("
)
Said = tuple[object, str, str]


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """The exit code, output and errors of a command in a folder with a table, its schema and a ledger."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("age,who,y\n1,a,no\nsecret,b,yes\n", encoding="utf-8")
    Path("b.csv").write_text("age,who,y\n1,a,no\n2,b,yes\n", encoding="utf-8")
    schema = sv.Schema.from_dict(
        {
            "columns": {"age": {"type": "numeric", "low": 0, "high": 9}},
            "target": {"column": "y", "classes": ["no", "yes"]},
        }
    )
    Path("s.toml").write_text(schema.to_toml(), encoding="utf-8")
    sv.Ledger.create("l.db", dataset="a", cap=sv.Budget(1.0, 1e-3))

    def run(*words: str) -> Said:
        monkeypatch.setattr("sys.argv", ["sottovoce", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return run


FIT = ("fit", "b.csv", "--schema", "s.toml", "-o", "m.json", "--epsilon", "1", "--delta", "1e-3")
PLAN = ("plan", "--rows", "9", "--weights", "3", "--epsilon", "1", "--delta", "1e-3")
CREATE = ("ledger", "create", "l.db", "--dataset", "c", "--epsilon", "1", "--delta", "1e-3")
CHARGED = (*FIT, "--ledger", "l.db", "--dataset")
REFUSED = {
    "a field that is no number": ((FIT[0], "a.csv", *FIT[2:]), "--invalid zero"),
    "loss": ((*FIT, "--loss", "logistics"), "Did you mean 'logistic'?"),
    "method": ((*FIT, "--method", "adapts"), "Did you mean 'adapt'?"),
    "method that needs a tolerance": ((*FIT, "--method", "dp-gd"), "--tolerance 0.03"),
    "tolerance": ((*FIT, "--tolerance", "-1"), "--tolerance must"),
    "relation": ((*FIT, "--relation", "both"), "--relation must"),
    "invalid": ((*FIT, "--invalid", "skip"), "--invalid must"),
    "epsilon": ((*FIT, "--epsilon", "-1"), "--epsilon must"),
    "delta": ((*FIT, "--delta", "1/m"), "--delta as text must"),
    "evaluate": ((*FIT, "--evaluate", "2"), "--evaluate must"),
    "inference": ((*FIT, "--inference", "2"), "--inference, a part of the budget, must"),
    "zero-out without persons": ((*FIT, "--person", "who", "--relation", "zero-out"), "--persons"),
    "persons without their column": ((*FIT, "--persons", "2"), "--person"),
    "other data set": ((*CHARGED, "b"), "sottovoce ledger create FILE"),
    "other relation": ((*CHARGED, "a", "--relation", "zero-out"), "--relation replace-one"),
    "no ledger": (("ledger", "show", "none.db"), "`sottovoce ledger create` makes"),
    "no such ledger file": ((*FIT, "--ledger", "b.csv", "--dataset", "b"), "`sottovoce ledger verify"),
    "renyi without its order": ((*CREATE, "--currency", "renyi"), "--order 32"),
    "order without renyi": ((*CREATE, "--order", "8"), "--currency renyi"),
    "declared before": ((*CREATE, "--dataset", "a"), "--ledger FILE --dataset NAME"),
    "calibration": ((*PLAN, "--calibration", "loose"), "--calibration must"),
    "no saved run": (("report", "s.toml", "-o", "r.html"), "cannot be read"),
    "sql of no table": (("export", "b.csv", "--format", "sql", "-o", "e.sql"), "to score: --table NAME"),
    "a table beside json": (
        ("export", "b.csv", "--format", "json", "--table", "t", "-o", "e.json"),
        "leave it",
    ),
    "no schema": ((*FIT, "--schema", "none.toml"), "`sottovoce schema` writes one"),
}


def test_the_version_is_printed() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.strip() == sv.__version__


@pytest.mark.parametrize(("words", "option"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_names_options_and_not_arguments_of_python(
    words: tuple[str, ...], option: str, said: Callable[..., Said]
) -> None:
    code, _, error = said(*words)
    assert code in (1, 3)
    assert option in error
    assert not PYTHON.search(error), PYTHON.search(error)
    assert "secret" not in error
    assert not Path("m.json").exists()


def test_a_summary_of_a_model_without_standard_errors_names_the_option() -> None:
    said = in_words_of_the_command_line(ParameterError(NO_FINDINGS), {})
    assert "--inference 0.3" in said
    assert not PYTHON.search(said)


def test_no_message_sends_to_a_page_that_an_installation_lacks() -> None:
    for file in Path(cli.__file__).parents[1].rglob("*.py"):
        words = [
            node.value for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.Constant)
        ]
        told = [word for word in words if isinstance(word, str) and "\n" not in word and "in docs/" in word]
        assert not told, (file, told)


def test_python_spellings_are_recognized() -> None:
    for spelled in ('invalid="zero"', "cap=Budget(...)", "Ledger.open(path, x)", "persons=20_000"):
        assert PYTHON.search(spelled)
    assert not PYTHON.search("the run's epsilon=1, delta=1e-05 needs mu^2=3.4; write --invalid zero")


def test_quiet_commands_write_their_files_and_say_nothing(said: Callable[..., Said]) -> None:
    commands = (
        ("schema", "b.csv", "-o", "t.toml"),
        (*FIT, "--ledger", "l.db", "--dataset", "a", "--method", "majorize"),
        ("report", "m.json", "-o", "r.html"),
        ("predict", "m.json", "b.csv", "-o", "p.csv"),
        ("export", "m.json", "--format", "json", "-o", "c.json"),
        CREATE,
    )
    for words in commands:
        assert said(*words, "--quiet") == (0, "", ""), words
    assert all(Path(name).exists() for name in ("t.toml", "m.json", "r.html", "p.csv", "c.json"))
    assert said(*FIT, "--quiet")[0] == 1, "a refusal is still told"
