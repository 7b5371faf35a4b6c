"""The README and the docs do what they say: their blocks run in order, in one folder and namespace a file.

Python blocks are executed; a block with a title is a file of that name; lines of a console block that begin
with $ are commands, and what follows them only shows how an answer looks, since answers are noisy."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from sottovoce import cli

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')


def blocks(document: Path) -> list[tuple[str, str, str]]:
    """(language, title, content) of each block that does something."""
    found = []
    for language, rest, content in BLOCK.findall(document.read_text(encoding="utf-8")):
        title = TITLE.search(rest)
        if language in ("python", "console") or title:
            found.append((language, title[1] if title else "", content))
    return found


def run(command: str, patch: pytest.MonkeyPatch) -> None:
    """A sottovoce command, in this process: starting Python anew would take longer than the work."""
    arguments = shlex.split(command)
    assert arguments[0] == "sottovoce"
    patch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0, command


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if blocks(d)], ids=lambda d: str(d.relative_to(ROOT))
)
def test_what_a_document_shows_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "import torch" in document.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for number, (language, title, content) in enumerate(blocks(document), start=1):
        if title:
            (tmp_path / title).write_text(content, encoding="utf-8")
        elif language == "python":
            exec(compile(content, f"{document.name}, block {number}", "exec"), namespace)
        else:
            for line in content.splitlines():
                if line.startswith("$ "):
                    run(line[2:], monkeypatch)


def test_every_page_is_in_the_site_and_every_link_leads_somewhere() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for document in DOCUMENTS[1:]:
        assert str(document.relative_to(ROOT / "docs")) in listed
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
