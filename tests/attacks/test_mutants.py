"""Six of the seeded defects in every run; `python -m tests.attacks.mutants` plants them all."""

from __future__ import annotations

import pytest

from tests.attacks.mutants.catalogue import CATALOGUE
from tests.attacks.mutants.harness import SOURCE, Mutant, killed, run_tests

FEW = CATALOGUE[:12:2]


@pytest.mark.parametrize("mutant", FEW, ids=lambda mutant: mutant.name)
def test_a_seeded_defect_is_noticed(mutant: Mutant) -> None:
    assert killed(mutant)


def test_the_same_tests_pass_on_the_sound_source() -> None:
    tests = " ".join(sorted({mutant.tests for mutant in FEW}))
    assert run_tests(SOURCE.parent, tests) == 0


def test_every_defect_still_applies_to_the_source() -> None:
    for mutant in CATALOGUE:
        assert mutant.planted()
