"""A fit inside a meta-estimator says what its guarantee does not cover."""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, StackingClassifier
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import sottovoce as sv
from sottovoce.errors import PrivacyWarning
from sottovoce.estimators.surroundings import OUTER
from tests.estimators.test_estimators import classifier, numbers, regressor, two_classes

CLASSES = {
    "repetition": BaggingClassifier(classifier(weight_cap=4.0), n_estimators=2),
    "curve": CalibratedClassifierCV(classifier(), cv=2),
    "last model": StackingClassifier([("a", classifier())], final_estimator=classifier(), cv=2),
    "PrivateSearch": GridSearchCV(classifier(), {"strength": [1e-6, 1.0]}, cv=2),
    "by exact scores": SequentialFeatureSelector(classifier(), n_features_to_select=1, cv=2),
    "over many fits": RFE(classifier(), n_features_to_select=2),
}
NUMBERS = {
    "repetition": BaggingRegressor(regressor(weight_cap=4.0), n_estimators=2),
    "transformer": TransformedTargetRegressor(regressor(), func=abs, inverse_func=abs, check_inverse=False),
}


@pytest.mark.parametrize("words", CLASSES)
def test_a_classifier_inside_a_meta_estimator_says_what_is_not_covered(words: str) -> None:
    with pytest.warns(PrivacyWarning, match=words):
        CLASSES[words].fit(*two_classes(300))


@pytest.mark.parametrize("words", NUMBERS)
def test_a_regressor_inside_a_meta_estimator_says_what_is_not_covered(words: str) -> None:
    with pytest.warns(PrivacyWarning, match=words):
        NUMBERS[words].fit(*numbers(300))


def test_a_fit_of_ones_own_a_pipeline_a_fold_and_a_private_search_are_silent() -> None:
    X, y = two_classes(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier().fit(X, y)
        make_pipeline(Normalizer(), classifier()).fit(X, y)
        cross_val_score(classifier(), X, y, cv=2, error_score="raise")
        sv.PrivateSearch(classifier(), {"strength": [1e-6]}, delta=1e-6, simulate=0).fit(X, y)


@pytest.mark.parametrize("name", OUTER)
def test_the_modules_looked_for_exist_and_fit_something(name: str) -> None:
    module: Any = importlib.import_module(name)
    assert "fit" in inspect.getsource(module)
