"""List the trusted base and its lines in docs/trusted-base.md: `python scripts/trusted_base.py`.

A fit of arrays in memory is run under a profiler; what it calls in the rooms below is what a reviewer reads.
`tests/system/test_architecture.py` does the same and compares."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "sottovoce"
PAGE = ROOT / "docs" / "trusted-base.md"
START = "<!-- lines: written by scripts/trusted_base.py -->\n"

PROSE = SOURCE / "accounting" / "wording.py"
DOORS = ("records", "rows", "blocks", "targets", "record_facts", "validation", "weights", "sealed")
ELSEWHERE = ("losses/", "kernels/", "methods/", "report/", "inference/", "__init__", "certificate", "result")
"""Promise the sums and constants they state, or work on released numbers."""

FIT = """
import sys
import numpy as np
import sottovoce as sv
called = set()
def note(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and "/sottovoce/" in name and frame.f_code.co_name != "<module>":
        if frame.f_code.co_flags & 1:  # a function, not the body of a class
            called.add(name.rpartition("/sottovoce/")[2])
X = np.random.default_rng(0).normal(size=(400, 3))
sys.setprofile(note)
records = sv.Records.from_arrays(X, np.where(X[:, 0] > 0, 1, -1), radius=2.0, labels=(-1, 1))
risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-3))
sv.minimize(risk, budget=sv.Budget(1.0, 1e-6))
sys.setprofile(None)
print(*sorted(called))
"""


@cache
def called() -> set[str]:
    """Files whose functions a fit of arrays in memory calls."""
    found = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def rooms() -> list[str]:
    """`privacy`, `accounting` without its inner rooms and its prose, and the door for arrays."""
    files = {*SOURCE.glob("privacy/*.py"), *SOURCE.glob("accounting/*.py")} - {PROSE}
    doors = [SOURCE / "data" / f"{name}.py" for name in DOORS]
    return sorted(file.relative_to(SOURCE).as_posix() for file in [*files, *doors] if file.exists())


def beside() -> list[str]:
    """What a fit calls besides, where a defect might cost privacy."""
    known = set(rooms())
    return sorted(name for name in called() - known if not name.startswith(ELSEWHERE))


def lines(name: str) -> int:
    return len((SOURCE / name).read_text("utf-8").splitlines())


def table(names: list[str]) -> str:
    folders: dict[str, list[str]] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        folders.setdefault(folder or ".", []).append(f"{file.removesuffix('.py')} {lines(name)}")
    rows = [
        f"| `{folder}` | {', '.join(files)} | {sum(int(file.split()[1]) for file in files):,} |"
        for folder, files in folders.items()
    ]
    return "\n".join(["| room | files and lines | together |", "| --- | --- | ---: |", *rows])


def text() -> str:
    base, others = rooms(), beside()
    privacy = [name for name in base if name.startswith("privacy/")]
    return (
        f"{len(base)} files, {sum(map(lines, base)):,} lines, of which `privacy` has {len(privacy)} and "
        f"{sum(map(lines, privacy)):,}:\n\n{table(base)}\n\n"
        f"A fit of arrays in memory also calls {len(others)} files, {sum(map(lines, others)):,} lines, in "
        f"which a defect might cost privacy:\n\n{table(others)}\n"
    )


if __name__ == "__main__":
    head = PAGE.read_text("utf-8").partition(START)[0]
    PAGE.write_text(head + START + text(), "utf-8")
