"""Second moments of scores that move further than their bounds, and intervals that are too short."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

SCORES = "tests/models/test_scores.py"
ESTIMATE = "tests/results/inference/test_standard_errors.py"
SUMMARY = "tests/results/inference/test_summary.py"
NOISE = "tests/results/inference/test_coefficient_noise.py"
STEPS = "tests/results/inference/test_step_noise.py"


ERRORS = (
    Mutant(
        "errors without the gradient's noise",
        "results.inference.standard_errors:OneStep.still",
        "self.findings.gradient_scale ** 2",
        "0.0",
        f"{ESTIMATE} -k normal",
    ),
    Mutant(
        "errors without the Hessian's noise",
        "results.inference.standard_errors:OneStep.noise",
        "0.5 * self.findings.hessian_scale ** 2",
        "0.0",
        f"{ESTIMATE} -k normal",
    ),
    Mutant(
        "errors without the sample",
        "results.inference.standard_errors:OneStep.sampling",
        "self.scores.value / self.findings.n",
        "self.scores.value / self.findings.n ** 2",
        f"{ESTIMATE} -k normal",
    ),
    Mutant(
        "degrees of freedom without the Hessian's noise",
        "results.inference.standard_errors:OneStep.errors",
        "2.0 * found.hessian_scale ** 2",
        "0.0 * found.hessian_scale ** 2",
        f"{ESTIMATE} -k degrees",
    ),
    Mutant(
        "degrees of freedom without the noise of the scores",
        "results.inference.standard_errors:OneStep.errors",
        "self.scores.strays(a) / found.n ** 2",
        "self.scores.strays(a) / found.n ** 4",
        f"{ESTIMATE} -k degrees",
    ),
    Mutant(
        "errors without what a hidden direction may hold",
        "results.inference.standard_errors:OneStep._with_undone",
        "self._sandwich(self.still + self.noise) + self.assumed",
        "self._sandwich(self.still + self.noise)",
        f"{ESTIMATE} -k hidden_direction",
    ),
    Mutant(
        "scores whose noise counts as their shape",
        "results.inference.score_moment:ScoreMoment.of",
        "max(0.0, 1.0 - blur / max(float(np.sum(rest ** 2)), 1e-300)) if blur else 1.0",
        "1.0",
        f"{ESTIMATE} -k shape",
    ),
    Mutant(
        "a Hessian that changed left out of errors",
        "results.inference.standard_errors:OneStep.covariance",
        "self.change * self.displacement",
        "0.0 * self.displacement",
        f"{ESTIMATE} -k changed",
    ),
    Mutant(
        "a rare level's Hessian that changed left out of errors",
        "results.inference.standard_errors:OneStep._with_undone",
        "levels @ levels.T",
        "0.0 * (levels @ levels.T)",
        f"{ESTIMATE} -k rare_level",
    ),
    Mutant(
        "how far a rare level moved told by the middle of its way alone",
        "results.inference.standard_errors:OneStep.level_changes",
        "np.maximum(astray, _undone(bend * np.abs(middle)))",
        "_undone(bend * np.abs(middle))",
        f"{ESTIMATE} -k rare_level",
    ),
    Mutant(
        "a rare level determined by a Hessian that is another one",
        "results.inference.standard_errors:OneStep.determined",
        "lost @ lost.T",
        "0.0 * (lost @ lost.T)",
        f"{ESTIMATE} -k rare_level",
    ),
    Mutant(
        "a coefficient determined by what was assumed",
        "results.inference.standard_errors:OneStep.determined",
        "assumed <= _ASSUMED * every",
        "assumed <= every",
        f"{ESTIMATE} -k hidden_direction",
    ),
    Mutant(
        "an interaction contrasted as if its columns were not",
        "data.contrasts:design_of",
        "cells[:, 1:, 0]",
        "0.0",
        "tests/data/test_contrasts.py -k statistician",
    ),
    Mutant(
        "all intervals at once at the level of one",
        "results.inference.summary:summarized",
        "-math.expm1(math.log1p(-error) / len(coding.names))",
        "1.0 - level",
        f"{SUMMARY} -k every_form",
    ),
    Mutant(
        "noise that no later step shrinks",
        "methods.noise_propagation:variances",
        "reaching * step_noise.kept",
        "reaching * 1.0",
        f"{NOISE} -k linear_steps",
    ),
    Mutant(
        "noise of steps as if all were as long",
        "methods.noise_propagation:StepNoise.added",
        "(self.scale * self.lengths) ** 2",
        "self.scale ** 2 + 0.0 * self.lengths",
        f"{NOISE} -k linear_steps",
    ),
    Mutant(
        "noise of a mean of points taken for that of the last",
        "methods.noise_propagation:variances",
        "reaching + weight",
        "reaching + 1.0 * (weight > 0)",
        f"{NOISE} -k linear_steps",
    ),
    Mutant(
        "noise of steps that turn shrunk as if they did not",
        "methods.turned_steps:turned_noise",
        "along * np.resize(1.0 - step_noise.kept, dim) @ basis.T",
        "along * np.resize(1.0 - step_noise.kept, dim)",
        f"{STEPS} -k turn",
    ),
    Mutant(
        "the noise of a Hessian left out of its step",
        "methods.turned_steps:by_hessian",
        "float(step @ step) + way ** 2",
        "0.0",
        f"{STEPS} -k both_its_answers",
    ),
    Mutant(
        "noise of all steps stated for a point that a few led to",
        "methods.noise_account:NoiseAccount.left",
        "self.step_noises[:place.steps]",
        "self.step_noises",
        f"{STEPS} -k point_returned",
    ),
    Mutant(
        "noise that momentum carries on left out",
        "methods.momentum_noise:momentum_variance",
        "place + speed",
        "place",
        f"{STEPS} -k accelerated",
    ),
    Mutant(
        "a step along negative curvature taken for certain",
        "methods.curvature:Bend.passed",
        "lost ** 2 / step.vector.size",
        "0.0",
        f"{STEPS} -k negative_curvature",
    ),
    Mutant(
        "penalty taken for data",
        "results.inference.measuring:measured",
        "last.value - problem.regularizer.gradient(there)",
        "last.value",
        f"{SUMMARY} -k penalty",
    ),
    Mutant(
        "inference asked of persons on workers",
        "results.inference.measuring:require_inferable",
        "share and (not problem.gathered)",
        "False",
        f"{SUMMARY} -k persons",
    ),
    Mutant(
        "weights of a curve assumed to be off each by itself",
        "exports.units:_moves",
        "np.eye(steps) - np.eye(steps, k=-1)",
        "np.eye(steps)",
        "tests/results/inference/test_undetermined.py -k curve",
    ),
)
