"""Estimators with curves: declared bounds take the place of the radius, and the rest stays as it is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.events import QueryKind
from sottovoce.errors import ParameterError

OPTIONS: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "bounds": (-1.0, 1.0), "simulate": 1}


def rows(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (n, 3))
    return x, 3.0 * np.abs(x[:, 0]) - 1.5 + x[:, 1]


@pytest.mark.parametrize("model", ["additive", "auto"])
def test_a_classifier_bends_where_the_truth_does(model: str) -> None:
    x, score = rows(4_000)
    y = np.random.default_rng(1).random(4_000) < 1.0 / (1.0 + np.exp(-2.0 * score))
    ledger = Ledger(Budget(4.0, 1e-6))
    bent = sv.PrivateClassifier(classes=(False, True), model=model, ledger=ledger, **OPTIONS).fit(x, y)
    line = sv.PrivateClassifier(classes=(False, True), radius=2.0, epsilon=4.0, delta=1e-6, simulate=1)
    assert bent.score(x, y) > line.fit(x, y).score(x, y) + 0.05
    assert ledger.history[0].event.query is QueryKind.MARGINALS  # type: ignore[union-attr]
    assert bent.guarantee_.epsilon == 4.0
    assert not hasattr(bent, "coef_")
    assert len(bent.marginals_) == 3
    again = pickle.loads(pickle.dumps(bent))
    np.testing.assert_array_equal(again.predict_proba(x), bent.predict_proba(x))
    assert clone(bent).get_params()["model"] == model


def test_a_regressor_and_several_classes_bend_too() -> None:
    x, score = rows(3_000)
    number = sv.PrivateRegressor(target=(-3.0, 3.0), model="additive", **OPTIONS).fit(x, score)
    assert number.score(x, score) > 0.8
    several = np.digitize(score, [-0.5, 0.5])
    model = sv.PrivateClassifier(classes=(0, 1, 2), model="additive", **OPTIONS).fit(x, several)
    assert model.score(x, several) > 0.7
    assert model.decision_function(x).shape == (3_000, 3)


def test_a_later_linear_fit_forgets_the_curves() -> None:
    x, score = rows(300)
    model = sv.PrivateClassifier(classes=(False, True), model="additive", **OPTIONS).fit(x, score > 0.0)
    model.set_params(model="linear").fit(x, score > 0.0)
    assert not hasattr(model, "curves_")
    assert model.coef_.shape == (1, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": None},
        {"bounds": (1.0, -1.0)},
        {"bounds": ((0.0, 0.0), (1.0, 1.0))},
        {"model": "bent"},
        {"inference": 0.3},
        {"fit_intercept": False},
        {"model": "auto", "loss": "softplus-hinge"},
    ],
)
def test_what_declarations_refuse_is_refused_before_the_first_charge(wrong: dict[str, Any]) -> None:
    x, score = rows(50)
    ledger = Ledger(Budget(4.0, 1e-6))
    options = {**OPTIONS, "model": "additive", "classes": (False, True), "ledger": ledger, **wrong}
    with pytest.raises(ParameterError):
        sv.PrivateClassifier(**options).fit(x, score > 0.0)
    assert not ledger.history
