"""Counts under observation for different times: rates, exactly as an offset gives them, cell by cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize

import sottovoce as sv
from sottovoce.errors import DataError, ParameterError

COLUMNS = {
    "age": {"type": "numeric", "low": 40, "high": 80},
    "arm": {"type": "categorical", "categories": ["control", "treated"]},
}
TARGET = {"column": "stays", "type": "count", "high": 20, "exposure": "years", "exposure_high": 2.0}


def declared(target: dict[str, Any] | None = None, **others: Any) -> sv.Schema:
    return sv.Schema.from_dict({"columns": COLUMNS, "target": TARGET | (target or {}), **others})


def cohort(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, arm = np.clip(rng.normal(60, 8, n), 40, 80), rng.choice(["control", "treated"], n)
    years = rng.uniform(0.3, 2.0, n)
    rate = np.exp(0.5 + 0.02 * (age - 60) - 0.4 * (arm == "treated"))
    return pd.DataFrame({"age": age, "arm": arm, "years": years, "stays": rng.poisson(years * rate)})


def exact(records: sv.Records) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows: Any = records._rows
    parts = [rows.block(block) for block in range(rows.blocks)]
    dense = [np.asarray(part.features[np.arange(len(part.targets))]) for part in parts]
    return (
        np.concatenate(dense).astype(np.float64),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


def test_the_minimizer_is_that_of_a_likelihood_with_an_offset() -> None:
    """Maximum likelihood of the counts themselves with offset log e, by scipy, is a zero of our gradient."""
    table = cohort(2_000, 0).assign(stays=lambda frame: np.minimum(frame.stays, 20.0 * frame.years))
    X, rates, weights = exact(sv.Records.from_table(table, declared()))
    np.testing.assert_allclose(rates, table.stays / table.years, rtol=1e-12)
    np.testing.assert_allclose(weights, table.years / 2.0, rtol=1e-12)
    X = X[:, [0, 2, 3]]  # without the control arm, which the constant has

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        expected = np.exp(X @ w + np.log(table.years))
        return float(np.mean(expected - table.stays * (X @ w))), X.T @ (expected - table.stays) / len(X)

    found = minimize(loss, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    risk = sv.Risk(
        sv.Records.from_arrays(X, rates / 20.0, target=(0.0, 1.0), sample_weight=weights),
        sv.losses.Poisson(20.0),
    )
    assert np.linalg.norm(risk.gradient(found)) < 1e-9


def test_rows_are_read_alike_from_every_container(tmp_path: Path) -> None:
    table = cohort(500, 1)
    table.to_csv(tmp_path / "t.csv", index=False)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "t.parquet")
    schema = declared({"exposure_low": 0.5}, weight="w", weight_cap=2.0)
    table["w"] = 1.0
    plain = exact(sv.Records.from_table(table, schema))
    assert (plain[2] == np.where(table.years > 0.5, table.years / 4.0, 0.0)).all()
    without = declared({"exposure_low": 0.5})
    read = [
        sv.Records.from_table(tmp_path / "t.csv", without),
        sv.Records.from_table(tmp_path / "t.parquet", without),
        sv.Records.from_parquet(tmp_path / "t.parquet", without),
        sv.Records.from_table(pa.Table.from_pandas(table), without),
    ]
    for records in read:
        found = exact(records)
        np.testing.assert_array_equal(found[1], plain[1])
        np.testing.assert_array_equal(found[2], 2.0 * plain[2])


ODD = [0.0, -1.0, np.nan, np.inf, 1e-300, 1e300, "long", None]


@pytest.mark.parametrize("years", ODD)
@pytest.mark.parametrize("stays", [3, 1e300, -2, np.nan])
def test_no_exposure_changes_another_row_or_counts_more_than_one(years: Any, stays: Any) -> None:
    table = cohort(50, 2).astype({"years": object, "stays": object})
    base = exact(sv.Records.from_table(table, declared()))
    table.loc[7, "years"], table.loc[7, "stays"] = years, stays
    records = sv.Records.from_table(table, declared(), invalid="zero")
    X, rates, weights = exact(records)
    others = np.arange(50) != 7
    for here, there in zip((X, rates, weights), base, strict=True):
        np.testing.assert_array_equal(here[others], there[others])
    assert 0.0 <= weights[7] <= 1.0
    assert 0.0 <= rates[7] <= 20.0
    if years in (None, "long") or not np.isfinite(years) or np.isnan(stays):
        assert weights[7] == 0.0 or not X[7].any()
        with pytest.raises(DataError):
            sv.Records.from_table(table, declared())


@pytest.mark.parametrize(
    "target",
    [
        {"exposure_high": 0.0},
        {"exposure_high": None},
        {"exposure_low": 2.0},
        {"exposure_low": -1.0},
        {"exposure": "age"},
        {"exposure": "stays"},
        {"exposure": 3},
        {"type": None},
    ],
)
def test_wrong_declarations_are_refused(target: dict[str, Any]) -> None:
    raw = {key: value for key, value in (TARGET | target).items() if value is not None}
    with pytest.raises(ParameterError):
        sv.Schema.from_dict({"columns": COLUMNS, "target": raw})


@pytest.mark.parametrize("persons", [False, True])
def test_rate_ratios_are_the_populations_and_predictions_are_rates(persons: bool) -> None:
    """Intervals of five standard errors and more: missed with odds below 1e-6."""
    table = cohort(8_000, 3).assign(who=np.repeat(np.arange(4_000), 2))
    schema = declared({"typical": 1.5}, **({"person": "who"} if persons else {}))
    assert sv.Schema.from_dict(schema.to_dict()) == schema
    model = sv.fit(table, schema, epsilon=4.0, delta=1e-6, inference=0.4, simulate=0)
    lines = {line.term: line for line in model.summary(level=1.0 - 1e-6).lines}
    for term, truth in (("age", 0.02), ("arm=treated", -0.4)):
        assert lines[term].low <= truth <= lines[term].high
    summary = model.summary(exp=True)
    assert summary.robust
    assert "rate ratio" in str(summary)
    assert "need not be its mean" in str(summary)
    rows = pd.DataFrame({"age": [60.0], "arm": ["control"]})
    assert model.predict(rows)[0] == pytest.approx(np.exp(0.5), rel=0.4)
    assert "per unit of years" in model.to_json()
