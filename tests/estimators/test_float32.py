"""A frame of float32 is trained on as it is, whichever type one record's cell gives it."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sottovoce as sv
from sottovoce.estimators.unit_ball import into_unit_ball
from tests.attacks.doors.probes import BUDGET, Look, rows_of


def rows(frame: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    look = Look()
    sv.PrivateClassifier(classes=(0, 1), method=look, epsilon=BUDGET.epsilon, delta=BUDGET.delta).fit(
        frame, y
    )
    return rows_of(look.risks[0].records)["features"]


def test_one_whole_number_changes_no_other_row_of_a_frame_of_float32() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 3)).astype(np.float32), columns=list("abc"))
    y = rng.integers(2, size=500)
    other = frame.astype({"b": np.float64})
    other.loc[0, "b"] = 7
    assert (rows(frame, y)[1:] == rows(other, y)[1:]).all()


def test_rows_are_shrunk_in_float64_whatever_they_come_in() -> None:
    X = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
    for kept in (np.float32, np.float64):
        one, other = into_unit_ball(X, 1.0, kept), into_unit_ball(X.astype(np.float64), 1.0, kept)
        assert one.dtype == other.dtype == kept
        assert np.array_equal(one, other)
