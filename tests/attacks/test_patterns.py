"""A defect is planted by the shape of the code: layout and moves do not matter, doubt is refused."""

from __future__ import annotations

import ast

import pytest

from tests.attacks.mutants.harness import Mutant
from tests.attacks.mutants.patterns import changed

CODE = """
class Scale:
    def of(self, x, low=1.0):
        # a comment that no pattern sees
        if x < low:
            x = low
        total = clipped(
            x, high=2.0, low=low,
        )
        return 2.0 * (total + x)

def other(x):
    return 2.0 * x
"""


def planted(qualified: str, old: str, new: str) -> str:
    return ast.unparse(ast.parse(changed(ast.parse(CODE), qualified, old, new)))


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [
        ("x<low", "x <= low", "if x <= low:"),
        ("clipped(x, high=2.0, low=low)", "x", "total = x\n"),
        ("clipped(_, high=2.0, **_)", "clipped(_, high=4.0, **_)", "clipped(x, high=4.0, low=low)"),
        ("2.0 * _", "_", "return total + x"),
        ("if x < low: ...", "if low > 0: ...", "if low > 0:\n            x = low"),
        ("x = low", "", "if x < low:\n            pass"),
        (
            "def of(self, x, low=1.0): ...",
            "def of(self, x, low=0.0): ...",
            "def of(self, x, low=0.0):\n        if",
        ),
        ("return 2.0 * (total + x)", "print(total)\nreturn total", "print(total)\n        return total"),
    ],
)
def test_code_is_found_by_its_shape_and_what_a_pattern_leaves_open_is_kept(
    old: str, new: str, written: str
) -> None:
    assert written in planted("Scale.of", old, new)


def test_the_same_change_is_looked_for_in_the_function_named_and_nowhere_else() -> None:
    assert planted("other", "2.0 * x", "x").endswith("return x")
    with pytest.raises(LookupError):
        planted("Scale.of", "2.0 * x", "x")
    with pytest.raises(LookupError):
        planted("", "2.0 * _", "_")
    with pytest.raises(LookupError):
        planted("Scale.gone", "2.0 * _", "_")


def test_a_function_that_moved_is_found_by_its_name() -> None:
    here = Mutant("", "privacy.noise:calibrate", "rounded / mu", "rounded", "")
    moved = Mutant("", "accounting.long_gone:calibrate", "rounded / mu", "rounded", "")
    assert moved.file == here.file
    assert moved.planted() == here.planted()
    with pytest.raises(LookupError):
        _ = Mutant("", "accounting.long_gone:__init__", "rounded", "mu", "").file
