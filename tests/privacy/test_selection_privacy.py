"""The choice of a search and the mean of a figure keep the sensitivities they are charged by."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.estimators.held_out import held_out
from sottovoce.privacy.counting import STEPS, Counted, CountOracle, scores
from sottovoce.privacy.noise import SimulatedNoise

DRAWS, CANDIDATES = 8000, 10
BUDGET = sv.Budget(1.0, 1e-6)


def test_the_choice_is_as_private_as_it_is_priced() -> None:
    """Worst neighbours: one score rises and all others fall, each by all it may. The odds of that one change
    by little less than e^epsilon; with half the noise by nearly e^(2 epsilon). Binomial bounds at 1e-7."""
    oracle = CountOracle(SimpleNamespace(budget=BUDGET), SimulatedNoise(1))  # type: ignore[arg-type]
    wins = []
    for side in (-1, 1):
        scores = [side * STEPS // 2, *([-side * STEPS // 2] * (CANDIDATES - 1))]
        wins.append(sum(oracle._noisiest(scores, 1.0) == 0 for _ in range(DRAWS)))
    rare = binom.ppf(1 - 1e-7, DRAWS, wins[0] / DRAWS) / DRAWS
    often = binom.ppf(1e-7, DRAWS, wins[1] / DRAWS) / DRAWS
    assert 1.5 < often / rare <= math.e


@pytest.mark.long
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_no_replaced_record_moves_a_score_past_what_the_choice_is_charged_for(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records held out are replaced, so that every candidate is the same and only its score may change."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y: Any = np.where(X[:, 0] > 0, 1, -1) if kind == "classes" else X[:, 0]
    made: Any = sv.PrivateClassifier(classes=(-1, 1))
    if kind == "numbers":
        made = sv.PrivateRegressor(target=(-1.0, 1.0))
    seen: list[np.ndarray] = []

    def watched(oracle: CountOracle, counted: Counted, merits: Any, units: int) -> int:
        seen.append(np.array(scores(counted, merits())))
        return 0

    monkeypatch.setattr(CountOracle, "best", watched)
    places = np.flatnonzero(held_out(60, 0.2))
    for trial in range(15):
        other_X, other_y = X.copy(), y.copy()
        if trial:
            place = rng.choice(places)
            other_X[place] = rng.normal(size=2) * rng.choice([0.1, 1e6])
            other_y[place] = rng.choice([-1, 1]) * (1 if kind == "classes" else rng.choice([0.1, 1e9]))
        sv.PrivateSearch(made, {"strength": [1e-6, 1.0]}, delta=1e-5, simulate=0).fit(other_X, other_y)
    changes = [np.abs(found - seen[0]).max() for found in seen]
    assert 0.3 * STEPS < max(changes) <= STEPS


class Boastful:
    """A model of somebody else's, whose probabilities are none."""

    classes_ = np.array([-1, 1])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.sign(X[:, 0]).astype(int)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.exp(100.0 * np.column_stack([-X[:, 0], X[:, 0]]))


def test_a_model_that_gives_no_probabilities_cannot_move_a_figure_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact: list[float] = []

    class Bare:
        simulated = True

        def gaussian(self, answer: np.ndarray, calibration: Any) -> np.ndarray:
            exact.append(float(answer[0]) / calibration.exact_sensitivity)
            return answer

    monkeypatch.setattr("sottovoce.privacy.counting.noise_for", lambda simulate: Bare())
    X, y = np.full((20, 1), 0.01), np.ones(20, dtype=int)
    for last in (0.01, 3.0, -3.0):
        X[-1] = last
        evaluation.log_loss(Boastful(), X, y, budget=sv.Budget(1.0, 1e-5))
    assert max(exact) - min(exact) <= 1.0
