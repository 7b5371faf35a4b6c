"""What a search may train, and that everything else is refused before a charge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)

import sottovoce as sv
from sottovoce.data.schema import Numeric
from sottovoce.estimators.held_out import held_out
from sottovoce.estimators.pipelines import STATELESS, private_part
from tests.estimators.test_estimators import classifier, numbers, regressor, two_classes

BUDGET = sv.Budget(4.0, 1e-5)
SECRET = "Mrs Smith"


def refused(estimator: Any, X: Any, y: Any, grid: Any = None) -> sv.errors.SottovoceError:
    """The refusal of a search, which must have cost nothing."""
    ledger = sv.Ledger(BUDGET)
    search = sv.PrivateSearch(estimator, grid or {}, epsilon=1.0, delta=1e-6, ledger=ledger)
    with pytest.raises(sv.errors.SottovoceError) as error:
        search.fit(X, y)
    assert ledger.history == ()
    assert not hasattr(search, "best_estimator_")
    return error.value


class Scaled(Normalizer):
    """A subclass may learn."""


def centred(X: np.ndarray) -> np.ndarray:
    return X - X.mean(axis=0)


LEARNERS = {
    "scaler": (StandardScaler(), "StandardScaler"),
    "best columns": (SelectKBest(k=1), "SelectKBest"),
    "another private model": (SelectFromModel(classifier(epsilon=20.0)), "SelectFromModel"),
    "imputer": (SimpleImputer(), "SimpleImputer"),
    "subclass": (Scaled(), "Scaled"),
    "private model as a step": (classifier(), "PrivateClassifier"),
    "any function": (FunctionTransformer(centred), "handed all rows"),
    "python in a ufunc": (FunctionTransformer(np.frompyfunc(float, 1, 1)), "handed all rows"),
    "two arguments": (FunctionTransformer(np.add), "handed all rows"),
    "not elementwise": (FunctionTransformer(np.sort), "handed all rows"),
    "with arguments": (FunctionTransformer(np.exp, kw_args={"where": True}), "kw_args"),
    "inverse tried": (FunctionTransformer(np.exp, inverse_func=np.log), "check_inverse"),
    "cache": (Pipeline([("normalize", Normalizer())], memory="/nowhere"), "memory"),
    "inside a pipeline": (make_pipeline(Normalizer(), StandardScaler()), "standardscaler"),
    "inside a union": (FeatureUnion([("a", "passthrough"), ("b", StandardScaler())]), "__b"),
    "inside columns": (ColumnTransformer([("a", StandardScaler(), [0])], sparse_threshold=0), "__a"),
    "the rest of columns": (
        ColumnTransformer([("a", "drop", [0])], remainder=StandardScaler(), sparse_threshold=0),
        "remainder",
    ),
    "columns chosen by looking": (
        ColumnTransformer([("a", "drop", make_column_selector())], sparse_threshold=0),
        "callable",
    ),
    "sparse by density": (ColumnTransformer([("a", Normalizer(), [0])]), "sparse_threshold"),
}


@pytest.mark.parametrize("case", LEARNERS)
def test_a_step_that_may_learn_is_refused_by_its_name_before_a_charge(case: str) -> None:
    step, words = LEARNERS[case]
    X, y = two_classes(300)
    message = str(refused(Pipeline([("odd", step), ("model", classifier())]), X, y))
    assert words in message
    assert "'odd" in message
    assert "BoundedEncoder" in message


@pytest.mark.parametrize(
    "wrapped",
    [
        BaggingClassifier(classifier()),
        CalibratedClassifierCV(classifier()),
        OneVsRestClassifier(classifier()),
        GridSearchCV(classifier(), {"strength": [1.0]}),
        StackingClassifier([("a", classifier())], final_estimator=classifier()),
        TransformedTargetRegressor(regressor()),
        make_pipeline(Normalizer(), BaggingClassifier(classifier())),
        make_pipeline(classifier(), StandardScaler()),
        make_pipeline(Normalizer(), "passthrough"),
        type("Own", (sv.PrivateClassifier,), {})(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_only_the_private_estimators_themselves_may_be_at_the_end(wrapped: Any) -> None:
    message = str(refused(wrapped, *two_classes(300)))
    assert (
        "PrivateClassifier, a PrivateRegressor or a Pipeline" in message or "in a private search" in message
    )


@pytest.mark.parametrize(
    "grid",
    [
        {"scale": ["passthrough", StandardScaler()]},
        {"model": [classifier(), BaggingClassifier(classifier())]},
        {"steps": [[("model", classifier())], [("scale", StandardScaler()), ("model", classifier())]]},
    ],
)
def test_a_step_put_in_place_by_a_candidate_is_refused_before_the_others_are_paid(grid: Any) -> None:
    X, y = two_classes(300)
    refused(Pipeline([("scale", "passthrough"), ("model", classifier())]), X, y, grid)


@pytest.mark.parametrize(
    "grid",
    [
        {"model__strength": [1e-6, -1.0]},
        {"model__loss": ["logistic", "no such loss"]},
        {"model__method": ["majorize", "no such method"]},
        {"model__radius": [1.0, float("nan")]},
        {"scale__norm": ["l2", "no such norm"]},
        {"model__classes": [("no", "yes"), ("no", "maybe")]},
    ],
)
def test_a_candidate_that_cannot_be_trained_costs_nothing(grid: Any) -> None:
    X, y = two_classes(300)
    refused(Pipeline([("scale", Normalizer()), ("model", classifier())]), X, y, grid)


def test_a_row_that_cannot_be_read_costs_nothing_wherever_it_is_and_is_not_quoted() -> None:
    X, y = two_classes(300)
    chosen = held_out(300, 0.2)
    for place in np.flatnonzero(chosen)[0], np.flatnonzero(~chosen)[0]:
        cells = X.astype(object)
        cells[place, 0] = SECRET
        for model in (make_pipeline(Normalizer(), classifier()), classifier()):
            error = refused(model, cells, y)
            assert SECRET not in str(error)
            assert error.__context__ is None
        broken = X.copy()
        broken[place, 0] = np.nan
        refused(make_pipeline("passthrough", classifier()), broken, y)


STEPS = {
    "Normalizer": Normalizer(norm="l1"),
    "Binarizer": Binarizer(threshold=0.1),
    "PolynomialFeatures": PolynomialFeatures(degree=2),
    "FunctionTransformer": FunctionTransformer(np.tanh),
    "identity": FunctionTransformer(),
    "SciPy": FunctionTransformer(expit, inverse_func=np.log, check_inverse=False),
    "union": FeatureUnion([("a", Normalizer()), ("b", "passthrough"), ("c", "drop")]),
    "columns": ColumnTransformer(
        [("a", Normalizer(), [0, 1]), ("b", make_pipeline(Binarizer(), Normalizer()), [2])],
        remainder="passthrough",
        sparse_threshold=0,
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_every_known_step_gives_each_row_by_itself(name: str) -> None:
    """One row is replaced by a hostile one; the others must come out bit for bit the same."""
    X = two_classes(200)[0]
    wanted = np.asarray(STEPS[name].fit_transform(X))
    for hostile in (1e300, -1e300, 0.0, 5e-324):
        other = X.copy()
        other[17] = hostile
        with np.errstate(all="ignore"):
            found = np.asarray(STEPS[name].fit_transform(other))
        assert np.array_equal(np.delete(found, 17, axis=0), np.delete(wanted, 17, axis=0))
    assert set(STATELESS) - {sv.BoundedEncoder} <= {type(step) for step in STEPS.values()}


@pytest.mark.parametrize("name", STEPS)
def test_pipelines_of_known_steps_are_searched(name: str) -> None:
    X, y = two_classes(600)
    inner = Pipeline([("none", None), ("model", classifier(method="majorize"))])
    model = Pipeline([("step", STEPS[name]), ("inner", inner)])
    found = sv.PrivateSearch(
        model, {"inner__model__strength": [1e-6, 1.0]}, epsilon=4.0, delta=1e-5, simulate=0
    ).fit(X, y)
    assert private_part(model)[0] == "inner__model__"
    assert found.predict(X).shape == (600,)


def test_the_encoder_and_a_regressor_are_searched() -> None:
    X, y = numbers(600)
    names = [f"x{place}" for place in range(X.shape[1])]
    schema = sv.Schema(tuple(Numeric(name, -2, 2) for name in names))
    model = make_pipeline(sv.BoundedEncoder(schema), regressor(fit_intercept=False))
    found = sv.PrivateSearch(
        model, {"privateregressor__radius": [1.0, 2.0]}, epsilon=4.0, delta=1e-5, simulate=0
    )
    assert found.fit(pd.DataFrame(X, columns=names), y).best_index_ in (0, 1)
