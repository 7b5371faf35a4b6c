"""scikit-learn's doors: what a fit keeps, a fitted model predicts, and a search trains on and scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import sottovoce as sv
from tests.attacks.doors import hostile
from tests.attacks.doors.arrays import held
from tests.attacks.doors.engine import Door, Draw, Pair, Reading, charging
from tests.attacks.doors.probes import BUDGET, Look, listening, rows_of
from tests.attacks.doors.tables import numbers

_SHARED: dict[str, Any] = {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta}
_KINDS: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X,
    "lists": lambda X: np.asarray(X, dtype=np.float64).tolist(),
    "frame": lambda X: pd.DataFrame(np.asarray(X, dtype=np.float64), columns=list("abcd")[: X.shape[1]]),
    "csr": lambda X: sparse.csr_array(np.asarray(X, dtype=np.float64)),
    "csc": lambda X: sparse.csc_array(np.asarray(X, dtype=np.float64)),
    "objects": lambda X: np.asarray(X, dtype=np.float64).astype(object),
}


def _kind(draw: Draw) -> str:
    return str(draw.choice(list(_KINDS), p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]))


def _fit(draw: Draw) -> Pair:
    """A hostile row or a hostile label. What is finite is never refused; the rest is the owner's affair."""
    arrays, kind, regression = numbers(draw), _kind(draw), bool(draw.random() < 0.4)
    n, note, lenient = len(arrays.here[1]), arrays.note, False
    if draw.random() < 0.5:
        here, there = arrays.here, arrays.there
        lenient = bool(np.isfinite(np.asarray(there[0], dtype=np.float64)).all())
    elif regression and draw.random() < 0.5:
        y = draw.normal(size=n)
        other = y.copy()
        note, other[arrays.place] = hostile.number(draw)
        here, there = (arrays.here[0], y), (arrays.here[0], other)
        lenient = bool(np.isfinite(other).all())
    else:
        cells = draw.normal(size=n).tolist() if regression else draw.choice([-1, 1], n).tolist()
        note, y, other = held(draw, cells, arrays.place, "float" if regression else "integer")
        here, there = (arrays.here[0], y), (arrays.here[0], other)

    def read(X: Any, y: Any) -> Reading:
        look, ledger = Look(), sv.Ledger(BUDGET)
        model = (
            sv.PrivateRegressor(target=(-2.0, 2.0), method=look, ledger=ledger, **_SHARED)
            if regression
            else sv.PrivateClassifier(classes=(-1, 1), method=look, ledger=ledger, **_SHARED)
        )

        def fit() -> Reading:
            model.fit(_KINDS[kind](X), y)
            records = look.risks[0].records
            return Reading(rows_of(records), public=f"{records!r} {model.guarantee_} {model.coef_}")

        return charging(ledger, fit)

    return Pair(lambda: read(*here), lambda: read(*there), arrays.place, f"{note}, {kind}", lenient)


@cache
def _fitted(dim: int, classes: int) -> Any:
    rng = np.random.default_rng(dim)
    X = rng.normal(size=(60, dim))
    if not classes:
        regressor = sv.PrivateRegressor(target=(-2.0, 2.0), method="majorize", simulate=0, **_SHARED)
        return regressor.fit(X, rng.normal(size=60))
    classifier = sv.PrivateClassifier(classes=tuple(range(classes)), method="majorize", simulate=0, **_SHARED)
    return classifier.fit(X, rng.integers(classes, size=60))


def _predict(draw: Draw) -> Pair:
    arrays, kind = numbers(draw, most=60), _kind(draw)
    model = _fitted(arrays.here[0].shape[1], int(draw.choice([0, 2, 3])))
    figures = [name for name in ("predict", "predict_proba", "decision_function") if hasattr(model, name)]

    def read(X: Any, y: Any) -> Reading:
        with np.errstate(all="ignore"):
            table = _KINDS[kind](X)
        return Reading({name: getattr(model, name)(table) for name in figures})

    note, lenient = f"{arrays.note}, {kind}", bool(np.isfinite(arrays.there[0]).all())
    return Pair(lambda: read(*arrays.here), lambda: read(*arrays.there), arrays.place, note, lenient)


def _search(draw: Draw) -> Pair:
    """What each candidate trains on, and the exact scores that the choice is made from."""
    n, regression = int(draw.integers(12, 30)), bool(draw.random() < 0.4)
    X, place = draw.normal(size=(n, 2)), int(draw.integers(n))
    other = X.copy()
    note, other[place, 0] = hostile.number(draw)
    cells = draw.normal(size=n).tolist() if regression else draw.choice([-1, 1], n).tolist()
    spoilt, y, labels = held(draw, cells, place, "float" if regression else "integer")
    if bool(draw.integers(2)):
        labels, spoilt = y, "label kept"

    def read(X: Any, y: Any) -> Reading:
        look, ledger = Look(), sv.Ledger(BUDGET)
        inner: Any = (
            sv.PrivateRegressor(target=(-2.0, 2.0), method=look)
            if regression
            else sv.PrivateClassifier(classes=(-1, 1), method=look)
        )

        def fit() -> Reading:
            with listening() as listener:
                search = sv.PrivateSearch(inner, {"strength": [1e-6, 1.0]}, ledger=ledger, **_SHARED).fit(
                    X, y
                )
            rows = [rows_of(risk.records) for risk in look.risks]
            return Reading(_at_their_places(rows, n), listener.answers, f"{search.guarantee_}")

        return charging(ledger, fit)

    here, there = (X, y), (other, labels)
    note = f"{note}, {spoilt}"
    return Pair(lambda: read(*here), lambda: read(*there), place, note, lenient=False)


def _at_their_places(trained: list[dict[str, np.ndarray]], n: int) -> dict[str, Any]:
    """Rows of each fit by the number of their record; those held out stay zero. Rehearsals hold out none."""
    from sottovoce.estimators.held_out import held_out

    kept = np.flatnonzero(~held_out(n, 0.2))
    found: dict[str, Any] = {}
    for number, rows in enumerate(trained):
        for name, values in rows.items():
            whole = np.zeros((n, *values.shape[1:]), dtype=values.dtype)
            whole[kept if len(values) < n else slice(None)] = values
            found[f"{name} of fit {number}"] = whole
    return found


DOORS = (
    Door("estimators: fit", _fit, 120),
    Door("estimators: predict", _predict, 100),
    Door("search", _search, 50),
)
