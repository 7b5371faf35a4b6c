"""Every Python block in the README and the docs runs, in order, in one namespace a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(document: Path) -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if blocks(d)], ids=lambda d: str(d.relative_to(ROOT))
)
def test_the_code_in_a_document_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for number, block in enumerate(blocks(document), start=1):
        exec(compile(block, f"{document.name}, block {number}", "exec"), namespace)
