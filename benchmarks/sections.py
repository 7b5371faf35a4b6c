"""Sections of the docs written from stored figures, between two marks; the text around them stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parents[1] / "docs"


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written from benchmarks/results -->", f"<!-- end of {name} -->"


def replace(page: Path, name: str, lines: Sequence[str]) -> None:
    begin, end = marks(name)
    before, rest = page.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    page.write_text("\n".join([before + begin, "", *lines, "", end + after]), encoding="utf-8")


def where(found: dict[str, Any]) -> str:
    """Machine, versions and date, in one line."""
    return (
        f"{found['processor']}, {found['threads']} threads, load {found['load']:.1f} at the end, "
        f"sottovoce {found['version']}, "
        f"Python {found['python']}, NumPy {found['numpy']}, {found['measured']}."
    )
