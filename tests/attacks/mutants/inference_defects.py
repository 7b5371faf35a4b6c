"""Second moments of scores that move further than their bounds, and intervals that are too short."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

CAPPED = "tests/privacy/test_capped_sensitivity.py"
SCORES = "tests/risks/test_scores.py"
ESTIMATE = "tests/inference/test_estimate.py"
SUMMARY = "tests/inference/test_summary.py"
NOISE = "tests/inference/test_coefficient_noise.py"
STEPS = "tests/inference/test_step_noise.py"

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

ERRORS = (
    Mutant(
        "errors without the gradient's noise",
        "inference/estimate.py",
        "self.sampling + self.findings.gradient_scale**2 *",
        "self.sampling + 0.0 *",
        f"{ESTIMATE} -k normal",
    ),
    Mutant(
        "errors without the Hessian's noise",
        "inference/estimate.py",
        "half = 0.5 * self.findings.hessian_scale**2",
        "half = 0.0",
        f"{ESTIMATE} -k normal",
    ),
    Mutant(
        "errors without the sample",
        "inference/estimate.py",
        "@ vectors.T) / self.findings.n",
        "@ vectors.T) / self.findings.n**2",
        f"{ESTIMATE} -k normal",
    ),
    Mutant(
        "degrees of freedom without the Hessian's noise",
        "inference/estimate.py",
        "+ 2.0 * found.hessian_scale**2 * (aa * bb + ab**2)",
        "+ 0.0 * found.hessian_scale**2 * (aa * bb + ab**2)",
        f"{ESTIMATE} -k degrees",
    ),
    Mutant(
        "degrees of freedom without the noise of the scores",
        "inference/estimate.py",
        "(found.moment_scale * aa / found.n) ** 2",
        "(found.moment_scale * aa / found.n**2) ** 2",
        f"{ESTIMATE} -k degrees",
    ),
    Mutant(
        "an interval that ends in the first valley",
        "inference/inversion.py",
        "for origin in (start, *self._origins):",
        "for origin in (start,):",
        f"{ESTIMATE} -k grid",
    ),
    Mutant(
        "all intervals at once at the level of one",
        "inference/summary.py",
        "error = -math.expm1(math.log1p(-error) / len(coding.names))",
        "error = 1.0 - level",
        f"{SUMMARY} -k every_form",
    ),
    Mutant(
        "noise that no later step shrinks",
        "methods/propagation.py",
        "reaching = reaching * passage.kept",
        "reaching = reaching * 1.0",
        f"{NOISE} -k linear_steps",
    ),
    Mutant(
        "noise of steps as if all were as long",
        "methods/propagation.py",
        "return np.asarray((self.scale * self.lengths) ** 2 + self.beside)",
        "return np.asarray(self.scale**2 + 0.0 * self.lengths + self.beside)",
        f"{NOISE} -k linear_steps",
    ),
    Mutant(
        "noise of a mean of points taken for that of the last",
        "methods/propagation.py",
        "reaching = reaching + weight",
        "reaching = reaching + 1.0 * (weight > 0)",
        f"{NOISE} -k linear_steps",
    ),
    Mutant(
        "noise of steps that turn shrunk as if they did not",
        "methods/turned_steps.py",
        "* np.resize(1.0 - passage.kept, dim) @ basis.T)",
        "* np.resize(1.0 - passage.kept, dim))",
        f"{STEPS} -k turn",
    ),
    Mutant(
        "the noise of a Hessian left out of its step",
        "methods/turned_steps.py",
        "(float(step @ step) + way**2)",
        "0.0",
        f"{STEPS} -k both_its_answers",
    ),
    Mutant(
        "noise of all steps stated for a point that a few led to",
        "methods/noise_account.py",
        "for passage in self.passages[: place.steps]",
        "for passage in self.passages",
        f"{STEPS} -k point_returned",
    ),
    Mutant(
        "noise that momentum carries on left out",
        "methods/momentum_noise.py",
        "owed = place + speed",
        "owed = place",
        f"{STEPS} -k accelerated",
    ),
    Mutant(
        "a step along negative curvature taken for certain",
        "methods/curvature.py",
        "beside=lost**2 / step.vector.size",
        "beside=0.0",
        f"{STEPS} -k negative_curvature",
    ),
    Mutant(
        "penalty taken for data",
        "inference/measuring.py",
        "gradient=last.value - problem.regularizer.gradient(there)",
        "gradient=last.value",
        f"{SUMMARY} -k penalty",
    ),
    Mutant(
        "inference asked of persons on workers",
        "inference/measuring.py",
        "if share and not problem.gathered:",
        "if False:",
        f"{SUMMARY} -k persons",
    ),
    Mutant(
        "a person's rows taken for independent",
        "risks/linear.py",
        "        if people is None:\n            return kernels.score_moment(",
        "        if True:\n            return kernels.score_moment(",
        "tests/risks/test_scores.py",
    ),
    Mutant(
        "persons' scores without the sign of their labels",
        "kernels/persons.py",
        "slopes * block.targets if loss.kind is Kind.MARGIN else slopes",
        "slopes",
        "tests/risks/test_scores.py",
    ),
    Mutant(
        "persons' scores count a row as often as a person",
        "kernels/persons.py",
        "counted = held if block.weights is None else held * block.weights",
        "counted = held",
        "tests/privacy/test_persons.py",
    ),
)
