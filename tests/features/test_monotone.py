"""Columns declared monotone: the released effect is projected, and all that is made of the model follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger
from sottovoce.data.schema import Categorical, Numeric, Schema, Spline, Target
from sottovoce.features.monotone import PROJECTED
from tests.features.test_additive import SCHEMA, people

pa = pytest.importorskip("pyarrow")


def declared(direction: str) -> Schema:
    age = replace(SCHEMA.columns[0], monotone=direction)  # type: ignore[call-arg]
    return replace(SCHEMA, columns=(age, *SCHEMA.columns[1:]))


def scores(model: Any) -> Any:
    """Along age, beyond its range too."""
    ages = np.linspace(-5.0, 105.0, 400)
    return model.decision_function(pa.table({"age": ages, "income": [1e4] * 400, "region": ["north"] * 400}))


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    """In truth illness falls with age and then rises, so that both directions have to be made."""
    options: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "model": "additive", "simulate": 0}
    return {
        "free": sv.fit(people(2_000), SCHEMA, **options),
        "up": sv.fit(people(2_000), declared("up"), **options),
        "down": sv.fit(people(2_000), declared("down"), **options),
    }


def test_predictions_effects_and_exports_follow_the_direction(models: dict[str, Any]) -> None:
    assert np.diff(scores(models["free"])).min() < -1e-3
    assert np.diff(scores(models["free"])).max() > 1e-3
    for name, sign in (("up", 1.0), ("down", -1.0)):
        model = models[name]
        assert np.min(sign * np.diff(scores(model))) >= -1e-9
        assert np.ptp(scores(model)) > 0.1
        age = {effect.column: effect for effect in model.effects()}["age"]
        assert np.min(sign * np.diff(age.values)) >= -1e-12
        assert PROJECTED in model.result.caveats
        again = sv.Model.from_dict(model.to_dict())
        np.testing.assert_array_equal(scores(again), scores(model))


def test_a_projection_is_post_processing_of_the_same_answers(models: dict[str, Any]) -> None:
    assert models["free"].result.spending == models["up"].result.spending
    assert models["free"].result.certificate == models["up"].result.certificate
    elsewhere = slice(len(models["up"].schema.columns[0].features), None)
    free, up = (models[name].result.weights for name in ("free", "up"))
    np.testing.assert_array_equal(free[elsewhere], up[elsewhere])


def test_a_line_of_the_wrong_direction_becomes_flat() -> None:
    x = np.linspace(-1.0, 1.0, 500)
    table = pa.table({"x": x, "y": (x > 0.0).astype(np.int64)})
    for direction, kept in (("up", True), ("down", False)):
        schema = Schema((Numeric("x", -1.0, 1.0, monotone=direction),), Target("y", classes=(0, 1)))
        model = sv.fit(table, schema, epsilon=4.0, delta=1e-6, simulate=0)
        assert bool(model.result.weights[0] > 0.0) is kept
        assert model.result.weights[0] >= 0.0


def test_schemas_keep_shape_and_direction(tmp_path: Any) -> None:
    schema = Schema(
        (
            Numeric("a", 0.0, 1.0, shape="curve", monotone="up"),
            Numeric("b", 0.0, 1.0, shape="linear"),
            Spline("c", 0.0, 1.0, (0.5,), monotone="down"),
        )
    )
    (tmp_path / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
    assert Schema.load(tmp_path / "schema.toml") == schema
    assert Schema.from_dict(schema.to_dict()) == schema


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Numeric("x", 0.0, 1.0, shape="bent"),
        lambda: Numeric("x", 0.0, 1.0, monotone="sideways"),
        lambda: Numeric("x", 0.0, 1.0, shape="curve", centre=0.5),
        lambda: Schema.from_dict(
            {"columns": {"x": {"type": "categorical", "categories": ["a"], "monotone": "up"}}}
        ),
        lambda: Schema((Numeric("x", 0.0, 1.0, monotone="up"),), Target("y", classes=(0, 1, 2))),
        lambda: Schema(
            (Numeric("x", 0.0, 1.0, shape="curve"), Categorical("z", ("a", "b"))), interactions=(("x", "z"),)
        ),
        lambda: Schema(
            (Numeric("x", 0.0, 1.0, monotone="up"), Categorical("z", ("a", "b"))), interactions=(("x", "z"),)
        ),
    ],
)
def test_declarations_that_make_no_sense_are_refused(wrong: Any) -> None:
    with pytest.raises(sv.errors.ParameterError):
        wrong()


def test_inference_about_a_projected_column_is_refused_before_the_first_charge() -> None:
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(sv.errors.ParameterError):
        sv.fit(people(200), declared("up"), epsilon=1.0, delta=1e-6, inference=0.3, ledger=ledger)
    assert not ledger.history
