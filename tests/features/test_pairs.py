"""Pairs of numbers that act together: found by released answers, a surface each, within one budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger, Relation
from sottovoce.data.encoding import encoded_table
from sottovoce.data.layout import RowLayout
from sottovoce.data.records import Records
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.features.curves import curved
from sottovoce.features.pairs import MOST_LOOKED_AT, Products, may_pair, paired
from sottovoce.features.selection import LEAST_LIMIT
from sottovoce.privacy.sources import source_of
from sottovoce.problem import Calibration
from sottovoce.queries import Gradient, LimitedGradient
from tests.features.test_selection import COLUMNS, LINES, even

pa = pytest.importorskip("pyarrow")
NAMES = tuple(column.name for column in LINES.columns)


def table(n: int, together: bool, seed: int = 0) -> Any:
    """The first two columns act by their product, or all by lines."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (n, COLUMNS))
    score = 6.0 * x[:, 0] * x[:, 1] if together else 2.0 * x[:, 0] + x[:, 1]
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-score - x[:, 2]))
    return pa.table({**{name: x[:, place] for place, name in enumerate(NAMES)}, "y": y.astype(np.int64)})


def fitted(n: int, together: bool, **options: Any) -> Any:
    given = {"epsilon": 2.0, "delta": 1e-6, "model": "auto", "simulate": 1, **options}
    return sv.fit(table(n, together), LINES, **given)


def log_loss(model: Any, held: Any) -> float:
    labels = held["y"].to_numpy()
    return float(-np.mean(np.log(model.predict_proba(held)[np.arange(labels.size), labels])))


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted(5_000, together=True)


def test_the_pair_that_acts_together_gets_a_surface_and_no_other(model: Any) -> None:
    assert model.schema.interactions == (("x0", "x1"),)
    held = table(5_000, True, seed=1)
    line = fitted(5_000, together=True, model="linear")
    assert log_loss(model, held) < log_loss(line, held) - 0.1


def test_smooth_finds_it_too() -> None:
    assert fitted(5_000, together=True, model="smooth").schema.interactions == (("x0", "x1"),)


def test_where_columns_act_alone_there_is_no_surface() -> None:
    found = fitted(5_000, together=False)
    assert found.schema.interactions == ()
    assert found.surfaces() == ()


def test_all_is_charged_within_one_run() -> None:
    ledger = Ledger(Budget(2.0, 1e-6))
    found = fitted(5_000, together=True, ledger=ledger)
    kinds = [row.kind for row in found.result.trace]
    assert kinds[0] == "marginals"
    assert kinds.count("bends") == kinds.count("pairs") == 1
    assert found.result.guarantee.epsilon == 2.0
    assert found.result.guarantee.runs == 1


def test_a_saved_model_keeps_its_surfaces(model: Any, tmp_path: Any) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    held = table(50, True, seed=2)
    np.testing.assert_array_equal(sv.Model.load(path).predict_proba(held), model.predict_proba(held))


def test_effects_and_surfaces_add_up_to_the_score(model: Any) -> None:
    """At places of the range, less their mean over rows, since effects are centred by marginals."""
    rng = np.random.default_rng(0)
    at = rng.integers(0, 101, (300, COLUMNS))
    shown = {effect.column: effect for effect in model.effects()}
    held = {name: shown[name].places[at[:, place]] for place, name in enumerate(NAMES)}
    total = sum(shown[name].values[at[:, place]] for place, name in enumerate(NAMES))
    (surface,) = model.surfaces()
    assert surface.columns == ("x0", "x1")
    total = total + surface.values[at[:, 0], at[:, 1]]
    scores = model.decision_function(pa.table({**held, "y": np.zeros(300, dtype=int)}))
    np.testing.assert_allclose(total - total.mean(), scores - scores.mean(), atol=1e-9)
    assert surface.importance > 0.5


def test_products_keep_the_scores_of_the_features_before() -> None:
    declared = replace(LINES, interactions=(("x2", "x3"),))
    bent = curved(declared, 3, even(LINES), frozenset({"x0", "x1"}))
    products = Products.of(bent, ("x0", "x1"), even(LINES))
    held = table(200, True)
    w = np.random.default_rng(0).standard_normal(RowLayout.of(bent).dim)
    before, after = (encoded_table(schema, held, np.float64) for schema in (bent, products.schema))
    np.testing.assert_allclose(after @ products.weights_of(w), before @ w, atol=1e-9)


@pytest.mark.parametrize("relation", list(Relation))
def test_no_record_moves_the_gradient_along_products_by_more_than_is_charged(relation: Relation) -> None:
    rng = np.random.default_rng(3)
    products = Products.of(LINES, NAMES, even(LINES))
    preconditioner = products.preconditioner
    at = preconditioner.from_user(products.weights_of(np.array([4.0, -3.0, 2.0, 1.0, 1.0])))

    def rows(values: Any) -> Any:
        columns = {name: values[:, place] for place, name in enumerate(NAMES)}
        return encoded_table(products.schema, pa.table(columns), np.float64)

    moved = {"gradient": 0.0, "limited": 0.0}
    charged = dict(moved)
    queries = {"gradient": Gradient(at), "limited": LimitedGradient(at, LEAST_LIMIT)}
    for corner in rng.choice([-1.0, -0.3, 0.0, 0.6, 1.0], (40, COLUMNS)):
        base = rng.uniform(-1.0, 1.0, (2, COLUMNS))
        pair = []
        for row, label, counts in ((corner, 1, 1.0), (-corner, 0, float(relation is Relation.REPLACE_ONE))):
            records = Records.from_arrays(
                rows(np.vstack([base, row])),
                np.array([0, 1, label]),
                labels=(0, 1),
                constant=True,
                sample_weight=[1.0, 1.0, counts],
                weight_cap=1.0,
            )
            risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(0.0))
            source = source_of(risk, calibration=Calibration.TIGHT, relation=relation)
            pair.append(source.preconditioned(preconditioner))
        for name, query in queries.items():
            admitted = query.admitted(pair[0].bounds.problem)
            answers = [np.asarray(source.answer(source.request(admitted))) for source in pair]
            charged[name] = pair[0].sensitivity(admitted, pair[0].request(admitted))
            moved[name] = max(moved[name], float(np.linalg.norm(answers[0] - answers[1])))
    for name in queries:
        assert 0.3 * charged[name] < moved[name] <= charged[name]


def test_what_cannot_be_is_refused_before_anything_is_charged() -> None:
    ledger = Ledger(Budget(2.0, 1e-6))
    with pytest.raises(sv.errors.ParameterError, match="no standard errors"):
        fitted(500, together=True, model="smooth", inference=0.3, ledger=ledger)
    counted = replace(LINES, target=Target("y", high=1.0, count=True))
    with pytest.raises(sv.errors.ParameterError, match="classes and numbers"):
        sv.fit(table(500, True), counted, epsilon=1.0, delta=1e-6, model="smooth", ledger=ledger)
    assert not ledger.history
    wide = Schema(tuple(Numeric(f"x{place}", 0.0, 1.0) for place in range(30)), LINES.target)
    assert len(wide.columns) * 29 // 2 > MOST_LOOKED_AT
    with pytest.raises(sv.errors.ParameterError, match="products of all pairs"):
        may_pair("smooth", wide, 1_000)
    assert may_pair("auto", wide, 1_000) == ()
    assert may_pair("additive", LINES, 1_000) == ()


def test_numbers_with_a_declared_shape_or_direction_act_alone() -> None:
    first, second, *others = LINES.columns
    declared = (replace(first, shape="linear"), replace(second, monotone="up"), *others)  # type: ignore[call-arg]
    assert may_pair("auto", replace(LINES, columns=declared), 1_000) == NAMES[2:]


def test_a_surface_is_made_of_short_splines() -> None:
    crossed = paired(curved(LINES, 5, even(LINES)), LINES, (("x0", "x1"),), even(LINES))
    assert [len(column.features) for column in crossed.columns] == [6, 6, 9, 9]
    assert RowLayout.of(crossed).dim == 6 + 6 + 9 + 9 + 36 + 1


def test_no_name_of_a_column_is_refused_once_pairs_are_asked_about() -> None:
    names = dict(zip(NAMES, ("x", "z", "x centred", "x centred'"), strict=True))
    columns = tuple(replace(column, name=names[column.name]) for column in LINES.columns)
    held = table(2_000, True).rename_columns([*names.values(), "y"])
    model = sv.fit(held, replace(LINES, columns=columns), epsilon=4.0, delta=1e-6, model="smooth", simulate=1)
    assert model.schema.interactions == (("x", "z"),)
