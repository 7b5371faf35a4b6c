"""The page that lists the evidence names tests and planted defects that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.attacks.mutants.catalogue import CATALOGUE

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "trust.md"


def test_every_test_that_the_ledgers_table_names_exists() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## The ledger file, line by line")[2]
    sources = {path.name: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    named = 0
    for file, names in re.findall(r"`(?:accounting/)?(test_\w+\.py)`: ([a-z0-9_, ]+)", table):
        for name in names.split(", "):
            assert re.search(rf"def test_\w*{name.strip()}", sources[file]), f"{file} has no {name}"
            named += 1
    assert named > 20


def test_every_defect_and_file_that_the_doors_table_names_exists() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Doors of 984a9f2, item by item")[2]
    planted = {mutant.name for mutant in CATALOGUE}
    items = re.findall(r"^\| (\d+) .* \| (\".*\") \| (.*) \|$", table, re.MULTILINE)
    assert [int(item) for item, _, _ in items] == list(range(1, 19))
    for _, defects, tests in items:
        assert set(re.findall(r'"([^"]+)"', defects)) <= planted
        for path, names in re.findall(r"`tests/(\S+\.py)`(?:: ([a-z0-9_, ]+))?", tests):
            source = (TESTS / path).read_text(encoding="utf-8")
            for name in filter(None, names.split(", ")):
                assert re.search(rf"def test_\w*{name.strip()}", source), f"{path} has no {name}"
