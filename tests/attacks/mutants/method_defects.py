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

_REFUSALS = "tests/methods/test_refusals.py"

REFUSALS = (
    Mutant(
        "too many weights for a Hessian found out half way",
        "training.py",
        "    chosen.insist_possible(problem, goal)\n",
        "",
        f"{_REFUSALS} -k cubic-margin",
    ),
    Mutant(
        "looks at a curvature that cannot be formed",
        "methods/batch_descent.py",
        "if not ask.problem.shows_curvature and self.looks > 1:",
        "if self.looks < 0:",
        f"{_REFUSALS} -k descent-b-softmax",
    ),
    Mutant(
        "a matrix refused after the charge",
        "methods/measurement.py",
        "problem.curvature_floor < wanted and problem.forms_matrices",
        "problem.curvature_floor < wanted",
        f"{_REFUSALS} -k majorize-margin",
    ),
    Mutant(
        "published noise checked at the first weights only",
        "privacy/oracle.py",
        "        self._bounds.insist_calibrated()\n",
        "",
        f"{_REFUSALS} -k far_weights",
    ),
)

_LIMITED = "tests/losses/test_limited.py"
_UNBIASED = "tests/losses/test_unbiased.py"

LIMITS = (
    Mutant(
        "slopes limited in the bound and not in the gradient",
        "risks/linear.py",
        "w, loss = self._weights(w), self._loss.limited(limit)",
        "w, loss = self._weights(w), self._loss",
        f"{_LIMITED} -k replacing_one_record",
    ),
    Mutant(
        "compiled passes forget the limit",
        "kernels/compiled/twins.py",
        "return twin and twin._replace(valued=False, slope=limit)\n",
        "return twin and twin._replace(valued=False)\n",
        f"{_LIMITED} -k compiled_and_plain",
    ),
    Mutant(
        "weights of classes lost under a limit",
        "losses/base.py",
        "self.curvature_low == 0.0 and self.relative(ones) is None and self.pull(ones) is None",
        "self.curvature_low == 0.0 and self.pull(ones) is None",
        f"{_LIMITED} -k cannot_be_limited",
    ),
    Mutant(
        "bound of a limited gradient once the limit instead of twice",
        "risks/bounds.py",
        "loss = self.loss.limited(limit)",
        "loss = self.loss.limited(limit / 2)",
        f"{_LIMITED} -k attained",
    ),
    Mutant(
        "records not weighed: slopes cut off where no bias is promised",
        "losses/unbiased.py",
        "self.limit * np.minimum(odds, 1.0)",
        "self.limit",
        f"{_UNBIASED} -k pull_nowhere",
    ),
    Mutant(
        "records weighed by the less likely label",
        "losses/unbiased.py",
        "self.limit * np.minimum(odds, 1.0)",
        "self.limit * np.maximum(odds, 1.0)",
        f"{_UNBIASED} -k weighed_by_the_prediction",
    ),
    Mutant(
        "compiled slopes up to 1 while the limit is charged",
        "kernels/compiled/twins.py",
        "twin._replace(valued=False, slope=limit, fading=limit)",
        "twin._replace(valued=False)",
        f"{_UNBIASED} -k every_kind_of_rows",
    ),
    Mutant(
        "compiled passes weigh nothing",
        "kernels/compiled/twins.py",
        "slope=limit, fading=limit",
        "slope=limit",
        f"{_UNBIASED} -k hostile_margins",
    ),
    Mutant(
        "compiled passes weigh all margins alike",
        "kernels/compiled/losses.py",
        "min(falling / (1.0 + e), twin.fading * falling)",
        "min(falling / (1.0 + e), twin.fading)",
        f"{_UNBIASED} -k hostile_margins",
    ),
    Mutant(
        "rounding charged by the curvature of another loss",
        "risks/bounds.py",
        "slope=loss.slope, curvature_high=loss.curvature_high",
        "slope=loss.slope",
        f"{_UNBIASED} -k its_own_curvature",
    ),
    Mutant(
        "slopes of a softmax limited in the bound and not in the gradient",
        "kernels/softmax.py",
        "scores *= limit / np.maximum(lengths, limit)",
        "scores *= 1.0",
        f"{_LIMITED} -k several_outputs",
    ),
    Mutant(
        "slopes of a softmax limited class by class",
        "kernels/softmax.py",
        "scores *= limit / np.maximum(lengths, limit)",
        "scores *= limit / np.maximum(np.abs(scores), limit)",
        f"{_LIMITED} -k limited_softmax",
    ),
    Mutant(
        "bound of a limited softmax gradient once the limit instead of twice",
        "risks/bounds.py",
        "            limit=self.limit,\n",
        "            limit=0.5 * self.limit,\n",
        f"{_LIMITED} -k limited_softmax",
    ),
)

_MAJORIZE = "tests/methods/test_majorize.py"

MAJORIZERS = (
    Mutant(
        "a noisy Gram matrix taken for the true one",
        "methods/majorizers.py",
        "bound = np.maximum(values, 0.0) + lift",
        "bound = np.maximum(values, 0.0)",
        f"{_MAJORIZE} -k every_shape_lies_above",
    ),
    Mutant(
        "a diagonal taken for a bound of correlated columns",
        "methods/majorizers.py",
        "bound = problem.widest_row * (np.maximum(squares.value, 0.0) + margin)",
        "bound = np.maximum(squares.value, 0.0) + margin",
        f"{_MAJORIZE} -k every_shape_lies_above",
    ),
    Mutant(
        "noise in the predictor taken for signal",
        "methods/majorizers.py",
        "return (self.relaxation * scale) ** 2 * float(spectrum @ (self.curvature + self.damping) ** -2.0)",
        "return scale**2 * float(spectrum @ (self.curvature + self.damping) ** -2.0)",
        f"{_MAJORIZE} -k noise_leaves",
    ),
    Mutant(
        "steps beyond the plan of levels",
        "methods/majorize.py",
        "walk.levels = replace(levels, gradient_tests=design.steps + 1).on_the_way()",
        "walk.levels = replace(levels, gradient_tests=design.steps // 2).on_the_way()",
        f"{_LEVELS} -k every_planned_visit",
    ),
    Mutant(
        "damping that does not follow the noise",
        "methods/designs.py",
        "expected = outlook.excess(flow, self._noise(shape) * np.sqrt(times))",
        "expected = outlook.excess(flow, 0.0)",
        f"{_MAJORIZE} -k more_damping",
    ),
)
