"""Print the lines of the wheel by room, new and old apart: `python scripts/wheel_lines.py`, in a whole clone.

Old are the lines that stood, anywhere, in the last commit before there were rooms: `git blame` follows them
through moves and copies. All others were written since, for what is new or in place of what was. It takes a
minute."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEEL = "src/sottovoce"
BEFORE = "083161d"
"""The last commit without rooms."""


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def files() -> list[str]:
    return [name for name in git("ls-files", WHEEL) if name.endswith(".py")]


def counted() -> tuple[Counter[str], Counter[str]]:
    """Old and new lines by room."""
    old, new = Counter[str](), Counter[str]()
    for name in files():
        first, _, file = name.removeprefix(f"{WHEEL}/").partition("/")
        room = first if file else "(top)"
        lines = git("blame", "-s", "-w", "-C", "-C", f"{BEFORE}..", "--", name)
        old[room] += sum(line.startswith("^") for line in lines)
        new[room] += sum(not line.startswith("^") for line in lines)
    return old, new


def table() -> str:
    old, new = counted()
    rooms = sorted({*old, *new}, key=lambda room: -(old[room] + new[room]))
    rows = [f"| {room} | {old[room]:,} | {new[room]:,} | {old[room] + new[room]:,} |" for room in rooms]
    total = f"| together | {old.total():,} | {new.total():,} | {old.total() + new.total():,} |"
    return "\n".join(["| room | old | written since | lines |", "| --- | ---: | ---: | ---: |", *rows, total])


if __name__ == "__main__":
    print(table())
