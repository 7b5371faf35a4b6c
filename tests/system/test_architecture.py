"""The map of the house is drawn from the code, and the trusted base is what the page says it is."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.attacks.mutants.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "sottovoce"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def base() -> ModuleType:
    return script("trusted_base")


def test_the_picture_shows_the_imports_as_they_are() -> None:
    """Draw it again with `python scripts/rooms.py` after a change of rooms."""
    rooms = script("rooms")
    assert rooms.PICTURE.read_text("utf-8") == rooms.picture()


def test_the_way_of_a_fit_passes_the_release() -> None:
    _, way = script("way").fit()
    assert "privacy/release.py" in way


def test_every_file_of_the_trusted_base_is_listed_on_its_page(base: ModuleType) -> None:
    """Write the list again with `python scripts/trusted_base.py`; its lines may be a little old."""
    page = re.findall(r"(\w+) (\d+)[, ]", base.PAGE.read_text("utf-8").partition(base.START)[2])
    here = re.findall(r"(\w+) (\d+)[, ]", base.text())
    assert [name for name, _ in page] == [name for name, _ in here]
    assert sum(int(lines) for _, lines in page) == pytest.approx(
        sum(int(lines) for _, lines in here), rel=0.1
    )


def test_every_file_with_a_section_on_the_page_has_a_planted_defect(base: ModuleType) -> None:
    """A section names its file; lists of names compute nothing."""
    page = base.PAGE.read_text("utf-8")
    named = {name for name in re.findall(r"`([\w/]+\.py)`", page) if (SOURCE / name).exists()}
    assert len(named) > 30
    assert named <= set(base.base_files())
    assert named <= {mutant.file for mutant in CATALOGUE}


@pytest.mark.slow
def test_one_gradient_enters_the_base_and_rooms_that_only_propose(base: ModuleType) -> None:
    """By a profiler: what charges, clamps, sums, adds noise and releases is trusted."""
    inside = set(base.base_files())
    outside = {file.partition("/")[0] for file, _ in base.gradient_places() if file not in inside}
    assert outside <= {"losses", "models", "queries", "problem.py", "regularizers.py"}
    path = {(file, name) for file, name, _ in base.gradient_path()["path"]}
    assert {
        ("privacy/oracle.py", "Oracle.ask"),
        ("privacy/sensitivity.py", "_vector"),
        ("trusted/bands.py", "vector_distance"),
        ("kernels/sums.py", "LinearSums.answer"),
        ("kernels/compiled/block_sums.py", "_dense_tangent"),
        ("kernels/compiled/contributions.py", "clamp_to_band"),
        ("kernels/compiled/contributions.py", "count"),
        ("privacy/release.py", "gaussian"),
    } <= path
    stated = re.search(r"The path is (\d+) lines", base.PAGE.read_text("utf-8"))
    assert stated is not None
    assert int(stated[1]) == pytest.approx(base.gradient_lines()["path"], rel=0.1)
