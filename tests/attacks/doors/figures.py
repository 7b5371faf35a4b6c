"""Each private figure: the exact sum that is noised, and the movement it was charged for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import evaluation
from tests.attacks.doors import hostile
from tests.attacks.doors.arrays import held
from tests.attacks.doors.engine import Door, Draw, Pair, Reading, charging
from tests.attacks.doors.probes import BUDGET, listening
from tests.attacks.doors.tables import LAYOUTS

FIGURES: dict[str, Callable[..., Any]] = {
    "accuracy": evaluation.accuracy,
    "log_loss": evaluation.log_loss,
    "confusion_matrix": evaluation.confusion_matrix,
    "calibration": evaluation.calibration,
    "evaluate": evaluation.evaluate,
    "majority_rate": evaluation.majority_rate,
    "auc": evaluation.auc,
    "absolute_error": evaluation.absolute_error,
    "deviance": evaluation.deviance,
}
_TARGETS = {"absolute_error": (-2.0, 2.0), "deviance": (0.0, 2.0)}
"""Declared ranges of what is predicted, where that is a number."""

_CLASSES: dict[str, tuple[Any, ...]] = {
    "whole": (0, 1),
    "three": (1, 2, 3),
    "words": ("no", "yes"),
    "unsorted": ("yes", "no", "maybe"),
    "truths": (False, True),
}
_SHAPES: dict[str, Callable[[np.ndarray], Any]] = {
    "(n,)": lambda found: found,
    "(n, 1)": lambda found: found.reshape(len(found), -1)[:, :1],
    "(1, n)": lambda found: found[None],
    "list": lambda found: found.tolist(),
    "objects": lambda found: found.astype(object),
    "strided": lambda found: np.repeat(found, 2, axis=0)[::2],
    "one short": lambda found: found[:-1],
    "a number": lambda found: found[0],
    "Fortran": np.asfortranarray,
    "masked": lambda found: np.ma.array(found, mask=False),
}


class Model:
    """Someone else's model: each prediction is a function of its own row, in a shape of its own.

    What it warns of on its own is not ours, so it warns of nothing."""

    def __init__(self, classes: tuple[Any, ...] | None, shape: str, odds: str) -> None:
        if classes is not None:
            self.classes_ = np.array(classes)
        self._classes, self._shape, self._odds = classes, _SHAPES[shape], _SHAPES[odds]

    def predict(self, X: Any) -> Any:
        rows = np.asarray(X, dtype=np.float64)
        if self._classes is None:
            return self._shape(rows[:, 0] / 2.0 - rows[:, 1] / 4.0)
        return self._shape(self.classes_[self._codes(rows)])

    def predict_proba(self, X: Any) -> Any:
        rows = np.nan_to_num(np.asarray(X, dtype=np.float64), posinf=9.0, neginf=-9.0)
        scores = np.cos(np.outer(np.clip(rows[:, 0], -1e6, 1e6), np.arange(1, len(self.classes_) + 1)))
        odds = np.exp(scores)
        return self._odds(odds / odds.sum(axis=1, keepdims=True))

    def _codes(self, rows: np.ndarray) -> np.ndarray:
        whole = np.abs(np.nan_to_num(rows[:, 0], posinf=9.0, neginf=-9.0))
        return (7.0 * np.minimum(whole, 99.0)).astype(np.intp) % len(self.classes_)


def _figure(draw: Draw, name: str, shape: str, odds: str) -> Pair:
    """One figure of a model with predictions of these shapes; row and label of one record are hostile."""
    n = int(draw.integers(2, 20))
    place = int(draw.integers(n))
    X = draw.normal(size=(n, 2))
    other = X.copy()
    note, value = hostile.number(draw)
    other[place] = value if draw.random() < 0.5 else draw.normal(size=2)
    kind = list(_CLASSES)[draw.integers(len(_CLASSES))]
    if name == "auc" and len(_CLASSES[kind]) > 2:
        kind = "words"
    classes = None if name in _TARGETS else _CLASSES[kind]
    if classes is None:
        cells = draw.normal(size=n).tolist()
    else:
        cells = [classes[k] for k in draw.integers(len(classes), size=n)]
    spoilt, y, labels = held(draw, cells, place, "float" if classes is None else kind)
    if draw.random() < 0.3:
        labels = y
    layout = list(LAYOUTS)[draw.integers(len(LAYOUTS))]
    options: dict[str, Any] = {"target": _TARGETS[name]} if name in _TARGETS else {}

    def read(X: Any, y: Any) -> Reading:
        ledger = sv.Ledger(BUDGET)
        with np.errstate(all="ignore"):
            rows = LAYOUTS[layout](X)

        def ask() -> Reading:
            with listening() as listener:
                model = Model(classes, shape, odds)
                FIGURES[name](
                    model,
                    rows,
                    y,
                    budget=BUDGET,
                    ledger=ledger,
                    reading=sv.ReadOptions(invalid="zero"),
                    **options,
                )
            return Reading(answers=listener.answers)

        return charging(ledger, ask)

    note = f"{name}, {note}, {spoilt}, {kind if classes else 'numbers'}, predictions {shape}, odds {odds}"
    return Pair(lambda: read(X, y), lambda: read(other, labels), place, note)


def _records(name: str) -> Callable[[Draw], Pair]:
    return lambda draw: _figure(draw, name, "(n,)", "(n,)")


def _shapes(draw: Draw) -> Pair:
    """Predictions and probabilities in any shape: refused before a charge, or read row by row."""
    name = list(FIGURES)[draw.integers(len(FIGURES))]
    shape, odds = (
        "(n, 1)" if draw.random() < 0.3 else list(_SHAPES)[draw.integers(len(_SHAPES))] for _ in range(2)
    )
    return _figure(draw, name, shape, odds)


DOORS = (
    *(Door(f"evaluation: {name}", _records(name), 40) for name in FIGURES),
    Door("evaluation: shapes", _shapes, 100),
)
