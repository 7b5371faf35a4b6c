"""Methods that certify more than they planned, or find out too late that they cannot go on."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

_LEVELS = "tests/methods/test_levels.py"

LEVELS = (
    Mutant(
        "a test beyond the plan gets a level",
        "results.certificate:Levels.take_gradient",
        "self.handed.gradient + self.gradient > self._gradient_whole * (1.0 + 1e-09)",
        "self.gradient < 0.0",
        f"{_LEVELS} -k beyond_the_plan",
    ),
    Mutant(
        "the curvature tested beside a gradient that took the whole error",
        "results.certificate:Levels.take_curvature",
        "self.next_curvature if self.curvature_tested else 0.0",
        "self.next_curvature",
        f"{_LEVELS} -k tr-loose",
    ),
    Mutant(
        "the planned end takes no level of its own",
        "methods.cubic:Cubic.levels",
        "self.visits(problem, goal)",
        "self.visits(problem, goal) - 1",
        f"{_LEVELS} -k every_planned_visit",
    ),
)

_REFUSALS = "tests/methods/test_refusals.py"

REFUSALS = (
    Mutant(
        "too many weights for a Hessian found out half way",
        "training:minimize",
        "chosen.require_possible(problem, goal)",
        "",
        f"{_REFUSALS} -k cubic-margin",
    ),
    Mutant(
        "looks at a curvature that cannot be formed",
        "methods.batch_descent:BatchDescent.run",
        "not ask.problem.shows_curvature and self.looks > 1",
        "self.looks < 0",
        f"{_REFUSALS} -k descent-b-softmax",
    ),
    Mutant(
        "a matrix refused after the charge",
        "methods.measurement:curvature_in_doubt",
        "problem.curvature_floor < wanted and problem.forms_matrices",
        "problem.curvature_floor < wanted",
        f"{_REFUSALS} -k majorize-margin",
    ),
)

_LIMITED = "tests/losses/test_limited.py"
_UNBIASED = "tests/losses/test_unbiased.py"

LIMITS = (
    Mutant(
        "slopes limited to half of what was asked for",
        "models.bounds:LinearBounds.limited",
        "self.loss.limited(limit)",
        "self.loss.limited(limit / 2)",
        f"{_LIMITED} -k cut_the_same_slopes",
    ),
    Mutant(
        "slopes of a softmax limited in the bound and not in the gradient",
        "kernels.softmax:shortened",
        "limit / np.fmax(lengths, max(limit, 1e-300))",
        "1.0",
        f"{_LIMITED} -k several_outputs",
    ),
    Mutant(
        "slopes of a softmax limited class by class",
        "kernels.softmax:shortened",
        "np.fmax(lengths, max(limit, 1e-300))",
        "np.fmax(np.abs(chances), max(limit, 1e-300))",
        f"{_LIMITED} -k limited_softmax",
    ),
    Mutant(
        "bound of a limited softmax gradient once the limit instead of twice",
        "privacy.softmax_sensitivity:_vector",
        "bands.ball_distance(limit * facts.influence, relation)",
        "bands.ball_distance(0.5 * limit * facts.influence, relation)",
        f"{_LIMITED} -k limited_softmax",
    ),
)

_MAJORIZE = "tests/methods/test_majorize.py"

MAJORIZERS = (
    Mutant(
        "a noisy Gram matrix taken for the true one",
        "methods.majorizers:Majorized.above_gram",
        "np.maximum(values, 0.0) + lift",
        "np.maximum(values, 0.0)",
        f"{_MAJORIZE} -k every_shape_lies_above",
    ),
    Mutant(
        "a diagonal taken for a bound of correlated columns",
        "methods.majorizers:Majorized.above_squares",
        "problem.widest_row * (np.maximum(squares.value, 0.0) + margin)",
        "np.maximum(squares.value, 0.0) + margin",
        f"{_MAJORIZE} -k every_shape_lies_above",
    ),
    Mutant(
        "noise in the predictor taken for signal",
        "methods.majorizers:Majorized.noise_left",
        "self.relaxation * scale",
        "scale",
        f"{_MAJORIZE} -k noise_leaves",
    ),
    Mutant(
        "steps beyond the plan of levels",
        "methods.majorize:Majorize.run",
        "design.steps + 1",
        "design.steps // 2",
        f"{_LEVELS} -k every_planned_visit",
    ),
    Mutant(
        "damping that does not follow the noise",
        "methods.designs:Designer._damped",
        "self._noise(shape) * np.sqrt(times)",
        "0.0",
        f"{_MAJORIZE} -k more_damping",
    ),
)
