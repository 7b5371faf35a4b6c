"""Defects in what keeps a paid run from being lost: memory, reservations, journals."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

MACHINE = "tests/data/test_machine.py"

OPERATION = (
    Mutant(
        "memory that a run lacks is found out after its charges",
        "machine:require_memory",
        "left is not None and left < needed",
        "False",
        f"{MACHINE} -k before_the_first_charge",
    ),
    Mutant(
        "a compiler that failed asked again",
        "kernels.warming:_compile",
        "give_up()",
        "pass",
        f"{MACHINE} -k done_without",
    ),
)
