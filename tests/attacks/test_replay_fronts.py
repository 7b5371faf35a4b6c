"""Estimators, searches and private figures say the same over neighbours that give the same answers.

Commands are tried by test_replay_commands.py. One pair of neighbours in every run, four when slow."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.data.encoder import BoundedEncoder
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.estimators.linear import PrivateClassifier
from sottovoce.estimators.regressor import PrivateRegressor
from sottovoce.privacy.counting import Counted, CountOracle, scores
from sottovoce.privacy.noise import SimulatedNoise
from tests.doubles import Recorder, Replay

SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3)))


@contextmanager
def hearing(noise: object) -> Iterator[None]:
    """Training, evaluation and tuning draw from this source."""
    with (
        mock.patch("sottovoce.training.noise_for", return_value=noise),
        mock.patch("sottovoce.privacy.counting.noise_for", return_value=noise),
    ):
        yield


def require_same(here: Callable[[], list[bytes]], there: Callable[[], list[bytes]], seed: int) -> None:
    recorder = Recorder(SimulatedNoise(seed))
    with hearing(recorder):
        first = here()
    assert recorder.tape
    replay = Replay(recorder.tape, simulated=True)
    with hearing(replay):
        second = there()
    assert replay.spent
    assert first == second


def arrays(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y with one row and its y replaced by an extreme one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, 1, -1)
    other_X, other_y = X.copy(), y.copy()
    place = int(rng.integers(120))
    other_X[place] = rng.choice([1e6, -1.0, 0.0]) * X[place]
    other_y[place] = -y[place]
    return X, y, other_X, other_y


def fitted(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> list[bytes]:
    estimator = make().fit(X, y)
    probe = np.eye(3)
    return [pickle.dumps(estimator), repr(estimator).encode(), np.asarray(estimator.predict(probe)).tobytes()]


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "classifier": lambda: PrivateClassifier(epsilon=1.0, delta=1e-5, classes=(-1, 1), simulate=0),
    "classifier, cubic": lambda: PrivateClassifier(
        epsilon=3.0, delta=1e-5, classes=(-1, 1), method="cubic", loss="sigmoid", simulate=0
    ),
    "classifier, tolerance": lambda: PrivateClassifier(
        epsilon=3.0,
        delta=1e-5,
        classes=(-1, 1),
        method="2opt-ls",
        tolerance=sv.Tolerance(gradient=0.3),
        simulate=0,
    ),
    "three classes": lambda: PrivateClassifier(epsilon=1.0, delta=1e-5, classes=(-1, 1, 2), simulate=0),
    "regressor": lambda: PrivateRegressor(epsilon=1.0, delta=1e-5, target=(-1.0, 1.0), simulate=0),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_says_the_same_over_neighbours(name: str, seed: int) -> None:
    X, y, other_X, other_y = arrays(seed)
    require_same(
        lambda: fitted(ESTIMATORS[name], X, y), lambda: fitted(ESTIMATORS[name], other_X, other_y), seed
    )


class Chosen:
    """What `CountOracle.best` let out, in order: recorded from one search, or given again to another.

    The choice itself is what is released, not the noise on each score, so that is what is played again: by
    scores of 0 and 1 without noise, through the same code and the same charge."""

    def __init__(self, indices: list[int] | None = None) -> None:
        self.indices: list[int] = [] if indices is None else list(indices)
        self._given = None if indices is None else iter(indices)

    def __enter__(self) -> None:
        best = CountOracle.best

        def recorded(oracle: CountOracle, counted: Counted, merits: Any, units: int) -> int:
            self.indices.append(best(oracle, counted, merits, units))
            return self.indices[-1]

        def played(oracle: CountOracle, counted: Counted, merits: Any, units: int) -> int:
            assert self._given is not None
            wanted = next(self._given)
            silent = replace(oracle, noise=Silent())

            def fixed() -> list[np.ndarray]:
                return [np.full(counted.rows, float(i == wanted)) for i in range(len(merits()))]

            return best(silent, counted, fixed, units)

        self._patch = mock.patch.object(CountOracle, "best", recorded if self._given is None else played)
        self._patch.start()

    def __exit__(self, *_: object) -> None:
        self._patch.stop()


class Silent(Replay):
    """No answers and no noise."""

    def __init__(self) -> None:
        super().__init__([], simulated=True)

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        return 0


def searched(make: Callable[[], sv.PrivateSearch], X: Any, y: Any, probe: Any) -> list[bytes]:
    """All a search lets out; with a ledger in memory, which cannot be pickled, the charges instead."""
    found = make().fit(X, y)
    said = (found.best_index_, found.best_params_, found.guarantee_, found)
    results = [json.dumps(result.to_dict()).encode() for result in found.results_]
    if found.ledger is None:
        rest = [pickle.dumps(found)]
    else:
        rest = [repr(replace(grant, id="", run_id="")).encode() for grant in found.ledger.history]
    return [repr(said).encode(), found.predict(probe).tobytes(), *results, *rest]


def framed(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["a", "b", "c"])


BOUNDED = Schema(tuple(Numeric(name, -2.0, 2.0) for name in "abc"))
SEARCHES: dict[str, tuple[Callable[[], Any], dict[str, Any], Callable[[np.ndarray], Any]]] = {
    "classifier": (ESTIMATORS["classifier"], {"strength": [1e-6, 1.0], "radius": [1.0, 3.0]}, np.asarray),
    "three classes": (ESTIMATORS["three classes"], {"strength": [1e-6, 1.0]}, np.asarray),
    "regressor": (ESTIMATORS["regressor"], {"strength": [1e-6, 1.0]}, np.asarray),
    "pipeline": (
        lambda: make_pipeline(
            BoundedEncoder(BOUNDED), PrivateClassifier(classes=(-1, 1), fit_intercept=False)
        ),
        {"privateclassifier__strength": [1e-6, 1.0]},
        framed,
    ),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_says_the_same_over_neighbours(name: str, seed: int) -> None:
    estimator, grid, table = SEARCHES[name]
    X, y, other_X, other_y = arrays(seed)
    ledger = (seed + list(SEARCHES).index(name)) % 2 == 1

    def make() -> sv.PrivateSearch:
        account = sv.Ledger(sv.Budget(5.0, 1e-4)) if ledger else None
        return sv.PrivateSearch(estimator(), grid, epsilon=4.0, delta=1e-5, simulate=0, ledger=account)

    def here() -> list[bytes]:
        with chosen, fixed_identity():
            return searched(make, table(X), y, table(np.eye(3)))

    def there() -> list[bytes]:
        with Chosen(chosen.indices), fixed_identity():
            return searched(make, table(other_X), other_y, table(np.eye(3)))

    chosen = Chosen()
    require_same(here, there, seed)
    assert len(chosen.indices) == 1


def fixed_identity() -> Any:
    """Ledgers have one name."""
    return mock.patch.object(sv.Ledger, "identity", mock.PropertyMock(return_value="fixed"))


def test_a_search_that_shows_its_scores_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: the exact scores join what the search says, over data whose labels are turned round."""
    best = CountOracle.best

    def peeking(oracle: CountOracle, counted: Counted, merits: Any, units: int) -> int:
        found = merits()
        seen.append(scores(counted, found))
        return best(oracle, counted, lambda: found, units)

    estimator, grid, _ = SEARCHES["classifier"]
    X, y, _, _ = arrays(1)
    monkeypatch.setattr(CountOracle, "best", peeking)
    seen: list[Any] = []
    chosen = Chosen()

    def run(X: np.ndarray, y: np.ndarray, index: Chosen) -> list[bytes]:
        with index:
            found = sv.PrivateSearch(estimator(), grid, epsilon=4.0, delta=1e-5, simulate=0).fit(X, y)
        return [repr(seen[-1]).encode(), repr(found.best_index_).encode()]

    everyone_wrong = np.roll(-y, 7)
    with pytest.raises(AssertionError):
        require_same(lambda: run(X, y, chosen), lambda: run(X, everyone_wrong, Chosen(chosen.indices)), 1)


FIGURES: dict[str, Callable[..., Any]] = {
    "accuracy": evaluation.accuracy,
    "log loss": evaluation.log_loss,
    "majority rate": evaluation.majority_rate,
    "confusion": evaluation.confusion_matrix,
    "calibration": evaluation.calibration,
    "all": evaluation.evaluate,
    "absolute error": partial(evaluation.absolute_error, target=(-1.0, 1.0)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_says_the_same_over_neighbours(name: str, seed: int) -> None:
    X, y, other_X, other_y = arrays(seed)
    kind = "regressor" if name == "absolute error" else "classifier"
    model = ESTIMATORS[kind]().fit(X, y)

    def measured(X: np.ndarray, y: np.ndarray) -> list[bytes]:
        found = FIGURES[name](model, X, y, budget=sv.Budget(1.0, 1e-5), simulate=0)
        return [repr(found).encode(), pickle.dumps(found)]

    require_same(lambda: measured(X, y), lambda: measured(other_X, other_y), seed)


@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_model_that_chooses_its_curves_by_persons(relation: str, seed: int) -> None:
    """All rows of one person become others, or leave: marginals, looks, curves and weights are the same."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {"who": rng.integers(0, 60, 300), "a": rng.uniform(-1, 1, 300), "b": rng.lognormal(-1, 1, 300)}
    )
    rows["y"] = (rows["a"] ** 2 + 0.3 * rng.standard_normal(300) > 0.4).astype(int)
    columns = (Numeric("a", -1.0, 1.0), Numeric("b", 0.0, 100.0))
    schema = Schema(columns, Target("y", classes=(0, 1)), person="who")
    person = int(rows["who"].iloc[0])
    if relation == "zero-out":
        other = rows[rows["who"] != person]
    else:
        other = rows.copy()
        other.loc[rows["who"] == person, ["a", "b", "y"]] = [1.0, 100.0, 1]
    given: dict[str, Any] = {
        "epsilon": 8.0,
        "delta": 1e-5,
        "relation": relation,
        "model": "auto",
        "simulate": 0,
    }
    given |= {"persons": 60} if relation == "zero-out" else {}

    def told(table: pd.DataFrame) -> list[bytes]:
        model = sv.fit(table, schema, **given)
        said = repr((model.schema, model.marginals, model.result.trace, model.result.certificate))
        return [model.result.weights.tobytes(), said.encode()]

    require_same(partial(told, rows), partial(told, other), seed)
