"""With SOTTOVOCE_STRICT=1, as in CI, a skipped test fails the session: nothing may be left unlooked at.

Tests of the trusted base carry the mark `core` by their place, unless they are `long`, and the first case of
each the mark `traced`. By these CI measures the coverage of its rooms, in a session of their own: tracing
doubles a test's time, and in a worker of xdist pytest-cov's `no_cover` stops no tracer. All is measured by
`pytest --cov`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import Phase, settings

from sottovoce.methods.adapt import Adapt

# The first call of a law compiles it: nothing is timed in a test. Of a planted defect only that it is noticed
# counts, not the smallest example.
settings.register_profile("untimed", deadline=None)
settings.register_profile("unshrunk", deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
settings.load_profile("untimed")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("SOTTOVOCE_STRICT") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped under SOTTOVOCE_STRICT=1: {report.longrepr}"


CORE = (
    "tests/trusted",
    "tests/privacy",
    "tests/accounting",
    "tests/models",
    "tests/data/test_records.py",
    "tests/data/test_weights.py",
)
"""What must hold for the guarantee of the in-memory linear path; the extra `core` is what it needs."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root, seen = Path(__file__).parents[1], set()
    for item in items:
        place, test = item.path.relative_to(root).as_posix(), item.nodeid.partition("[")[0]
        if place.startswith(CORE) and item.get_closest_marker("long") is None:
            item.add_marker(pytest.mark.core)
            if test not in seen:
                item.add_marker(pytest.mark.traced)
        seen.add(test)


AROUND = (
    *(f"tests/{room}/" for room in ("data", "estimators", "evaluation", "exports", "report")),
    "tests/system/",
    "tests/attacks/test_replay_",
    "tests/privacy/test_selection_privacy.py",
    "tests/test_forged_files.py",
    "tests/test_model.py",
    "tests/test_package.py",
    "tests/test_training.py",
)
"""Tests of what surrounds training."""

FEW_STEPS = 6


@pytest.fixture(scope="module", autouse=True)
def _few_steps_where_training_is_not_the_subject(request: pytest.FixtureRequest) -> Iterator[None]:
    """There `adapt`, the default, takes few of its steps: a fit takes an eighth of the time. Commands that
    a test starts as processes of their own take all."""
    place = request.path.relative_to(Path(__file__).parents[1]).as_posix()
    if not place.startswith(AROUND):
        yield
        return
    taken = Adapt.taken
    with mock.patch.object(Adapt, "taken", lambda self, problem: min(FEW_STEPS, taken(self, problem))):
        yield
