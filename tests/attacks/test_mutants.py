"""Two of the seeded defects in every run; `python -m tests.attacks.mutants` plants them all."""

from __future__ import annotations

import subprocess
import sys

from tests.attacks.mutants.catalogue import CATALOGUE
from tests.attacks.mutants.harness import ROOT

FEW = CATALOGUE[:8:4]


def test_seeded_defects_are_noticed_by_tests_that_pass_on_the_sound_source() -> None:
    command = [sys.executable, "-m", "tests.attacks.mutants", "--jobs", "1", "--sound", "--exact"]
    done = subprocess.run(
        [*command, *(mutant.name for mutant in FEW)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_defect_still_applies_to_the_source() -> None:
    assert [mutant.name for mutant in CATALOGUE if mutant.occurrences() != 1] == []
