"""No prediction is matched with another record, and no record makes a figure fail once it is charged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sottovoce as sv
from sottovoce import evaluation

BUDGET = sv.Budget(1.0, 1e-6)
FIGURES: dict[str, Any] = {
    "accuracy": evaluation.accuracy,
    "log_loss": evaluation.log_loss,
    "confusion_matrix": evaluation.confusion_matrix,
    "calibration": evaluation.calibration,
    "evaluate": evaluation.evaluate,
}
MOVES = {
    "accuracy": 1.0,
    "log_loss": 2.0**20,
    "confusion_matrix": math.sqrt(2.0),
    "calibration": math.sqrt(2.0),
}


class Model:
    """A public classifier by the sign of the first column; predictions in any shape."""

    classes_ = np.array([0, 1])

    def __init__(self, shape: tuple[int, ...] = (-1,), chances: tuple[int, ...] = (-1, 2)) -> None:
        self.shape, self.shaped = shape, chances

    def predict(self, X: Any) -> Any:
        return (self._first(X) > 0).astype(int).reshape(self.shape)

    def predict_proba(self, X: Any) -> Any:
        odds = 1.0 / (1.0 + np.exp(-self._first(X)))
        return np.column_stack([1.0 - odds, odds]).reshape(self.shaped)

    def _first(self, X: Any) -> np.ndarray:
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
        if not np.isfinite(dense).all():
            raise ValueError(f"Input X contains NaN: {dense}")
        return dense[:, 0]


def data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).standard_normal((n, 3))
    return X, (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("name", FIGURES)
def test_predictions_of_another_shape_are_refused_before_anything_is_charged(name: str) -> None:
    X, y = data()
    by_chance = name in ("log_loss", "calibration")
    wrong = Model(chances=(-1, 1)) if by_chance else Model(shape=(-1, 1))
    for table in (X, sparse.csr_array(X), X.tolist()):
        ledger = sv.Ledger(BUDGET)
        with pytest.raises(sv.errors.ParameterError, match="made-up rows"):
            FIGURES[name](wrong, table, y, budget=BUDGET, ledger=ledger, simulate=0)
        assert not ledger.units_spent


def test_masked_predictions_are_refused_before_anything_is_charged() -> None:
    class Masked(Model):
        def predict(self, X: Any) -> Any:
            return np.ma.array(super().predict(X), mask=False)

    X, y = data()
    ledger = sv.Ledger(BUDGET)
    with pytest.raises(sv.errors.ParameterError, match="masked"):
        evaluation.accuracy(Masked(), X, y, budget=BUDGET, ledger=ledger)
    assert not ledger.history


def test_a_regressor_of_another_shape_is_refused_too() -> None:
    X, y = data()
    ledger = sv.Ledger(BUDGET)
    with pytest.raises(sv.errors.ParameterError, match="ravel"):
        evaluation.absolute_error(
            Model(shape=(-1, 1)), X, y, target=(0, 1), budget=BUDGET, ledger=ledger, simulate=0
        )
    assert not ledger.units_spent


class Late(Model):
    """Shows the right shape on made-up rows and another on records."""

    def predict(self, X: Any) -> Any:
        found = super().predict(X)
        return found if len(found) == 2 else found[:, None]


def test_a_shape_that_shows_itself_late_releases_nothing() -> None:
    X, y = data()
    for figure in (evaluation.accuracy, evaluation.confusion_matrix):
        with pytest.raises(sv.errors.DataError, match="one a record"):
            figure(Late(), X, y, budget=BUDGET, simulate=0)


HOSTILE_ROWS = {"NaN": math.nan, "infinity": math.inf, "huge": 1e300, "subnormal": 5e-324}
HOSTILE_LABELS = {
    "undeclared": 7,
    "text": "topsecret",
    "None": None,
    "NaN": math.nan,
    "list": [1],
    "half": 0.5,
}


@pytest.mark.parametrize("row", HOSTILE_ROWS)
@pytest.mark.parametrize("label", HOSTILE_LABELS)
@pytest.mark.parametrize("name", MOVES)
def test_no_record_makes_a_figure_fail_or_move_past_its_charge(
    name: str, label: str, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact: list[np.ndarray] = []

    class Bare:
        simulated = True

        def gaussian(self, answer: np.ndarray, calibration: Any) -> np.ndarray:
            exact.append(answer.copy())
            return answer

    monkeypatch.setattr("sottovoce.privacy.oracle.noise_for", lambda simulate: Bare())
    X, y = data()
    for table in (lambda rows: rows, sparse.csr_array):
        other, labels = X.copy(), y.tolist()
        other[5], labels[5] = HOSTILE_ROWS[row], HOSTILE_LABELS[label]
        FIGURES[name](Model(), table(X), y.tolist(), budget=BUDGET, invalid="zero")
        with np.errstate(over="ignore"):
            FIGURES[name](Model(), table(other), labels, budget=BUDGET, invalid="zero")
        assert np.linalg.norm(exact[-1] - exact[-2]) <= MOVES[name] * (1 + 1e-12)
        assert np.isfinite(exact[-1]).all()


@pytest.mark.parametrize("name", FIGURES)
def test_what_validation_refuses_is_refused_before_the_charge_without_a_quote(name: str) -> None:
    X, y = data()
    broken = X.copy()
    broken[3, 1] = math.nan
    odd = y.tolist()
    odd[3] = "topsecret"
    cases: list[tuple[Any, Any]] = [(broken, y), (sparse.csr_array(broken), y)]
    if name != "accuracy":
        cases.append((X, odd))
    for rows, labels in cases:
        ledger = sv.Ledger(BUDGET)
        with pytest.raises(sv.errors.DataError, match="Clean the test set") as caught:
            FIGURES[name](Model(), rows, labels, budget=BUDGET, ledger=ledger, simulate=0)
        assert not ledger.units_spent
        assert "topsecret" not in str(caught.value) + repr(caught.value.__context__)
    for options in ({"invalid": "drop"}, {"bins": 0}, {"ceiling": -1.0}):
        ledger = sv.Ledger(BUDGET)
        with pytest.raises((sv.errors.ParameterError, TypeError)):
            FIGURES[name](Model(), X, y, budget=BUDGET, ledger=ledger, simulate=0, **options)
        assert not ledger.units_spent


def test_a_model_that_raises_on_a_record_is_not_quoted() -> None:
    X, y = data()
    table = X.tolist()
    table[3][1] = math.nan
    with pytest.raises(sv.errors.DataError) as caught:
        evaluation.accuracy(Model(), table, y, budget=BUDGET, simulate=0)
    assert caught.value.__context__ is None


def test_a_missing_target_counts_as_the_number_nearest_to_zero() -> None:
    X, y = data(2000)
    y = y.astype(float)
    y[:3] = math.nan
    found = evaluation.absolute_error(
        Model(), X, y, target=(0, 1), budget=sv.Budget(8.0, 1e-6), invalid="zero", simulate=0
    )
    truth = np.abs(np.nan_to_num(y) - Model().predict(X)).mean()
    assert found.low <= truth <= found.high
    with pytest.raises(sv.errors.DataError, match="NaN"):
        evaluation.absolute_error(Model(), X, y, target=(0, 1), budget=BUDGET, simulate=0)
