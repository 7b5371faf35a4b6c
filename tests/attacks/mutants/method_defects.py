"""Methods that certify more than they planned, or find out too late that they cannot go on."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

_LEVELS = "tests/methods/test_levels.py"

LEVELS = (
    Mutant(
        "a test beyond the plan gets a level",
        "certificate.py",
        "if self.handed.gradient + self.gradient > self._gradient_whole * (1.0 + 1e-9):",
        "if self.gradient < 0.0:",
        f"{_LEVELS} -k beyond_the_plan",
    ),
    Mutant(
        "the curvature tested beside a gradient that took the whole error",
        "certificate.py",
        "level = self.next_curvature if self.curvature_tested else 0.0",
        "level = self.next_curvature",
        f"{_LEVELS} -k tr-loose",
    ),
    Mutant(
        "the planned end takes no level of its own",
        "methods/cubic.py",
        "return _levels(goal, self.visits(problem, goal))",
        "return _levels(goal, self.visits(problem, goal) - 1)",
        f"{_LEVELS} -k every_planned_visit",
    ),
)
