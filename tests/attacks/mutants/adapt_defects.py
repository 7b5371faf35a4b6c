"""Mistakes in what `adapt` concludes from its answers: no privacy rests on them, utility does."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

_TESTS = "tests/methods/test_adapt.py"
_LEAST = "tests/methods/test_least_penalty.py"

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
        "methods/adapt.py",
        "within_limit(self.least.at(geometry.to_user(self._back(ended))))",
        "within_limit(geometry.to_user(self._back(ended)))",
        f"{_LEAST} -k end_of_its_range",
    ),
    Mutant(
        "more steps however noisy the answers",
        "methods/adapt_paces.py",
        "outlook.excess(least) > _PRECISE * outlook.at_stake",
        "outlook.at_stake < 0.0",
        f"{_TESTS} -k takes_more_steps",
    ),
)
