"""Every dependency has a lower and an upper bound, the lock lies within them, and the wheel works alone."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "locks" / "development.txt"
LINE = re.compile(r"([a-z0-9.-]+)==([^ ;]+) --hash=sha256:[0-9a-f]{64}")


def bounds() -> ModuleType:
    """scripts/bounds.py, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("bounds", ROOT / "scripts" / "bounds.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def declared() -> list[Requirement]:
    project = bounds().project()
    groups = project["optional-dependencies"].values()
    texts = {*project["dependencies"], *(text for group in groups for text in group)}
    return [Requirement(text) for text in sorted(texts)]


def locked() -> dict[str, Version]:
    lines = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), "a line of the lock has no version or no hash"
    return {match[1]: Version(match[2]) for match in found if match}


@pytest.mark.parametrize("wanted", declared(), ids=str)
def test_every_dependency_has_a_lower_and_an_upper_bound(wanted: Requirement) -> None:
    lower, upper = (Version(bounds().bound(wanted, operator)) for operator in (">=", "<"))
    assert lower < upper
    assert len(list(wanted.specifier)) == 2


@pytest.mark.parametrize("wanted", [str(each) for each in bounds().requirements()])
def test_the_lock_lies_within_the_bounds(wanted: str) -> None:
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(locked()[requirement.name], prereleases=False)


def test_the_newest_version_that_was_locked_is_just_below_the_upper_bound() -> None:
    """An upper bound past the next breaking release would promise what nobody tried."""
    for requirement in bounds().requirements():
        version = locked()[requirement.name]
        upper = Version(bounds().bound(requirement, "<"))
        breaking = (
            Version(f"0.{version.minor + 1}") if version.major == 0 else Version(f"{version.major + 1}")
        )
        assert upper <= breaking, f"{requirement} allows more than {version} and its minor releases"


def test_the_lock_names_no_server() -> None:
    text = LOCK.read_text(encoding="utf-8")
    assert "://" not in text
    assert "index" not in text


def test_the_oldest_versions_are_the_lower_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    bounds().main("oldest")
    printed = capsys.readouterr().out.splitlines()
    assert "numpy==2.0" in printed
    assert len(printed) == len({line.split("==")[0] for line in printed})


def test_a_report_of_pip_becomes_a_lock_without_addresses(tmp_path: Path) -> None:
    wheel = tmp_path / "Some_Thing-1.0-py3-none-any.whl"
    wheel.write_bytes(b"content")
    hashed: dict[str, Any] = {"url": "https://x/y.whl", "archive_info": {"hashes": {"sha256": "a" * 64}}}
    report = {
        "install": [
            {
                "metadata": {"name": "Some_Thing", "version": "1.0"},
                "download_info": {"url": f"file://{wheel}"},
            },
            {"metadata": {"name": "other", "version": "2.0"}, "download_info": hashed},
        ]
    }
    other, thing = bounds().locked(report)
    assert other == f"other==2.0 --hash=sha256:{'a' * 64}"
    assert thing.startswith(
        "some-thing==1.0 --hash=sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
    )


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment() -> None:
    """No editable install and no development tools: imports, demo, fit, predict, evaluate, report, ledger."""
    done = subprocess.run([ROOT / "scripts" / "clean-install"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.rstrip().endswith(".whl works in a clean environment")
