"""The page that lists the evidence names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

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
