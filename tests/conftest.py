"""With SOTTOVOCE_STRICT=1, as in CI, a skipped test fails the session: nothing may be left unlooked at."""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("SOTTOVOCE_STRICT") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped under SOTTOVOCE_STRICT=1: {report.longrepr}"
