"""The recipes of CONTRIBUTING.md do what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
BEFORE = re.compile(r'before="(.+)"')

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_a_loss_and_a_method_are_added_as_described() -> None:
    plain = [content for rest, content in BLOCK.findall(PAGE) if not rest.strip()]
    assert len(plain) == 2
    namespace: dict[str, object] = {"__name__": "recipes"}
    for content in plain:
        exec(compile(content, "CONTRIBUTING.md", "exec", dont_inherit=True), namespace)


def test_a_query_is_added_in_five_places(tmp_path: Path) -> None:
    """The blocks are put into a copy of the source, which then answers the query."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    titled = [(rest, content) for rest, content in BLOCK.findall(PAGE) if rest.strip()]
    *edits, (_, script) = titled
    assert len(edits) == 5
    for rest, content in edits:
        (name,) = TITLE.findall(rest)
        file = tmp_path / name
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        anchor = BEFORE.search(rest)
        if anchor is None:
            lines.append("\n\n" + content)
        else:
            (place,) = (number for number, line in enumerate(lines) if anchor[1] in line)
            indent = " " * (len(lines[place]) - len(lines[place].lstrip()))
            gap = "\n" if "def " in content else ""
            lines.insert(place, textwrap.indent(textwrap.dedent(content), indent) + gap)
        file.write_text("".join(lines), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
