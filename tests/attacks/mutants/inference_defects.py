"""Second moments of scores that move further than their bounds, and intervals that are too short."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

CAPPED = "tests/privacy/test_capped_sensitivity.py"
SCORES = "tests/risks/test_scores.py"

MOMENTS_OF_SCORES = (
    Mutant(
        "second moments: orthogonal rows forgotten",
        "privacy/sensitivity.py",
        "relation.distance(diameter=math.sqrt(2.0) * largest, norm=largest)",
        "relation.distance(diameter=largest, norm=largest)",
        f"{CAPPED} -k past_its_bound",
    ),
    Mutant(
        "score moment bounded by energy in place of influence squared",
        "privacy/bounds.py",
        "largest=factor * self.problem.influence**2",
        "largest=factor * self.problem.energy",
        f"{CAPPED} -k past_its_bound",
    ),
    Mutant(
        "information: a weight counted once",
        "kernels/passes.py",
        "_counted(tally.curvatures(block, w), block)",
        "tally.curvatures(block, w)",
        f"{SCORES} -k enter_squared",
    ),
    Mutant(
        "slope of the score moment without the target",
        "risks/bounds.py",
        "reach = self.problem.radius * norm_above(w) + self.problem.label_reach",
        "reach = self.problem.radius * norm_above(w)",
        f"{CAPPED} -k past_its_bound",
    ),
)
