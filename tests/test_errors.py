"""Errors name the argument they are about, and other fronts say it in their own words."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.cli.wording import in_words_of_the_command_line
from sottovoce.errors import BLANK, Advice, DataError, ParameterError

SOURCE = Path(sv.__file__).parent
BASE = ("kernels", "privacy", "trusted")
"""Rooms whose errors are about what a caller in the library passes."""
RULE = re.compile(r"([a-z_]+(?:\.[a-z_]+)?) must\b")


def raised() -> Iterator[tuple[str, ast.Call, str]]:
    """Where errors are made: the file, the call and the words that its message begins with."""
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ParameterError" and node.args:
                first: Any = node.args[0]
                first = first.values[0] if isinstance(first, ast.JoinedStr) else first
                if isinstance(first, ast.Constant):
                    yield file.relative_to(SOURCE).as_posix(), node, str(first.value)


def test_a_rule_about_an_argument_names_it_in_its_field() -> None:
    found = 0
    for file, call, words in raised():
        if file.startswith(BASE) or (rule := RULE.match(words)) is None:
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        assert "argument" in given, f"{file}:{call.lineno}"
        assert ast.literal_eval(given["argument"]) == rule[1], f"{file}:{call.lineno}"
        found += 1
    assert found > 80


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: sv.Budget(-1.0, 1e-6), "epsilon"),
        (lambda: sv.Budget(1.0, 2.0), "delta"),
        (lambda: sv.Budget(1.0, 1e-6, "both"), "relation"),
        (lambda: sv.ReadOptions(invalid="skip"), "invalid"),
        (lambda: sv.ReadOptions(delimiter="::"), "delimiter"),
        (lambda: sv.Inference(2.0), "inference"),
        (lambda: sv.Tolerance(gradient=-1.0), "tolerance.gradient"),
        (lambda: sv.About(purpose=b"bytes"), "purpose"),  # type: ignore[arg-type]
    ],
)
def test_the_field_says_which_argument_was_wrong(make: Any, argument: str) -> None:
    with pytest.raises(ParameterError) as refused:
        make()
    assert refused.value.argument == argument
    assert str(refused.value).startswith(argument)


def test_an_error_survives_pickling_with_its_fields() -> None:
    error = pickle.loads(pickle.dumps(DataError('pass invalid="zero".', argument="y", advice=(BLANK,))))
    assert (str(error), error.argument, error.advice) == ('pass invalid="zero".', "y", (BLANK,))


def test_the_command_line_says_options_of_its_own() -> None:
    names = {"invalid": "--invalid", "tolerance": "--tolerance", "as_json": "--json"}
    wrong = ParameterError("invalid must be something.", argument="invalid")
    assert in_words_of_the_command_line(wrong, names) == "--invalid must be something."
    assert in_words_of_the_command_line(wrong, {}) == "invalid must be something."
    part = ParameterError("tolerance.gradient must be positive.", argument="tolerance.gradient")
    assert in_words_of_the_command_line(part, names) == "--tolerance must be positive."
    advised = DataError('read with invalid="zero".', advice=(BLANK,))
    assert in_words_of_the_command_line(advised, names) == "read with --invalid zero."
    shaped = DataError("give T(gradient=1).", advice=(Advice("tolerance", "1", "T(gradient=1)"),))
    assert in_words_of_the_command_line(shaped, names) == "give --tolerance 1."
