"""The API reference lists every public name."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import sottovoce as sv

PAGES = Path(__file__).parents[2] / "docs" / "api"
LISTED = set(
    re.findall(r"^::: (\S+)$", "\n".join(p.read_text("utf-8") for p in PAGES.glob("*.md")), re.MULTILINE)
)
ROOMS = ("accounting", "evaluation", "losses", "methods", "queries", "report")


def documented(value: object) -> bool:
    """Whether a page shows this object, or the whole module that it is written in."""
    home = getattr(value, "__module__", "")
    return bool({home, f"{home}.{getattr(value, '__qualname__', '')}"} & LISTED)


def test_every_name_on_the_front_is_documented() -> None:
    public = [getattr(sv, name) for name in sv.__all__ if name not in ("__version__", "autodiff")]
    missing = [value for value in public if not isinstance(value, ModuleType) and not documented(value)]
    assert not missing


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_a_room_exports_is_documented(room: str) -> None:
    module = importlib.import_module(f"sottovoce.{room}")
    for name in module.__all__:
        value = getattr(module, name)
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ != "builtins":
            assert documented(value), f"docs/api has no entry for {value.__module__}.{name}"


def test_what_the_reference_lists_exists() -> None:
    for entry in LISTED - {"sottovoce.autodiff.risk.TorchRisk"}:
        try:
            importlib.import_module(entry)
        except ModuleNotFoundError:
            home, _, name = entry.rpartition(".")
            assert hasattr(importlib.import_module(home), name), entry
