"""What coefficients are read for is fixed by the declaration: terms, order, references, units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.data.contrasts import design_of
from sottovoce.data.encoding import encoded_table
from sottovoce.errors import ParameterError

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"type": "numeric", "low": 18, "high": 98},
    "dose": {"type": "numeric", "low": 0, "high": 9, "transform": "sqrt", "indicator": True},
    "health": {"type": "categorical", "categories": ["good", "fair", "poor"], "reference": "fair"},
    "sex": {"type": "categorical", "categories": ["f", "m"], "missing": ["?"], "indicator": True},
    "bmi": {"type": "binned", "edges": [20, 30], "reference": 25},
    "pulse": {"type": "spline", "low": 40, "high": 120, "knots": [80]},
}
PAIRS = [["health", "sex"], ["age", "health"], ["age", "dose"], ["bmi", "pulse"]]


def schema(**options: Any) -> sv.Schema:
    target = {"column": "ill", "classes": ["no", "yes"]}
    return sv.Schema.from_dict({"columns": COLUMNS, "interactions": PAIRS, "target": target, **options})


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 98, n),
            "dose": rng.uniform(0, 9, n),
            "health": rng.choice(["good", "fair", "poor", "unheard of"], n),
            "sex": rng.choice(["f", "m", "?", "other"], n),
            "bmi": rng.uniform(15, 40, n),
            "pulse": rng.uniform(40, 120, n),
        }
    )
    for name in ("dose", "bmi", "pulse"):
        frame.loc[rng.random(n) < 0.2, name] = np.nan
    return frame


def by_hand(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Main terms as R's model.matrix would make them."""
    dose, health, sex, bmi = (frame[name].to_numpy() for name in ("dose", "health", "sex", "bmi"))
    return {
        "age": frame["age"].to_numpy(),
        "sqrt(dose)": np.where(np.isnan(dose), 1.5, np.sqrt(dose)),
        "dose is missing": np.isnan(dose),
        "health=good": health == "good",
        "health=poor": health == "poor",
        "health=(missing or other)": health == "unheard of",
        "sex=m": sex == "m",
        "sex is missing": sex == "?",
        "sex=(other)": sex == "other",
        "bmi below 20": bmi < 20,
        "bmi from 30": bmi >= 30,
        "bmi=(missing)": np.isnan(bmi),
        "pulse=(missing)": np.isnan(frame["pulse"].to_numpy()),
    }


def test_encoded_rows_are_the_terms_a_statistician_would_write_times_the_design() -> None:
    declared, frame = schema(), table()
    design = design_of(declared, raw=True)
    rows = encoded_table(declared, frame, np.float64)
    psi = rows @ design.inverse.T / declared.unit
    found = dict(zip(design.names, psi.T, strict=True))
    expected = by_hand(frame)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=1e-9, err_msg=name)
    for name in found:
        left, _, right = name.partition(" x ")
        if left in expected and right in expected:
            np.testing.assert_allclose(found[name], expected[left] * expected[right], atol=1e-7, err_msg=name)
    assert np.all(found["intercept"] == pytest.approx(1.0))
    np.testing.assert_allclose(rows, declared.unit * psi @ design.matrix.T, atol=1e-12)
    flags = design.indicators
    assert np.all(np.isin(np.round(psi[:, flags], 9), (0.0, 1.0)))


def test_terms_that_no_record_can_have_are_known_by_declaration() -> None:
    """Bins and splines with an indicator of missing cells have a feature for every cell there can be."""
    columns = {"bmi": {**COLUMNS["bmi"], "indicator": True}, "age": COLUMNS["age"]}
    declared = sv.Schema.from_dict({"columns": columns, "interactions": [["bmi", "age"]]})
    design = design_of(declared, raw=False)
    psi = encoded_table(declared, table(), np.float64) @ design.inverse.T
    assert [name for name, empty in zip(design.names, design.empty, strict=True) if empty] == [
        "bmi=(other)",
        "bmi=(other) x age",
    ]
    np.testing.assert_allclose(psi[:, design.empty], 0.0, atol=1e-9)


def test_references_are_declared_named_or_the_first_and_units_as_asked_for() -> None:
    references = {group.name: group.reference for group in design_of(schema(), raw=True).groups}
    assert references["health"] == "health=fair"
    assert references["bmi"] == "bmi 20 to 30"
    assert references["sex"] == "sex=f"
    assert references["age"] is None
    other = design_of(schema(), raw=True, against=["health=poor", "sex is missing"], per={"age": 10})
    references = {group.name: group.reference for group in other.groups}
    assert (references["health"], references["sex"]) == ("health=poor", "sex is missing")
    assert other.names[0] == "age (per 10)"
    assert "age (per 10) x health=good" in other.names
    for wrong in (["health=bad"], ["age"], ["nothing"]):
        with pytest.raises(ParameterError, match="names no declared category"):
            design_of(schema(), raw=True, against=wrong)


@pytest.mark.parametrize(
    ("column", "reference"), [("health", "bad"), ("bmi", "x"), ("bmi", float("inf")), ("age", 20)]
)
def test_a_reference_that_is_none_is_refused(column: str, reference: object) -> None:
    with pytest.raises(ParameterError, match=f"column '{column}'"):
        sv.Schema.from_dict({"columns": {column: {**COLUMNS[column], "reference": reference}}})


def test_a_reference_survives_the_file_and_names_another_schema() -> None:
    declared = schema()
    assert sv.Schema.from_dict(declared.to_dict()) == declared
    plain = {name: {k: v for k, v in part.items() if k != "reference"} for name, part in COLUMNS.items()}
    assert sv.Schema.from_dict({"columns": plain}).digest != sv.Schema.from_dict({"columns": COLUMNS}).digest


def test_rows_are_the_same_whatever_records_and_noise() -> None:
    """Two seeds at two budgets, with and without missing cells: one list of terms, and an interaction's."""
    columns = {name: COLUMNS[name] for name in ("age", "health", "sex")}
    declared = sv.Schema.from_dict(
        {
            "columns": columns,
            "interactions": [["health", "sex"]],
            "target": {"column": "ill", "classes": ["no", "yes"]},
        }
    )
    seen = set()
    for whole in (False, True):
        frame = table(3000)
        if whole:
            frame = frame.replace({"health": {"unheard of": "good"}, "sex": {"other": "m", "?": "f"}})
        frame["ill"] = np.where(frame["age"] > 55, "yes", "no")
        for seed, epsilon in ((0, 0.1), (1, 8.0)):
            model = sv.fit(
                frame,
                declared,
                epsilon=epsilon,
                delta=1e-6,
                inference=sv.Inference(0.3, anyway=True),
                simulate=seed,
                method="majorize",
            )
            summary = model.summary()
            listed = tuple(line.term for line in model.coefficients())
            assert listed == tuple(line.term for line in summary.lines)
            seen.add((listed, tuple(summary.references.items())))
    assert len(seen) == 1
