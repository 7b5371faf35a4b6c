"""No prediction is matched with another record, and no record makes a figure fail once it is charged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sottovoce as sv
from sottovoce import errors, evaluation
from sottovoce.data.persons import Persons
from sottovoce.evaluation.private_evaluation import PrivateEvaluation
from sottovoce.evaluation.rows import answered, readable

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

    monkeypatch.setattr("sottovoce.privacy.counting.noise_for", lambda simulate: Bare())
    X, y = data()
    for table in (lambda rows: rows, sparse.csr_array):
        other, labels = X.copy(), y.tolist()
        other[5], labels[5] = HOSTILE_ROWS[row], HOSTILE_LABELS[label]
        FIGURES[name](Model(), table(X), y.tolist(), budget=BUDGET, reading=sv.ReadOptions(invalid="zero"))
        with np.errstate(over="ignore"):
            FIGURES[name](
                Model(), table(other), labels, budget=BUDGET, reading=sv.ReadOptions(invalid="zero")
            )
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
    for options in ({"reading": "drop"}, {"bins": 0}, {"ceiling": -1.0}):
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
        Model(),
        X,
        y,
        target=(0, 1),
        budget=sv.Budget(8.0, 1e-6),
        reading=sv.ReadOptions(invalid="zero"),
        simulate=0,
    )
    truth = np.abs(np.nan_to_num(y) - Model().predict(X)).mean()
    assert found.low <= truth <= found.high
    with pytest.raises(sv.errors.DataError, match="NaN"):
        evaluation.absolute_error(Model(), X, y, target=(0, 1), budget=BUDGET, simulate=0)


def _frame(X: np.ndarray) -> Any:
    return pytest.importorskip("pandas").DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


@pytest.mark.parametrize("hold", [np.asarray, sparse.csr_array, _frame], ids=["array", "sparse", "frame"])
def test_a_person_with_more_or_no_rows_moves_nobody_else_to_another_place(hold: Any) -> None:
    counts = 1 + np.arange(30) % 3
    marks, keys = 2.0 + np.arange(counts.sum()), [f"p{k}" for k in np.repeat(np.arange(30), counts)]

    def placed(rows: int) -> set[tuple[float, int, int]]:
        """Each row of the others with the place and the length of its call: what this model answers."""
        X = np.ones((rows + len(marks), 2))
        X[rows:, 0] = marks
        people = Persons.of(["me"] * rows + keys, len(X), 31, lenient=False)

        def answer(part: Any) -> np.ndarray:
            return np.arange(part.shape[0]) + 1000 * part.shape[0]

        found = {
            (float(X[row, 0]), *divmod(int(where), 1000))
            for chosen, answers in answered(answer, hold(X), people)
            for row, where in zip(chosen, answers, strict=True)
        }
        return {seen for seen in found if seen[0] >= 2.0}

    alone = placed(0)
    assert len(alone) == len(marks)
    assert len({length for _, length, _ in alone}) == 1
    assert placed(1) == placed(2) == placed(40) == alone


def test_a_figure_by_persons_is_that_of_the_same_rows_in_one_call() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    keys = [f"p{k}" for k in rng.integers(120, size=400)]
    y = rng.integers(2, size=400)
    whole = Model()
    heard = []
    for people in (Persons.of(keys, 400, None, lenient=False), None):
        found = PrivateEvaluation(whole, X, y, None, 0.95, "raise", people)  # type: ignore[arg-type]
        heard.append((found.predictions().tolist(), found.chances().tolist()))
    assert heard[0] == heard[1]


def test_a_list_is_read_cell_by_cell() -> None:
    """One real number or text in it does not change what the model is handed of the other rows."""
    X = [[1, 2], [3, 4], [2**53 + 1, 0]]
    for stranger in (1, 1.5, "1", "x", None):
        rows = readable([[stranger, 2], *X[1:]], lenient=True)
        assert rows.dtype == np.float64
        assert rows[1:].tolist() == [[3.0, 4.0], [2.0**53, 0.0]]
    for ragged in ([[1, 2], [3]], ["ab", "cd"], [1, 2]):
        with pytest.raises(errors.DataError, match="type"):
            readable(ragged, lenient=True)
