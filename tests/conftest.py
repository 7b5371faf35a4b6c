"""With SOTTOVOCE_STRICT=1, as in CI, a skipped test fails the session: nothing may be left unlooked at.

Tests of the trusted base carry the mark `core` by where they lie. In CI coverage is that of its rooms by the
first case of each of these tests: tracing doubles a test's time. `pytest --cov` measures everything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("SOTTOVOCE_STRICT") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped under SOTTOVOCE_STRICT=1: {report.longrepr}"


CI = os.environ.get("CI") == "true"
CORE = (
    "privacy",
    "accounting",
    "data/test_records",
    "data/test_labels",
    "data/test_weights",
    "risks",
)
"""What must hold for the guarantee of the in-memory linear path, by folder or file."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests, seen = Path(__file__).parent, set()
    for item in items:
        place, test = item.path.relative_to(tests).as_posix(), item.nodeid.partition("[")[0]
        if place.startswith(CORE):
            item.add_marker(pytest.mark.core)
        if CI and (test in seen or not place.startswith(CORE)):
            item.add_marker(pytest.mark.no_cover)
        seen.add(test)
