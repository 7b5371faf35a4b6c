"""Plant one defect in a copy of the source and see whether the named tests notice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "sottovoce"


@dataclass(frozen=True)
class Mutant:
    """A defect: in `file`, `before` (found exactly once) becomes `after`; `tests` must fail."""

    name: str
    file: str
    before: str
    after: str
    tests: str

    def planted(self) -> str:
        text = (SOURCE / self.file).read_text(encoding="utf-8")
        found = text.count(self.before)
        if found != 1:
            raise LookupError(
                f"mutant {self.name!r} no longer applies: its line occurs {found} times in {self.file}"
            )
        return text.replace(self.before, self.after)


def run_tests(package: Path, tests: str) -> int:
    """Exit code of the named tests against the package in this folder: 1 means a test failed."""
    environment = {**os.environ, "PYTHONPATH": str(package), "SOTTOVOCE_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *tests.split(),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    return done.returncode


def killed(mutant: Mutant) -> bool:
    """Whether a test fails on the planted defect. Anything but a failed test is an error of the catalogue."""
    planted = mutant.planted()
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "sottovoce"
        shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
        for table in SOURCE.glob("datasets/*.npz"):
            (package / "datasets" / table.name).symlink_to(table)
        (package / mutant.file).write_text(planted, encoding="utf-8")
        code = run_tests(Path(folder), mutant.tests)
    if code not in (0, 1):
        raise RuntimeError(
            f"mutant {mutant.name!r}: pytest ended with {code}, which is neither pass nor failure"
        )
    return code == 1
