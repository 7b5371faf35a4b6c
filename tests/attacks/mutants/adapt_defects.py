"""Mistakes in what `adapt` concludes from its answers: no privacy rests on them, utility does."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

_TESTS = "tests/methods/test_adapt.py"
_LEAST = "tests/methods/test_least_penalty.py"
_LENGTH = "tests/methods/test_calibration.py"

ADAPT = (
    Mutant(
        "means moved by noise",
        "methods/coordinates.py",
        "centres = means * np.maximum(0.0, 1.0 - _CLEAR * noise / np.maximum(means**2, 1e-300))",
        "centres = means * 1.0",
        f"{_TESTS} -k not_moved_by_noise",
    ),
    Mutant(
        "variances trusted however noisy",
        "methods/coordinates.py",
        "trust = scatter / (scatter + errors**2)",
        "trust = np.ones_like(errors)",
        f"{_TESTS} -k one_scale",
    ),
    Mutant(
        "squares not centred",
        "methods/coordinates.py",
        "seen = moments.squares[columns] - taken",
        "seen = moments.squares[columns] + taken",
        f"{_TESTS} -k centred_variance",
    ),
    Mutant(
        "noise kept in the second moments",
        "methods/second_moments.py",
        "np.sqrt(np.maximum(values**2 - (_CLEAR * edge) ** 2, 0.0))",
        "np.abs(values)",
        f"{_TESTS} -k stands_out",
    ),
    Mutant(
        "evidence of the first answer forgotten",
        "methods/posterior.py",
        "np.sum(np.sum(answer**2, axis=0) / total + len(u) * np.log(total), axis=1)",
        "np.sum(np.sum(answer**2, axis=0) / total, axis=1)",
        f"{_TESTS} -k how_strong",
    ),
    Mutant(
        "noise of an answer forgotten",
        "methods/posterior.py",
        "gain = self.variances / (self.variances + noise + error)",
        "gain = self.variances / (self.variances + error)",
        f"{_TESTS} -k noise_allows",
    ),
    Mutant(
        "errors of the curvature never die out",
        "methods/posterior.py",
        "return np.asarray(self.priors / (self.priors + _TELLING * noise))",
        "return np.zeros_like(noise)",
        f"{_TESTS} -k dies_out",
    ),
    Mutant(
        "the last answer believed however noisy",
        "methods/posterior.py",
        "return np.asarray(self.priors / (self.priors + _TELLING * noise))",
        "return np.ones_like(noise)",
        f"{_TESTS} -k dies_out",
    ),
    Mutant(
        "step in the wrong direction",
        "methods/posterior.py",
        "moved, noise = -heard.answer / bends",
        "moved, noise = heard.answer / bends",
        f"{_TESTS} -k hide",
    ),
    Mutant(
        "answers heard again as if each were asked at the end",
        "methods/posterior.py",
        "square = np.mean((heard.u - near) ** 2, axis=0) + unknown",
        "square = 0.0 * near[0]",
        f"{_TESTS} -k farther_off",
    ),
    Mutant(
        "noise of answers heard again counted as if all were one",
        "methods/posterior.py",
        "passed += counted**2 * noise",
        "passed += counted * noise",
        f"{_TESTS} -k heard_again",
    ),
    Mutant(
        "nothing left of the signal is free",
        "methods/outlook.py",
        "(self.signal * left / (self.signal + left)).sum()",
        "left.sum()",
        f"{_TESTS} -k doing_nothing",
    ),
    Mutant(
        "curvature along the weights without its way",
        "methods/log_odds.py",
        "return Secants(across, change / ((1.0 - reached) * deviation**2))",
        "return Secants(across, change / deviation)",
        f"{_TESTS} -k limit_costs",
    ),
    Mutant(
        "weights moved to the constant alone",
        "methods/least_penalty.py",
        "directions[start:stop, block] = -1.0",
        "directions[start:stop, block] = 0.0",
        f"{_LEAST} -k no_prediction_moves",
    ),
    Mutant(
        "rows without a category forgotten",
        "methods/least_penalty.py",
        "return np.asarray(self.curvature * self.constant**2 * self.lacking)",
        "return np.asarray(self.curvature * self.constant**2 * 0.0 * self.lacking)",
        f"{_LEAST} -k keep_their_predictions",
    ),
    Mutant(
        "gradients tell nothing of rows without a category",
        "methods/least_penalty.py",
        "self.against = self.against + 0.5 * heard.sum(axis=0)",
        "self.against = self.against + 0.0 * heard.sum(axis=0)",
        f"{_LEAST} -k gradients_to_tell",
    ),
    Mutant(
        "penalty taken for the rows' pull",
        "methods/least_penalty.py",
        "seen = along - self._pull(",
        "seen = along + self._pull(",
        f"{_LEAST} -k gradients_to_tell",
    ),
    Mutant(
        "weights end where the penalty is not least",
        "methods/adapted_descent.py",
        "within_limit(self.least.at(geometry.to_user(self._back(ended + added))))",
        "within_limit(geometry.to_user(self._back(ended + added)))",
        f"{_LEAST} -k end_of_its_range",
    ),
    Mutant(
        "more steps however noisy the answers",
        "methods/adapt_paces.py",
        "outlook.excess(least) > _PRECISE * outlook.at_stake",
        "outlook.at_stake < 0.0",
        f"{_TESTS} -k takes_more_steps",
    ),
    Mutant(
        "weights made shorter where they are too short",
        "methods/calibration.py",
        "seen, noise = -found.factor * float(answer.value @ way)",
        "seen, noise = found.factor * float(answer.value @ way)",
        f"{_LENGTH} -k right_length",
    ),
    Mutant(
        "the length asked in all directions",
        "methods/calibration.py",
        "turn = _OTHERS * np.eye(direction.size) + (1.0 - _OTHERS) * np.outer(direction, direction)",
        "turn = np.eye(direction.size)",
        f"{_LENGTH} -k pays_for_scores",
    ),
    Mutant(
        "a length believed however noisy",
        "methods/calibration.py",
        "/ (noise**2 + (_WRONG * bend) ** 2)",
        "/ (1e-6 + (_WRONG * bend) ** 2)",
        f"{_LENGTH} -k lost_in_noise",
    ),
    Mutant(
        "the constant lengthened with the columns",
        "methods/adapted_descent.py",
        "held[place] = 0.0",
        "held[place] *= 1.0",
        f"{_LENGTH} -k keeps_its_weight",
    ),
    Mutant(
        "gradients asked at the weights found however noisy",
        "methods/adapted_descent.py",
        "return part * self._without_constant(weighed * found)",
        "return 0.0 * self._without_constant(weighed * found)",
        f"{_LENGTH} -k short_of",
    ),
    Mutant(
        "columns told apart by chance",
        "methods/coordinates.py",
        "return 1.0 + _CHANCE * math.sqrt(2.0 / count)",
        "return 1.0",
        f"{_TESTS} -k by_chance",
    ),
    Mutant(
        "a noisy diagonal believed beside an uncertain one",
        "methods/second_moments.py",
        "trust = min(1.0, math.sqrt(max(seen, 0.0) / float(np.mean(errors**2))))",
        "trust = 1.0",
        f"{_TESTS} -k diagonal_strays",
    ),
)
