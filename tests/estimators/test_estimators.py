from __future__ import annotations

import copy
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import sottovoce as sv
from sottovoce.accounting.budget import declared_delta
from sottovoce.data.schema import Categorical, Numeric
from sottovoce.datasets import covertype
from sottovoce.estimators.unit_ball import into_unit_ball, shrinkage
from sottovoce.privacy.noise import SimulatedNoise
from tests.doubles import Recorder, Replay
from tests.strategies import attack

PUBLIC = {"epsilon": 4.0, "delta": 1e-5, "simulate": 0, "method": "majorize"}
"""The quickest method where the method is not the subject; what is learned is asked of the default one."""


def classifier(**options: object) -> sv.PrivateClassifier:
    return sv.PrivateClassifier(**{**PUBLIC, "classes": "observed", **options})  # type: ignore[arg-type]


def regressor(**options: object) -> sv.PrivateRegressor:
    return sv.PrivateRegressor(**{**PUBLIC, "target": (-50.0, 150.0), **options})  # type: ignore[arg-type]


def two_classes(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 3)) / 2.0
    return X, np.where(X @ [2.0, -1.0, 0.5] + 0.2 + 0.1 * rng.standard_normal(n) > 0, "yes", "no")


def three_classes(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n, centers=[[2, 0], [-2, 1], [0, -3]], cluster_std=0.7, random_state=0)
    return X / 5.0, np.array(["b", "a", "c"])[y]


def numbers(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 3))
    return X, 50.0 + X @ [30.0, -20.0, 10.0] + 2.0 * rng.standard_normal(n)


@pytest.mark.parametrize("method", ["majorize", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "estimator",
    [
        sv.PrivateClassifier(epsilon=1, delta=1e-5, classes="observed", simulate=0, weight_cap=10.0),
        sv.PrivateRegressor(epsilon=1, delta=1e-5, target=(-1000, 1000), simulate=0, weight_cap=10.0),
    ],
)
def test_scikit_learns_own_checks_pass(estimator: Any, method: str) -> None:
    """They ask the estimator, not the method: the quickest in every run, the default one when slow."""
    estimator = clone(estimator).set_params(method=method)
    n_is_public = "leaving a record out changes n, which is public and which every sum is divided by"
    refused = {
        "check_all_zero_sample_weights_error": "whether all weights are 0 is private: no refusal tells it",
        "check_sample_weight_equivalence_on_dense_data": n_is_public,
        "check_sample_weight_equivalence_on_sparse_data": n_is_public,
    }
    results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=refused)
    assert len(results) > 40
    failed = [part["check_name"] for part in results if part["status"] not in ("passed", "skipped")]
    asked = {part["check_name"] for part in results}  # scikit-learn 1.7 does not ask about weights of 0
    assert sorted(failed) == sorted(refused.keys() & asked)
    assert sum(check["status"] == "skipped" for check in results) <= 1


def test_two_classes_are_learned_and_everything_is_stored() -> None:
    X, y = two_classes()
    model = classifier(method="auto").fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.coef_.shape == (1, 3)
    assert model.intercept_.shape == (1,)
    assert model.n_features_in_ == 3
    assert model.guarantee_ == model.result_.guarantee
    assert model.certificate_ == model.result_.certificate
    chances = model.predict_proba(X)
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert np.allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])


def test_several_classes_share_one_budget() -> None:
    X, y = three_classes()
    ledger = sv.Ledger(sv.Budget(4.0, 1e-5))
    model = classifier(ledger=ledger).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.coef_.shape == (3, 2)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert ledger.units_spent <= ledger.units_cap
    with pytest.raises(sv.errors.BudgetExceeded):
        classifier(ledger=ledger).fit(X, y)


@pytest.mark.parametrize(
    "loss", ["logistic", "softmax", "sigmoid", "savage", "softplus-hinge", sv.losses.Sigmoid()]
)
def test_every_margin_loss_separates_two_classes(loss: object) -> None:
    X, y = two_classes()
    model = classifier(loss=loss, method="auto").fit(X, y)
    assert model.score(X, y) > 0.85
    assert hasattr(model, "predict_proba") == (loss in ("logistic", "softmax"))


@pytest.mark.parametrize(
    "loss", ["pseudo-huber", "least-squares", "log-cosh", "cauchy", "geman-mcclure", "welsch"]
)
def test_every_residual_loss_fits_a_line_in_the_targets_own_units(loss: str) -> None:
    X, y = numbers()
    model = regressor(loss=loss, radius=2.0, method="auto").fit(X, y)
    assert model.score(X, y) > 0.9
    assert np.allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    assert np.allclose(model.coef_, [30.0, -20.0, 10.0], atol=6.0)
    assert isinstance(model.intercept_, float)


def test_the_unit_of_the_features_does_not_matter() -> None:
    """A change of unit by a power of two, radius included, gives the same model to the last bit."""
    X, y = two_classes()
    here, there = classifier().fit(X, y), classifier(radius=1024.0).fit(1024.0 * X, y)
    assert np.array_equal(here.coef_, 1024.0 * there.coef_)
    assert np.array_equal(here.decision_function(X), there.decision_function(1024.0 * X))


def test_long_rows_are_shrunk_when_predicting_as_in_training() -> None:
    X, y = two_classes()
    model = classifier().fit(X, y)
    far = 1e3 * X
    unit = far / np.linalg.norm(far, axis=1, keepdims=True)
    assert np.allclose(model.decision_function(far), model.decision_function(unit))


def test_no_intercept_means_none() -> None:
    X, y = two_classes()
    model = classifier(fit_intercept=False).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    assert model.result_.weights.shape == (3,)
    assert regressor(fit_intercept=False).fit(*numbers()).intercept_ == 50.0


def test_sparse_rows_and_frames_give_the_same_model() -> None:
    X, y = two_classes()
    X[X < 0.0] = 0.0
    dense = classifier().fit(X, y)
    thin = classifier().fit(sparse.csr_matrix(X), y)
    frame = classifier().fit(pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(y))
    assert np.allclose(dense.coef_, thin.coef_, atol=1e-9)
    assert np.array_equal(dense.coef_, frame.coef_)
    assert frame.feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.allclose(dense.decision_function(X), thin.decision_function(sparse.csr_array(X)))


@attack
@given(st.integers(0, 2**32 - 1), st.floats(-300.0, 300.0), st.floats(-5.0, 5.0), st.booleans())
def test_no_row_leaves_the_unit_ball_and_short_ones_stay(
    seed: int, power: float, size: float, thin: bool
) -> None:
    X = np.random.default_rng(seed).standard_normal((5, 4)) * 10.0**power
    radius = 10.0**size
    unit = into_unit_ball(sparse.csr_array(X) if thin else X, radius)
    unit = unit.toarray() if thin else unit
    assert np.linalg.norm(unit, axis=1).max() <= 1.0 + 1e-12
    with np.errstate(over="ignore"):
        short = np.linalg.norm(X, axis=1) <= radius
    assert np.allclose(unit[short], X[short] / radius, rtol=1e-15, atol=0)
    assert np.allclose(shrinkage(X, radius)[:, None] * X, unit, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("text", "expected"), [("1/n", 1e-3), ("1/n^1.1", 1000**-1.1), (" 1 / n ** 2 ", 1e-6), (1e-7, 1e-7)]
)
def test_delta_may_be_a_formula_of_n(text: float | str, expected: float) -> None:
    assert declared_delta(text, 1000) == pytest.approx(expected, rel=1e-12)
    assert declared_delta(text, 1000) <= expected


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: classifier(delta=None), 'delta="1/n'),
        (lambda: classifier(delta="1/n^0.5"), "p from 1"),
        (lambda: classifier(delta="n^-1"), '"1/n"'),
        (lambda: classifier(delta=0), "delta"),
        (lambda: classifier(epsilon=-1), "epsilon"),
        (lambda: classifier(classes=None), 'classes="observed"'),
        (lambda: classifier(classes="all"), "observed"),
        (lambda: classifier(classes=("no",)), "two or more"),
        (lambda: classifier(classes=("no", "maybe")), "undeclared label"),
        (lambda: classifier(loss="hinge"), "softplus"),
        (lambda: classifier(loss=3), "loss"),
        (lambda: classifier(loss="pseudo-huber"), "residuals"),
        (lambda: classifier(regularizer="l1"), "l2"),
        (lambda: classifier(regularizer=None), "regularizer"),
        (lambda: classifier(radius=0.0), "radius"),
        (lambda: classifier(radius=True), "radius"),
        (lambda: classifier(tolerance=-1.0), "tolerance"),
        (lambda: classifier(method="newton"), "majorize"),
        (lambda: classifier(simulate=-1), "seed"),
        (lambda: classifier(classes=("a", "no", "yes"), loss="sigmoid"), "two classes"),
    ],
)
def test_what_is_undeclared_or_wrong_is_refused_with_the_way_out(
    make: Callable[[], object], words: str
) -> None:
    model = make()
    with pytest.raises(ValueError, match=words):
        model.fit(*two_classes(200))  # type: ignore[attr-defined]


def test_a_regressor_needs_its_range() -> None:
    with pytest.raises(sv.errors.ParameterError, match=r"target=\(low, high\)"):
        regressor(target=None).fit(*numbers(100))
    with pytest.raises(sv.errors.ParameterError, match="low < high"):
        regressor(target=(1, 1)).fit(*numbers(100))
    with pytest.raises(sv.errors.ParameterError, match="margins"):
        regressor(loss="logistic").fit(*numbers(100))


def test_declared_classes_need_not_all_occur_and_are_sorted() -> None:
    X, y = two_classes()
    model = classifier(classes=("yes", "no", "maybe")).fit(X, y)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.predict_proba(X).shape == (4000, 3)
    assert model.score(X, y) > 0.85


def test_a_tolerance_may_be_a_number() -> None:
    model = classifier(tolerance=0.2).fit(*two_classes(20_000))
    assert model.result_.stop is sv.Stop.CERTIFIED
    assert model.certificate_.gradient_norm_at_most <= 0.2


SECRETS = ("8.12345", "topsecret")


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([["topsecret", 1.0], [2.0, 3.0]], [0, 1]),
        ([8.12345, 8.12345], [0, 1]),
        (np.array([[8.12345 + 1j, 1], [2, 3]]), [0, 1]),
        ([[8.12345, np.nan], [1.0, 2.0]], [0, 1]),
        ([[8.12345, 1.0], [1.0, 2.0]], [["topsecret", "a"], ["b", "c"]]),
        ([[8.12345, 1.0], [1.0, 2.0]], [8.12345, 2.5]),
        ([[8.12345, 1.0], [1.0, 2.0]], ["topsecret", "topsecret"]),
        ([[8.12345, 1.0], [1.0, 2.0]], ["topsecret"]),
        ([[8.12345, 1.0], [1.0]], [0, 1]),
        (np.array([[{"topsecret": 8.12345}, 1.0], [1.0, 2.0]], dtype=object), [0, 1]),
        (pd.DataFrame({"a": ["topsecret", "b"], "c": [1, 2]}), [0, 1]),
        ("topsecret", [0, 1]),
        (8.12345, [0, 1]),
        ([[8.12345, 1.0], [1.0, 2.0]], None),
    ],
)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_no_error_quotes_data(X: object, y: object) -> None:
    for model in (classifier(), classifier(classes=(0, 1)), regressor()):
        try:
            model.fit(X, y)
        except (ValueError, TypeError) as error:
            said = "".join(traceback.format_exception(error, limit=0)) + str(error.__context__)
            assert not any(secret in said for secret in SECRETS)
    fitted = classifier().fit(*two_classes(100))
    with pytest.raises((ValueError, TypeError)) as caught:
        fitted.predict(X)
    assert not any(secret in str(caught.value) for secret in SECRETS)


def test_a_pickle_holds_no_record_and_no_random_state() -> None:
    """Every stored number is looked for, in both precisions, and the seeded generator by its name."""
    X, y = three_classes(500)
    X = X + np.pi * 1e-3
    for model in (classifier().fit(X, y), regressor().fit(X, X[:, 0] * 7.0)):
        raw = pickle.dumps(model)
        for value in X.ravel():
            assert np.float64(value).tobytes() not in raw
            assert np.float64(value).tobytes()[::-1] not in raw
            assert np.float32(value).tobytes() not in raw
        assert b"Generator" not in raw
        assert b"PCG64" not in raw
        assert b"random" not in raw
        assert b"Records" not in raw
        assert np.array_equal(pickle.loads(raw).predict(X), model.predict(X))


def fitted_bytes(
    estimator: object, X: np.ndarray, y: np.ndarray, noise: object, patch: pytest.MonkeyPatch
) -> list[bytes]:
    patch.setattr("sottovoce.training.noise_for", lambda simulate: noise)
    model = clone(estimator).fit(X, y)
    probe = np.linspace(-1.0, 1.0, 3 * X.shape[1]).reshape(3, -1)
    return [
        pickle.dumps(model),
        repr(model).encode(),
        str(model.result_).encode(),
        model.predict(probe).tobytes(),
    ]


@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression"])
def test_the_same_released_answers_give_the_same_bytes_over_neighbouring_data(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, estimator = {
        "two classes": (two_classes, classifier(classes=("no", "yes"), method="auto")),
        "three classes": (three_classes, classifier(classes=("a", "b", "c"), method="auto")),
        "regression": (numbers, regressor(method="auto")),
    }[kind]
    X, y = make(400)
    other_X, other_y = X.copy(), y.copy()
    other_X[7], other_y[7] = -1e6 * X[7], y[8] if kind != "regression" else 1e9
    recorder = Recorder(SimulatedNoise(3))
    first = fitted_bytes(estimator, X, y, recorder, monkeypatch)
    replay = Replay(recorder.tape, simulated=True)
    assert fitted_bytes(estimator, other_X, other_y, replay, monkeypatch) == first
    assert replay.spent


def test_clones_share_one_ledger_and_every_fold_is_charged() -> None:
    ledger = sv.Ledger(sv.Budget(10.0, 1e-5))
    model = classifier(epsilon=1.0, ledger=ledger)
    assert clone(model).ledger is ledger
    X, y = two_classes(3000)
    assert cross_val_score(model, X, y, cv=3, error_score="raise").mean() > 0.7
    spent = ledger.units_spent
    assert len(ledger.history) >= 3 * 17
    one = sv.Ledger(sv.Budget(10.0, 1e-5))
    classifier(epsilon=1.0, ledger=one).fit(X, y)
    assert spent == pytest.approx(3 * one.units_spent, rel=1e-6)
    with pytest.raises(sv.errors.BudgetExceeded):
        cross_val_score(model.set_params(epsilon=9.0), X, y, cv=3, error_score="raise")


def test_parallel_folds_spend_from_one_persistent_ledger(tmp_path: Path) -> None:
    ledger = sv.Ledger.create(tmp_path / "budget.db", dataset="claims", cap=sv.Budget(3.0, 1e-5))
    X, y = two_classes(600)
    model = classifier(epsilon=0.5, simulate=None, ledger=ledger)
    assert cross_val_score(model, X, y, cv=2, n_jobs=2, error_score="raise").shape == (2,)
    one = sv.Ledger(sv.Budget(3.0, 1e-5))
    classifier(epsilon=0.5, ledger=one).fit(X, y)
    assert ledger.units_spent == pytest.approx(2 * one.units_spent, rel=1e-6)
    with pytest.raises(sv.errors.LedgerError, match="simulated"):
        classifier(ledger=ledger).fit(X, y)


def in_memory(folder: Path) -> sv.Ledger:
    return sv.Ledger(sv.Budget(10.0, 1e-5))


def in_a_file(folder: Path) -> sv.Ledger:
    return sv.Ledger.create(folder / "budget.db", dataset="claims", cap=sv.Budget(10.0, 1e-5))


@pytest.mark.parametrize("ledger", [in_memory, in_a_file])
def test_a_fitted_estimator_is_pickled_without_its_ledger_and_its_path(ledger: Any, tmp_path: Path) -> None:
    X, y = two_classes(500)
    account = ledger(tmp_path)
    model = classifier(simulate=None, ledger=account).fit(X, y)
    searched = sv.PrivateSearch(
        classifier(simulate=None, ledger=account),
        {"strength": [1e-6, 1.0]},
        epsilon=1.0,
        delta=1e-6,
        ledger=account,
    ).fit(X, y)
    spent = account.units_spent
    for fitted in (model, make_pipeline(FunctionTransformer(), model), searched):
        content = pickle.dumps(fitted)
        for secret in (str(tmp_path), "budget.db", "claims"):
            assert secret.encode() not in content
        again = pickle.loads(content)
        assert np.array_equal(again.predict(X), fitted.predict(X))
        for refused in (again, clone(again)):
            with pytest.raises(sv.errors.LedgerError, match="set_params"):
                refused.fit(X, y)
        assert "budget.db" not in repr(again)
    assert model.ledger is account
    assert account.units_spent == spent


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, clone])
def test_copies_of_a_fitted_estimator_share_its_ledger(copied: Any) -> None:
    X, y = two_classes(500)
    model = classifier(epsilon=1.0, ledger=sv.Ledger(sv.Budget(10.0, 1e-5))).fit(X, y)
    spent = model.ledger.units_spent
    other = copied(model)
    assert other.ledger is model.ledger
    assert hasattr(other, "coef_") is (copied is not clone)
    other.fit(X, y)
    assert model.ledger.units_spent > spent


def test_an_estimator_that_is_not_fitted_keeps_its_ledger_in_a_pickle_or_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(sv.errors.LedgerError, match="in-memory"):
        pickle.dumps(classifier(ledger=in_memory(tmp_path)))
    kept = classifier(ledger=in_a_file(tmp_path))
    assert pickle.loads(pickle.dumps(kept)).ledger.identity == kept.ledger.identity


def test_without_a_seed_fits_differ_and_are_private() -> None:
    X, y = two_classes(500)
    models = [classifier(simulate=None).fit(X, y) for _ in range(2)]
    assert not np.array_equal(models[0].coef_, models[1].coef_)
    assert "differential privacy" in str(models[0].guarantee_)


def test_a_pipeline_learns_seven_classes_of_covertype_from_a_mixed_frame() -> None:
    """A sixth of the table at epsilon 6 has the noise of the whole at epsilon 1, about."""
    table = covertype.load()
    table = table.rows(np.arange(table.cover.size) % 6 == 0)
    test = table.held_out()
    limits = zip(covertype.NUMERIC, covertype.MINIMUM, covertype.MAXIMUM, strict=True)
    areas = np.array(["Rawah", "Neota", "Comanche", "Cache la Poudre"])
    schema = sv.Schema(
        (
            *(Numeric(*limit) for limit in limits),
            Categorical("area", tuple(areas.tolist())),
            Categorical("soil", tuple(range(covertype.SOIL_TYPES))),
        )
    )
    frame = pd.DataFrame(
        {
            **dict(zip(covertype.NUMERIC, table.numeric.T, strict=True)),
            "area": areas[table.wilderness.astype(int)],
            "soil": table.soil.astype(int),
        }
    )
    model = make_pipeline(
        sv.BoundedEncoder(schema),
        sv.PrivateClassifier(epsilon=6.0, delta="1/n^1.1", classes=tuple(range(1, 8)), fit_intercept=False),
    )
    model.fit(frame[~test], table.cover[~test])
    assert model.score(frame[test], table.cover[test]) > 0.69
    assert cross_val_score(model, frame[:3000], table.cover[:3000], cv=2, error_score="raise").shape == (2,)
