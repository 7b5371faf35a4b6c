"""Time to event: a person becomes its rows at risk by itself; hazards and curves are the population's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.errors import DataError, ParameterError
from sottovoce.exports.survival import AT_RISK, PERSON, person_periods, survival_curves

GRID = [90, 180, 365]
SCHEMA = sv.Schema.from_dict(
    {
        "columns": {
            "age": {"type": "numeric", "low": 40, "high": 80},
            "arm": {"type": "categorical", "categories": ["control", "treated"]},
        }
    }
)
FEW = pd.DataFrame(
    {
        "age": [50, 60, 70, 55, 65],
        "arm": ["control"] * 5,
        "days": [100, 100, 400, 30, 200],
        "died": ["yes", "no", "yes", "no", "yes"],
        "since": [0, 0, 0, 0, 95],
    }
)


def test_a_person_has_a_row_for_each_interval_at_risk() -> None:
    rows, schema = person_periods(FEW, SCHEMA, time="days", event="died", grid=GRID, entry="since")
    seen = [
        [(row["interval"], row["died"], row[AT_RISK]) for _, row in part.iterrows()]
        for _, part in rows.groupby(PERSON, sort=False)
    ]
    assert seen == [
        [("to 90", "no", 2.0), ("to 180", "yes", 2.0)],
        [("to 90", "no", 1.0)],  # censored on day 100: at risk to day 90
        [("to 90", "no", 3.0), ("to 180", "no", 3.0), ("to 365", "no", 3.0)],  # dies past the horizon
        [("to 90", "no", 0.0)],  # censored before the first end: counts 0
        [("to 365", "yes", 1.0)],  # came under observation within the second interval
    ]
    assert schema.weight_cap == 3.0
    assert schema.person == PERSON


def test_no_record_changes_the_rows_of_another_nor_how_many_persons_there_are() -> None:
    """Whatever one record holds: every other one's rows, and n, stay as they are."""
    options = {"time": "days", "event": "died", "grid": GRID}
    base, _ = person_periods(FEW, SCHEMA, **options)  # type: ignore[arg-type]
    rest = base[base[PERSON] != "p1"].reset_index(drop=True)
    for days, died in (
        (1, "yes"),
        (1e9, "no"),
        (np.nan, "no"),
        (-5, "yes"),
        (50, "perhaps"),
        (np.inf, "yes"),
    ):
        other = FEW.astype({"days": float}).copy()
        other.loc[1, ["days", "died"]] = [days, died]
        found, _ = person_periods(other, SCHEMA, **options)  # type: ignore[arg-type]
        assert set(found[PERSON]) == set(base[PERSON])
        same = found[found[PERSON] != "p1"].reset_index(drop=True)
        pd.testing.assert_frame_equal(same.drop(columns="days"), rest.drop(columns="days"), check_dtype=False)
    broken = FEW.astype({"days": float}).copy()
    broken.loc[0, "days"] = np.nan
    rows, schema = person_periods(broken, SCHEMA, **options)  # type: ignore[arg-type]
    with pytest.raises(DataError):
        sv.fit(rows, schema, epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize("grid", [[], [0, 10], [10, 10], [20, 10], [10, float("inf")]])
def test_a_grid_that_is_none_is_refused(grid: list[float]) -> None:
    with pytest.raises(ParameterError, match="grid"):
        person_periods(FEW, SCHEMA, time="days", event="died", grid=grid)


def test_hazard_ratios_and_curves_are_those_of_the_population() -> None:
    """Five standard errors off has odds below 1e-6 for each of five numbers."""
    rng, n = np.random.default_rng(0), 6000
    age, arm = np.clip(rng.normal(60, 8, n), 40, 80), rng.choice(["control", "treated"], n)
    hazard = 1 / (1 + np.exp(1.6 - 0.03 * (age - 60) + 0.7 * (arm == "treated")))
    lived = rng.geometric(hazard)
    censored = rng.integers(1, 5, n)
    days = np.where(lived <= censored, 90 * lived - 10, 90 * censored + 5)
    died = np.where(lived <= censored, "yes", "no")
    table = pd.DataFrame({"age": age, "arm": arm, "days": days, "died": died})
    rows, schema = person_periods(table, SCHEMA, time="days", event="died", grid=[90, 180, 270])
    model = sv.fit(rows, schema, epsilon=8.0, delta=1e-6, inference=0.3, simulate=0, method="majorize")
    lines = {line.term: line for line in model.summary().lines}
    truth = {"age": 0.03, "arm=treated": -0.7, "interval=to 180": 0.0, "interval=to 270": 0.0}
    for term, value in truth.items():
        assert abs(lines[term].estimate - value) < 5.0 * lines[term].error
    assert lines["arm=treated"].error < 0.15
    curves = survival_curves(model, pd.DataFrame({"age": [60.0], "arm": ["control"]}))
    chance = 1 - 1 / (1 + np.exp(1.6))
    assert curves.shape == (1, 3, 3)
    for place, (middle, low, high) in enumerate(curves[0]):
        assert low < middle < high <= 1.0
        assert abs(middle - chance ** (place + 1)) < 3.0 * (high - low)
    target = {"column": "died", "classes": ["no", "yes"]}
    other = sv.Schema.from_dict({**SCHEMA.to_dict(), "target": target})
    plain = sv.fit(table, other, epsilon=4.0, delta=1e-6, inference=0.3, simulate=0, method="majorize")
    with pytest.raises(ParameterError, match="person_periods"):
        survival_curves(plain, table[:2])
