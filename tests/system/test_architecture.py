"""The map of the house is drawn from the code, and the trusted base is what the page says it is."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "sottovoce"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_the_imports_as_they_are() -> None:
    """Draw it again with `python scripts/rooms.py` after a change of rooms."""
    rooms = script("rooms")
    assert rooms.PICTURE.read_text("utf-8") == rooms.picture()


def test_few_files_lie_at_the_top_and_none_is_long() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 14
    long = {
        str(file.relative_to(SOURCE)): lines
        for file in SOURCE.rglob("*.py")
        if (lines := len(file.read_text("utf-8").splitlines())) > 300
    }
    assert not long


def test_class_names_are_unique() -> None:
    """One name, one thing: a reader who searches for a class finds one."""
    seen: dict[str, list[str]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        for name in re.findall(r"^class (\w+)", file.read_text("utf-8"), re.MULTILINE):
            if not name.startswith("_"):
                seen.setdefault(name, []).append(str(file.relative_to(SOURCE)))
    assert {name: files for name, files in seen.items() if len(files) > 1} == {}


def test_the_trusted_base_is_listed_file_by_file() -> None:
    page = (ROOT / "docs" / "trusted-base.md").read_text("utf-8")
    rooms = [*(SOURCE / "privacy").glob("*.py"), *(SOURCE / "risks").glob("*.py")]
    for file in rooms:
        name = file.relative_to(SOURCE).as_posix()
        assert file.stem == "__init__" or f"`{name}`" in page or name == "risks/softmax.py", name
    assert len([file for file in rooms if file.parent.name == "privacy"]) <= 10
