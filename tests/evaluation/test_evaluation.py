from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.accounting.events import GaussianEvent, QueryKind
from sottovoce.evaluation.private_evaluation import PrivateEvaluation
from tests.doubles import counting
from tests.estimators.test_estimators import classifier, numbers, regressor, three_classes, two_classes

BUDGET = sv.Budget(1.0, 1e-6)


@pytest.fixture(scope="module")
def binary() -> tuple[Any, np.ndarray, np.ndarray]:
    model = classifier().fit(*two_classes(2000))
    return model, *two_classes(3000, seed=1)


@pytest.fixture(scope="module")
def multiclass() -> tuple[Any, np.ndarray, np.ndarray]:
    X, y = three_classes(3000)
    return classifier().fit(X, y), X[::2], y[::2]


def true_accuracy(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(model.predict(X) == y))


def test_intervals_hold_as_often_as_they_say(binary: tuple[Any, np.ndarray, np.ndarray]) -> None:
    """Over 150 seeds the misses of a 90 % interval stay below 42 but for 1e-9, and are not 0."""
    model, X, y = binary
    truth = true_accuracy(model, X, y)
    missed = 0
    for seed in range(150):
        estimate = evaluation.accuracy(
            model, X, y, budget=sv.Budget(0.01, 1e-6), simulate=seed, confidence=0.9
        )
        missed += not estimate.low <= truth <= estimate.high
        assert estimate.population[0] <= estimate.low
        assert estimate.population[1] >= estimate.high
    assert 0 < missed < 42


def test_figures_are_close_to_the_truth(multiclass: tuple[Any, np.ndarray, np.ndarray]) -> None:
    model, X, y = multiclass
    found = evaluation.evaluate(model, X, y, budget=sv.Budget(8.0, 1e-6), simulate=0)
    assert found.accuracy.value == pytest.approx(true_accuracy(model, X, y), abs=0.01)
    codes = np.searchsorted(model.classes_, y)
    chances = model.predict_proba(X)
    losses = np.minimum(-np.log(chances[np.arange(len(y)), codes]), math.log(1000))
    assert found.log_loss.value == pytest.approx(losses.mean(), abs=0.05)
    exact = np.zeros((3, 3))
    np.add.at(exact, (codes, chances.argmax(axis=1)), 1)
    assert np.abs(found.confusion.counts - exact).max() <= found.confusion.margin
    assert found.confusion.classes == ("a", "b", "c")
    assert found.calibration.counts.sum() == pytest.approx(len(y), rel=0.05)
    assert "accuracy 0." in str(found.accuracy)


def test_calibration_intervals_hold_in_every_bin_at_once(binary: tuple[Any, np.ndarray, np.ndarray]) -> None:
    model, X, y = binary
    stated, happened = model.predict_proba(X)[:, 1], y == "yes"
    bins = np.clip((stated * 5).astype(int), 0, 4)
    for seed in range(30):
        found = evaluation.calibration(model, X, y, bins=5, budget=BUDGET, simulate=seed, confidence=0.999999)
        for b in range(5):
            if (bins == b).any():
                assert found.low[b] <= happened[bins == b].mean() <= found.high[b]
        assert (found.low <= found.frequency + 1e-12).all()
        assert (found.frequency <= found.high + 1e-12).all()


def test_a_regressor_is_measured_by_its_clipped_absolute_error() -> None:
    X, y = numbers(3000)
    model = regressor(radius=2.0).fit(X, y)
    y = y.copy()
    y[:10] = 1e9
    truth = np.abs(np.clip(model.predict(X), -50, 150) - np.clip(y, -50, 150)).mean()
    found = evaluation.absolute_error(model, X, y, target=(-50, 150), budget=BUDGET, simulate=0)
    assert found.low <= truth <= found.high
    assert found.high - found.low < 20.0
    with pytest.raises(sv.errors.DataError, match="NaN"):
        evaluation.absolute_error(model, X, y * np.nan, target=(-50, 150), budget=BUDGET, simulate=0)


EXACT = {
    "accuracy": (lambda *t, **k: evaluation.accuracy(*t, **k), 1.0),
    "log_loss": (lambda *t, **k: evaluation.log_loss(*t, **k), 2.0**20),
    "confusion_matrix": (lambda *t, **k: evaluation.confusion_matrix(*t, **k), math.sqrt(2.0)),
    "calibration": (lambda *t, **k: evaluation.calibration(*t, **k), math.sqrt(2.0)),
}


@pytest.mark.parametrize("name", EXACT)
def test_no_replaced_record_moves_a_count_past_what_is_charged(
    name: str, multiclass: tuple[Any, np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, y = multiclass
    X, y = X[:50], y[:50]
    ask, bound = EXACT[name]
    exact: list[np.ndarray] = []

    class Bare:
        simulated = True

        def gaussian(self, answer: np.ndarray, calibration: Any) -> np.ndarray:
            exact.append(answer.copy())
            assert calibration.exact_sensitivity >= bound
            return answer

    monkeypatch.setattr("sottovoce.privacy.counting.noise_for", lambda simulate: Bare())
    ask(model, X, y, budget=BUDGET)
    rng = np.random.default_rng(0)
    for _ in range(40):
        other_X, other_y = X.copy(), y.copy()
        place = rng.integers(50)
        other_X[place] = rng.standard_normal(2) * rng.choice([0.1, 10.0, 1e6])
        other_y[place] = rng.choice(["a", "b", "c"])
        ask(model, other_X, other_y, budget=BUDGET)
        assert np.linalg.norm(exact[-1] - exact[0]) <= bound * (1 + 1e-12)
        assert np.array_equal(exact[-1], np.rint(exact[-1]))


def test_every_figure_is_charged_once_before_the_model_sees_a_record(
    binary: tuple[Any, np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, y = binary
    ledger = sv.Ledger(sv.Budget(4.0, 1e-5))
    evaluation.evaluate(model, X, y, budget=BUDGET, ledger=ledger, simulate=0)
    assert [type(grant.event) for grant in ledger.history] == [GaussianEvent] * 6
    assert {grant.event.query for grant in ledger.history} == {QueryKind.EVALUATION}
    whole = sv.Ledger(BUDGET).units_cap
    assert 0.999 * whole <= ledger.units_spent <= whole

    def refuse(self: object, event: object) -> None:
        raise sv.errors.BudgetExceeded("refused")

    monkeypatch.setattr("sottovoce.accounting.run.Run.charge", refuse)

    def watched(self: object, X: np.ndarray) -> np.ndarray:
        assert not np.any(X), "data was touched"
        return np.zeros(len(X))

    monkeypatch.setattr(type(model), "decision_function", watched)
    for ask, _ in EXACT.values():
        with pytest.raises(sv.errors.BudgetExceeded):
            ask(model, X, y, budget=BUDGET)


def test_an_evaluation_spends_its_whole_budget_and_no_more(
    binary: tuple[Any, np.ndarray, np.ndarray],
) -> None:
    model, X, y = binary
    ledger = sv.Ledger(BUDGET)
    evaluation.accuracy(model, X, y, budget=BUDGET, ledger=ledger)
    assert ledger.units_cap * (1 - 1e-9) <= ledger.units_spent <= ledger.units_cap
    with pytest.raises(sv.errors.BudgetExceeded):
        evaluation.accuracy(model, X, y, budget=BUDGET, ledger=ledger)


def test_exact_noise_differs_and_integers_survive_it(binary: tuple[Any, np.ndarray, np.ndarray]) -> None:
    model, X, y = binary
    values = {evaluation.accuracy(model, X, y, budget=BUDGET).value for _ in range(3)}
    assert len(values) == 3
    assert all(abs(value - true_accuracy(model, X, y)) < 0.05 for value in values)


def test_sparse_rows_and_frames_are_evaluated_too(binary: tuple[Any, np.ndarray, np.ndarray]) -> None:
    model, X, y = binary
    expected = evaluation.accuracy(model, X, y, budget=BUDGET, simulate=0).value
    for other in (sparse.csr_matrix(X), X.tolist()):
        assert evaluation.accuracy(model, other, y, budget=BUDGET, simulate=0).value == expected


def test_no_record_counts_more_than_the_declared_width_whatever_it_loses() -> None:
    """Losses are clipped where they arise, too; this is the clip that the charge rests on."""
    counted: list[np.ndarray] = []

    def noisy(compute: Any, *_: Any) -> tuple[np.ndarray, float]:
        counted.append(compute())
        return counted[-1], 1.0

    test = PrivateEvaluation(None, np.zeros((3, 1)), np.zeros(3), counting(noisy), 0.95, "raise", None)  # type: ignore[arg-type]
    test.mean("loss", lambda: np.array([50.0, -50.0, 1.0]), 2.0, 1000, 1)  # type: ignore[arg-type]
    assert counted[0].tolist() == [1500.0]


def test_wrong_arguments_and_labels_are_refused_without_quoting(
    binary: tuple[Any, np.ndarray, np.ndarray],
) -> None:
    model, X, y = binary
    for options, words in (
        ({"budget": 1.0}, "Budget"),
        ({"budget": BUDGET, "confidence": 1}, "confidence"),
        ({"budget": BUDGET, "bins": 0}, "bins"),
    ):
        with pytest.raises(sv.errors.ParameterError, match=words):
            evaluation.calibration(model, X, y, simulate=0, **options)  # type: ignore[arg-type]
    with pytest.raises(sv.errors.ParameterError, match="ceiling"):
        evaluation.log_loss(model, X, y, budget=BUDGET, ceiling=0.0, simulate=0)
    with pytest.raises(sv.errors.DataError, match="each row"):
        evaluation.accuracy(model, X, y[:-1], budget=BUDGET)
    odd = y.astype(object)
    odd[3] = "topsecret"
    with pytest.raises(sv.errors.DataError, match="none of the model's classes") as caught:
        evaluation.confusion_matrix(model, X, odd, budget=BUDGET)
    assert "topsecret" not in str(caught.value) + str(caught.value.__context__)
    plain = classifier(loss="sigmoid").fit(X, y)
    ledger = sv.Ledger(BUDGET)
    with pytest.raises(sv.errors.ParameterError, match="probabilities"):
        evaluation.log_loss(plain, X, y, budget=BUDGET, ledger=ledger)
    assert ledger.units_spent == 0


def test_figures_are_plain_values(binary: tuple[Any, np.ndarray, np.ndarray]) -> None:
    model, X, y = binary
    found = evaluation.evaluate(model, X, y, budget=BUDGET, simulate=0)
    back = pickle.loads(pickle.dumps(found))
    assert back.accuracy == found.accuracy
    assert np.array_equal(back.confusion.counts, found.confusion.counts)


class _Constant:
    classes_ = np.array([-1, 1])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))


def test_the_majority_rate_is_that_of_the_commonest_class() -> None:
    """Noise of sd below 0.002 here: 0.02 off has odds below 1e-6."""
    X, y = np.zeros((4000, 1)), np.repeat([-1, 1], [2800, 1200])
    found = evaluation.majority_rate(_Constant(), X, y, budget=sv.Budget(1.0, 1e-6), simulate=0)
    assert found.value == pytest.approx(0.7, abs=0.02)
    assert found.low <= 0.7 <= found.high
    assert not found.too_few
    few = evaluation.majority_rate(_Constant(), X[:40], y[-40:], budget=sv.Budget(0.3, 1e-6), simulate=0)
    assert few.too_few
    assert few.too_few in str(few)
    assert 0.5 <= few.low <= few.high <= 1.0


class _Certain(_Constant):
    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([np.full(len(X), 0.05), np.full(len(X), 0.95)])


def test_no_count_is_negative_and_empty_bins_are_below_noise(capsys: pytest.CaptureFixture[str]) -> None:
    """Nine bins of ten are empty; a margin holds in all of them at once with odds above 1 - 1e-6."""
    from rich.console import Console

    from sottovoce.cli.evaluate import BELOW_NOISE, _shown

    X, y = np.zeros((4000, 1)), np.repeat([-1, 1], [200, 3800])
    options = {"budget": sv.Budget(1.0, 1e-6), "simulate": 0, "confidence": 1.0 - 1e-6}
    curve = evaluation.calibration(_Certain(), X, y, **options)
    assert (curve.counts >= 0.0).all()
    assert curve.below_noise.tolist() == [True] * 9 + [False]
    confusion = evaluation.confusion_matrix(_Certain(), X, y, **options)
    assert (confusion.counts >= 0.0).all()
    Console(width=120).print(_shown(curve, "persons"), _shown(confusion, "persons"))
    told = capsys.readouterr().out
    assert told.count(BELOW_NOISE) == 9 + 2


class _First:
    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0]


def test_no_record_makes_the_deviance_warn() -> None:
    """Warnings are errors here. One count predicted as 1e-310 used to overflow a quotient."""
    X = np.ones((50, 1))
    for smallest in (1.0, 1e-310, 0.0):
        X[3] = smallest
        evaluation.deviance(
            _First(), X, np.full(50, 5.0), target=(0.0, 20.0), budget=sv.Budget(1.0, 1e-6), simulate=0
        )
