"""Defects planted at random outside the trusted base break no promise: a few here.

`python -m tests.attacks.defects 2000` plants thousands anywhere outside and reports them by room."""

from __future__ import annotations

import pytest

from tests.attacks.defects.base import files
from tests.attacks.defects.machine import Machine, Verdict
from tests.attacks.defects.planting import Defect, Site
from tests.attacks.mutants.harness import ROOT, SOURCE, Mutant

SEED, PLANTED, MORE = 1, 4, 400

CONTROLS = (
    Mutant(
        "",
        "privacy.release:gaussian",
        "grant = run.charge(event)",
        "from sottovoce.accounting.store import Grant\ngrant = Grant('', event, 1, 0)",
        "",
    ),
    Mutant("", "privacy.sources:Source.sensitivity", "return tight", "return tight / 20.0", ""),
)


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine(SOURCE, files(ROOT), many=False, jobs=1, seconds=0.2)


def tried(machine: Machine, count: int) -> list[Verdict]:
    return list(machine.verdicts(machine.sample(range(count), SEED)))


def test_defects_outside_the_base_break_no_promise(machine: Machine) -> None:
    found = tried(machine, PLANTED)
    assert [(one.defect.said, one.broke) for one in found if one.broke] == []
    assert any(one.changed for one in found)
    assert not [one.failed for one in found if one.failed.startswith("Traceback")]


def test_defects_inside_the_base_are_noticed(machine: Machine) -> None:
    """Control: an answer that is not charged, a sensitivity too small."""
    attacks = [name for name in machine.sound.seen if name.startswith("queries")]
    planted = ((Defect(Site(mutant.file, "", 0, ""), mutant.planted(), ""), attacks) for mutant in CONTROLS)
    assert all(one.broke for one in machine.verdicts(planted))


@pytest.mark.slow
def test_more_defects_outside_the_base_break_no_promise() -> None:
    found = tried(Machine(SOURCE, files(ROOT), many=True, jobs=2), MORE)
    assert [(one.defect.said, one.broke) for one in found if one.broke] == []
