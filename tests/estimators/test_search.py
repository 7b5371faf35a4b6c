from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline

import sottovoce as sv
from sottovoce.accounting.events import PureEvent, QueryKind
from sottovoce.data.schema import Numeric
from sottovoce.estimators.held_out import held_out
from sottovoce.estimators.search import budget_within
from sottovoce.privacy.counting import Counted, CountOracle
from sottovoce.privacy.noise import SimulatedNoise
from tests.estimators.test_estimators import classifier, numbers, regressor, three_classes, two_classes

BUDGET = sv.Budget(4.0, 1e-5)
GRID = {"strength": [1e-6, 10.0]}


def search(estimator: object, grid: object, **options: object) -> sv.PrivateSearch:
    return sv.PrivateSearch(
        estimator,
        grid,
        **{"epsilon": 4.0, "delta": 1e-5, "simulate": 0, **options},  # type: ignore[arg-type]
    )


def test_the_better_setting_wins_and_its_model_predicts() -> None:
    X, y = two_classes(6000)
    found = search(classifier(), GRID).fit(X, y)
    assert found.best_params_ == {"strength": 1e-6}
    assert found.best_index_ == 0
    assert found.score(X, y) > 0.85
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.predict_proba(X).shape == (6000, 2)
    assert found.decision_function(X).shape == (6000,)
    assert len(found.results_) == 2
    assert found.guarantee_.epsilon == 4.0
    assert found.guarantee_.n == 6000


def test_exact_noise_chooses_and_is_private() -> None:
    X, y = two_classes(4000)
    found = search(classifier(), {"radius": [1.0, 1e5]}, simulate=None).fit(X, y)
    assert found.best_params_ == {"radius": 1.0}
    assert "differential privacy" in str(found.guarantee_)
    assert not any(result.simulated for result in found.results_)


def test_a_regressor_is_searched_by_its_clipped_error() -> None:
    X, y = numbers(6000)
    found = search(regressor(radius=2.0), GRID).fit(X, y)
    assert found.best_params_ == {"strength": 1e-6}
    assert found.score(X, y) > 0.8
    assert not hasattr(found, "predict_proba")


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas])
def test_a_pipeline_on_a_frame_is_searched_too(convert) -> None:  # type: ignore[no-untyped-def]
    X, y = three_classes(3000)
    schema = sv.Schema((Numeric("a", -1, 1), Numeric("b", -1, 1)))
    model = make_pipeline(sv.BoundedEncoder(schema), classifier(fit_intercept=False))
    frame = convert(pd.DataFrame(X, columns=["a", "b"]))
    found = search(model, {"privateclassifier__radius": [1e4, 1.0]}).fit(frame, y)
    assert found.best_index_ == 1
    assert found.score(frame, y) > 0.8


@pytest.mark.parametrize("count", [1, 3, pytest.param(7, marks=pytest.mark.slow)])
def test_fits_and_choice_together_stay_within_the_budget(count: int) -> None:
    ledger = sv.Ledger(BUDGET)
    grid = {"strength": [10.0**-power for power in range(count)]}
    search(classifier(), grid, ledger=ledger).fit(*two_classes(1000))
    assert ledger.units_spent <= ledger.units_cap
    assert ledger.units_spent >= 0.99 * ledger.units_cap
    selections = [grant for grant in ledger.history if grant.event.query is QueryKind.SELECTION]
    assert len(selections) == 1
    assert isinstance(selections[0].event, PureEvent)
    assert ledger.history[-1] == selections[0]
    with pytest.raises(sv.errors.BudgetExceeded):
        search(classifier(), grid, ledger=ledger).fit(*two_classes(1000))


def test_every_candidate_has_its_share_and_says_so() -> None:
    found = search(classifier(), GRID).fit(*two_classes(1000))
    parts = [result.guarantee.epsilon for result in found.results_]
    assert parts[0] == parts[1]
    assert 2.0 < parts[0] < 4.0


def test_the_split_depends_on_n_alone_and_is_even() -> None:
    chosen = held_out(10_000, 0.2)
    assert np.array_equal(chosen, held_out(10_000, 0.2))
    assert 0.19 < chosen.mean() < 0.21
    assert all(0.15 < part.mean() < 0.25 for part in np.split(chosen, 10))
    with pytest.raises(sv.errors.DataError, match="cannot be divided"):
        held_out(1, 0.2)


def test_held_out_records_never_reach_a_candidate_and_the_others_never_reach_the_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parts are marked in a column that the models weigh: each side sees its own mark only.

    A rehearsal, which charges nothing and computes nothing, sees both."""
    X, y = two_classes(1000)
    test = held_out(1000, 0.2)
    X[:, 2] = np.where(test, 0.25, -0.25)
    seen: dict[str, set[float]] = {"fit": set(), "predict": set()}
    for name, marks in seen.items():
        original = getattr(sv.PrivateClassifier, name)

        def watched(self, X, *rest, original=original, marks=marks):  # type: ignore[no-untyped-def]
            if self.ledger.identity != "rehearsal":
                marks.update(X[:, 2])
            return original(self, X, *rest)

        monkeypatch.setattr(sv.PrivateClassifier, name, watched)
    search(classifier(), GRID).fit(X, y)
    assert seen == {"fit": {-0.25}, "predict": {0.25}}


def test_the_choice_is_paid_for_before_a_record_is_scored() -> None:
    oracle = CountOracle.open(BUDGET, "search", None, 0)
    oracle.run.charge(PureEvent(QueryKind.SELECTION, oracle.run.currency.pure_epsilon(oracle.run.units_left)))
    with pytest.raises(sv.errors.BudgetExceeded):
        oracle.best(Counted(1, None), lambda: pytest.fail("data was touched"), 2**40)


def test_the_divided_budget_costs_at_most_its_units() -> None:
    currency = sv.Ledger(BUDGET).currency
    cap = currency.cap(BUDGET)
    for parts in (1, 3, 50):
        part = budget_within(currency, cap // parts, BUDGET)
        assert 0.999999 * (cap // parts) <= currency.cap(part) <= cap // parts
    with pytest.raises(sv.errors.ParameterError, match="fewer candidates"):
        budget_within(currency, 0, BUDGET)


class Tape:
    """Records every released answer of a search, or replays them whatever the data."""

    simulated = True

    def __init__(self, noise: SimulatedNoise | None, tape: list[np.ndarray]) -> None:
        self.noise, self.tape = noise, tape

    def gaussian(self, exact: np.ndarray, calibration: Any) -> np.ndarray:
        if self.noise is None:
            return self.tape.pop(0)
        self.tape.append(self.noise.gaussian(exact, calibration))
        return self.tape[-1].copy()


def test_the_same_released_answers_give_the_same_bytes_over_neighbouring_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The choice is released too: it is fixed here, after its scores were computed."""
    X, y = two_classes(500)
    tape: list[np.ndarray] = []
    said = []
    monkeypatch.setattr(sv.Ledger, "identity", property(lambda self: "fixed"))
    monkeypatch.setattr(CountOracle, "best", lambda self, counted, merits, units: len(merits()) - 1)
    for place, noise in (
        (None, SimulatedNoise(0)),
        (3, None),
        (int(np.flatnonzero(held_out(500, 0.2))[2]), None),
    ):
        other_X, other_y, answers = X.copy(), y.copy(), tape if noise else [a.copy() for a in tape]
        if place is not None:
            other_X[place], other_y[place] = -1e3 * X[place], "no" if y[place] == "yes" else "yes"
        monkeypatch.setattr("sottovoce.training.noise_for", lambda seed, n=noise, a=answers: Tape(n, a))
        found = search(classifier(classes=("no", "yes")), GRID).fit(other_X, other_y)
        said.append([pickle.dumps(found), repr(found).encode()])
    assert said[0] == said[1] == said[2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": None}, "delta"),
        ({"selection_share": 0.0}, "selection_share"),
        ({"held_out": 1.0}, "held_out"),
        ({"candidates": {"epsilon": [1.0]}}, "cannot be searched"),
        ({"estimator": make_pipeline(sv.BoundedEncoder("x"))}, "PrivateClassifier"),
    ],
)
def test_a_wrong_argument_is_refused(options: dict[str, object], words: str) -> None:
    model = search(classifier(), GRID).set_params(**options)
    with pytest.raises(ValueError, match=words):
        model.fit(*two_classes(100))


def test_a_fitted_search_can_be_pickled_and_holds_no_score() -> None:
    X, y = two_classes(800)
    found = search(classifier(), GRID).fit(X, y)
    back = pickle.loads(pickle.dumps(found))
    assert np.array_equal(back.predict(X), found.predict(X))
    assert not [name for name in vars(found) if "score" in name]
