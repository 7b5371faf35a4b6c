"""docs/paper-map.md and docs/errata.md name only what exists, and the map names every method of the paper."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.accounting.gdp import mu_of
from sottovoce.methods.registry import METHODS
from tests import problems

ROOT = Path(__file__).parents[3]
DOCUMENTS = ("paper-map.md", "errata.md")
OWN = {"accelerate", "adapt", "auto", "majorize", "cubic", "descent-b"}
"""Methods that are not the paper's."""


def quoted(document: str, start: str) -> list[str]:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    return sorted(set(re.findall(rf"`({start}[^`\s]*)`", text)))


def resolve(name: str) -> object:
    """The module or attribute with this dotted name; the longest importable prefix is the module."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@cache
def promises_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_name_in_a_document_exists(document: str) -> None:
    names = quoted(document, r"sottovoce(?:_studies)?\.")
    assert len(names) >= 8
    for name in names:
        assert resolve(name) is not None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_test_in_a_document_exists(document: str) -> None:
    cited = quoted(document, "tests/")
    assert len(cited) >= 20
    for entry in cited:
        file, _, name = entry.partition("::")
        assert promises_in(ROOT / file)
        assert not name or name in promises_in(ROOT / file), entry


def test_a_name_that_does_not_exist_is_noticed() -> None:
    for wrong in ("sottovoce.methods.paper.opt.Opt2", "sottovoce.nothing.at_all", "sottovoce.losses.Hinge"):
        with pytest.raises((AttributeError, ModuleNotFoundError)):
            resolve(wrong)


def test_every_row_of_the_map_names_code_and_a_test() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    rows = [
        line
        for line in text.splitlines()
        if line.startswith("| ") and not line.startswith(("| paper", "| ---"))
    ]
    assert len(rows) >= 40
    for row in rows:
        _, code, test = (cell.strip() for cell in row.strip("|").split(" | "))
        assert re.search(r"`sottovoce(_studies)?\.", code) or code.startswith("not used:"), row
        assert "`tests/" in test, row


def test_the_map_names_every_method_of_the_paper() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    for name, method in METHODS.items():
        if name not in OWN:
            assert f"`{name}`" in text
            assert f"`{method.__module__}.{method.__qualname__}`" in text


@pytest.mark.parametrize("name", sorted(set(METHODS) - OWN))
@pytest.mark.parametrize("calibration", ["tight", "published"])
def test_every_method_of_the_map_runs_within_its_budget(name: str, calibration: str) -> None:
    if calibration == "published" and not METHODS[name].published:
        with pytest.raises(sv.errors.ParameterError):
            run(name, calibration)
        return
    result = run(name, calibration)
    assert isinstance(result.stop, sv.Stop)
    assert result.trace
    # a Renyi price at one order allows no more Gaussian answers than the exact Gaussian budget does
    assert 0.0 < sum(row.mu_squared for row in result.trace) <= mu_of(2.0, 1e-6) ** 2 * (1.0 + 1e-9)


def run(name: str, calibration: str) -> sv.Result:
    return sv.minimize(
        problems.sigmoid(n=3000),
        budget=sv.Budget(epsilon=2.0, delta=1e-6),
        method=name,
        tolerance=sv.Tolerance(gradient=0.2, curvature=0.4),
        calibration=calibration,
        simulate=1,
    )
