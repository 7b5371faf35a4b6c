"""`model="auto"`: columns that bend become curves, the others stay lines, by released answers alone."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger, Relation
from sottovoce.accounting.events import QueryKind
from sottovoce.data.encoding import encoded_table
from sottovoce.data.layout import RowLayout
from sottovoce.data.records import Records
from sottovoce.data.schema import Categorical, Numeric, Schema, Spline, Target
from sottovoce.features import selection
from sottovoce.features.additive import LOOK_SHARE
from sottovoce.features.curves import curved, curves_of
from sottovoce.features.marginals import BINS, Marginal
from sottovoce.features.pairs import EXPECTED
from sottovoce.features.selection import Bending, Bends, Shape, expected_gains
from sottovoce.privacy.sources import source_of
from sottovoce.problem import Calibration
from sottovoce.queries import Gradient, LimitedGradient
from tests.features.test_additive import SCHEMA, people

pa = pytest.importorskip("pyarrow")

COLUMNS = 4
LINES = Schema(
    tuple(Numeric(f"x{place}", -1.0, 1.0) for place in range(COLUMNS)), Target("y", classes=(0, 1))
)


def table(n: int, bent: bool, seed: int = 0) -> Any:
    """Log odds are linear in all columns, or a square in the first and linear in the others."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (n, COLUMNS))
    score = x @ np.array([1.5, -1.5, 1.0, 0.5])
    if bent:
        score += 6.0 * (x[:, 0] ** 2 - 1.0 / 3.0)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-score))
    return pa.table({**{f"x{place}": x[:, place] for place in range(COLUMNS)}, "y": y.astype(np.int64)})


def fitted(n: int, bent: bool, **options: Any) -> Any:
    return sv.fit(
        table(n, bent), LINES, **{"epsilon": 2.0, "delta": 1e-6, "model": "auto", "simulate": 1, **options}
    )


def even(schema: Schema) -> tuple[Marginal, ...]:
    """Marginals of records that are spread evenly."""
    found = []
    for column in schema.columns:
        edges = np.linspace(column.low, column.high, BINS + 1)  # type: ignore[attr-defined]
        found.append(Marginal(column.name, tuple(edges.tolist()), (1.0 / BINS,) * BINS, 1e-6))
    return tuple(found)


def test_the_column_that_bends_becomes_a_curve_and_the_others_stay_lines() -> None:
    assert curves_of(fitted(5_000, bent=True).schema) == {"x0"}


def test_a_column_most_of_which_is_in_one_bin_is_a_curve_without_a_look() -> None:
    rng = np.random.default_rng(3)
    amount = np.minimum(rng.lognormal(-1.0, 1.0, 4_000), 100.0)
    ill = (rng.random(4_000) < 1.0 / (1.0 + np.exp(-3.0 * np.sin(4.0 * np.minimum(amount, 1.5))))).astype(
        np.int64
    )
    piled = Schema((Numeric("amount", 0.0, 100.0),), Target("ill", classes=(0, 1)))
    held = pa.table({"amount": amount, "ill": ill})
    model = sv.fit(held, piled, epsilon=2.0, delta=1e-6, model="auto", simulate=0)
    assert curves_of(model.schema) == {"amount"}
    assert [row.kind for row in model.result.trace].count("bends") == 0


def test_the_look_leaves_a_curve_its_knots_where_it_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look asks at the scores of the fit: with other knots its weights would mean another curve."""
    asked = list[tuple[Schema, Schema]]()
    of = Bends.of.__func__  # type: ignore[attr-defined]

    def noticed(cls: Any, plain: Schema, bent: Schema, marginals: Any) -> Any:
        asked.append((plain, bent))
        return of(cls, plain, bent, marginals)

    monkeypatch.setattr(Bends, "of", classmethod(noticed))
    rng = np.random.default_rng(3)
    held = {"x0": np.minimum(rng.lognormal(-1.0, 1.0, 2_000), 100.0), "x1": rng.uniform(-1.0, 1.0, 2_000)}
    piled = Schema((Numeric("x0", 0.0, 100.0), Numeric("x1", -1.0, 1.0)), Target("y", classes=(0, 1)))
    told = pa.table({**held, "y": (rng.random(2_000) < 0.5).astype(np.int64)})
    sv.fit(told, piled, epsilon=2.0, delta=1e-6, model="auto", simulate=0)
    ((plain, bent),) = asked
    assert isinstance(plain.columns[0], Spline)
    assert bent.columns[0] == plain.columns[0]


def test_few_curves_beside_many_levels_are_taken_without_a_look() -> None:
    rng = np.random.default_rng(4)
    held = {"age": rng.uniform(0.0, 1.0, 2_000), "town": rng.integers(0, 40, 2_000).astype(str)}
    told = pa.table({**held, "y": (rng.random(2_000) < 0.5).astype(np.int64)})
    towns = Categorical("town", tuple(map(str, range(40))))
    columns = (Numeric("age", 0.0, 1.0), towns)
    for levels, expected in ((columns, {"age"}), (columns[:1], set())):
        schema = Schema(levels, Target("y", classes=(0, 1)))
        model = sv.fit(told, schema, epsilon=2.0, delta=1e-6, model="auto", simulate=0)
        assert curves_of(model.schema) == expected
        assert [row.kind for row in model.result.trace].count("bends") == (not expected)


def test_nothing_is_spent_on_a_look_where_no_curve_could_pay() -> None:
    kinds = [row.kind for row in fitted(300, bent=True, epsilon=0.3).result.trace]
    assert "marginals" in kinds
    assert not {"bends", "pairs"} & set(kinds)


def test_a_pile_is_told_from_noise() -> None:
    shares = (0.6, *(0.4 / (BINS - 1) for _ in range(BINS - 1)))
    edges = tuple(np.linspace(0.0, 1.0, BINS + 1).tolist())
    assert Marginal("x", edges, shares, 0.01).is_piled
    assert not Marginal("x", edges, shares, 0.05).is_piled
    assert not Marginal("x", (), shares, 0.0).is_piled
    assert not even(LINES)[0].is_piled


def test_where_all_is_linear_the_model_is() -> None:
    model = fitted(5_000, bent=False)
    assert curves_of(model.schema) == frozenset()
    assert len(model.result.weights) == COLUMNS + 1
    assert len(model.marginals) == COLUMNS


def test_what_is_asked_is_charged_within_one_run() -> None:
    ledger = Ledger(Budget(2.0, 1e-6))
    model = fitted(5_000, bent=True, ledger=ledger)
    assert next(iter(ledger.history)).event.query is QueryKind.MARGINALS
    kinds = [row.kind for row in model.result.trace]
    looked = kinds.index("bends")
    assert kinds[:3] == ["marginals", "moments", "gram"]
    assert set(kinds[3:looked]) == {"adapted step"}
    assert kinds[looked + 1 : looked + 3] == ["moments", "gram"]
    assert kinds.count("bends") == 1
    spent = sum(row.mu_squared for row in model.result.trace)
    assert model.result.trace[looked].mu_squared < LOOK_SHARE * spent
    assert model.result.guarantee.epsilon == 2.0


def test_a_linear_fit_goes_on_after_the_look_with_what_it_was_told_before() -> None:
    kinds = [row.kind for row in fitted(5_000, bent=False).result.trace]
    assert kinds.count("moments") == kinds.count("gram") == kinds.count("bends") == 1


def test_other_methods_are_refused_before_anything_is_charged() -> None:
    ledger = Ledger(Budget(2.0, 1e-6))
    with pytest.raises(sv.errors.ParameterError, match="on the way of method 'adapt'"):
        fitted(1_000, bent=True, ledger=ledger, method="majorize")
    assert not ledger.history


def test_curves_that_are_declared_are_kept_whatever_the_answers() -> None:
    declared = replace(LINES, columns=(replace(LINES.columns[0], shape="curve"), *LINES.columns[1:]))  # type: ignore[call-arg]
    options: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "simulate": 0}
    model = sv.fit(table(2_000, False), declared, model="auto", **options)
    assert "x0" in curves_of(model.schema)
    inferred = sv.fit(table(2_000, False), declared, model="auto", inference=0.3, **options)
    assert curves_of(inferred.schema) == {"x0"}
    assert [row.kind for row in inferred.result.trace].count("bends") == 0


def test_with_inference_nothing_else_bends_and_no_marginal_is_released() -> None:
    model = fitted(2_000, bent=True, inference=0.3)
    assert curves_of(model.schema) == frozenset()
    assert model.marginals == ()


def test_a_column_declared_linear_never_bends() -> None:
    straight = replace(LINES, columns=(replace(LINES.columns[0], shape="linear"), *LINES.columns[1:]))  # type: ignore[call-arg]
    for kind in ("auto", "additive"):
        model = sv.fit(table(2_000, True), straight, epsilon=2.0, delta=1e-6, model=kind, simulate=0)
        assert "x0" not in curves_of(model.schema)


def test_several_classes_and_numbers_are_chosen_for_too() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, (6_000, 2))
    held = {"a": x[:, 0], "b": x[:, 1]}
    columns = (Numeric("a", -1.0, 1.0), Numeric("b", -1.0, 1.0))
    classes = np.digitize(x[:, 0] ** 2 + 0.05 * rng.standard_normal(6_000), [0.15, 0.5])
    number = np.clip(x[:, 0] ** 2 + 0.2 * x[:, 1] + 0.05 * rng.standard_normal(6_000), -1.0, 2.0)
    options: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "model": "auto", "simulate": 0}
    several = Schema(columns, Target("y", classes=(0, 1, 2)))
    assert "a" in curves_of(sv.fit(pa.table({**held, "y": classes}), several, **options).schema)
    ranged = Schema(columns, Target("y", low=-1.0, high=2.0))
    assert "a" in curves_of(sv.fit(pa.table({**held, "y": number}), ranged, **options).schema)


def test_counts_stay_lines() -> None:
    counted = replace(LINES, target=Target("y", high=1.0, count=True))
    model = sv.fit(table(1_000, True), counted, epsilon=2.0, delta=1e-6, model="auto", simulate=0)
    assert curves_of(model.schema) == frozenset()


def test_a_linear_model_has_no_declared_curve() -> None:
    ledger = Ledger(Budget(1.0, 1e-6))
    declared = replace(SCHEMA, columns=(replace(SCHEMA.columns[0], shape="curve"), *SCHEMA.columns[1:]))  # type: ignore[call-arg]
    with pytest.raises(sv.errors.ParameterError):
        sv.fit(people(100), declared, epsilon=1.0, delta=1e-6, model="linear", ledger=ledger)
    assert not ledger.history


def test_bends_are_neither_constant_nor_the_line() -> None:
    bent = curved(LINES, 4, even(LINES))
    line, column = LINES.columns[0], bent.columns[0]
    assert isinstance(line, Numeric)
    assert isinstance(column, Spline)
    x: Any = (np.arange(20_000) + 0.5) / 10_000.0 - 1.0
    shape = Shape.of(line, column, even(LINES)[0])
    shown = column.basis(x.copy()) @ shape.weights
    np.testing.assert_allclose(shown.T @ shown / x.size, np.eye(3), atol=0.05)
    assert np.abs(shown.mean(axis=0)).max() < 0.01
    assert np.abs(x @ shown / x.size).max() < 0.01
    np.testing.assert_allclose(column.basis(x.copy()) @ shape.line, line.basis(x.copy())[:, 0], atol=1e-9)


def test_a_curve_that_is_there_keeps_its_knots_while_others_are_looked_at() -> None:
    spread = np.linspace(0.0, 1.0, BINS) ** 8
    found = tuple(
        replace(marginal, shares=tuple((spread / spread.sum()).tolist())) for marginal in even(LINES)
    )
    held = curved(LINES, 4, found, frozenset({"x1"}))
    looked = curved(held, 4, found, apart=True)
    assert looked.columns[1] == held.columns[1]
    w = np.random.default_rng(0).standard_normal(RowLayout.of(held).dim)
    rows = np.random.default_rng(1).uniform(-1.0, 1.0, (50, COLUMNS))
    told = pa.table({f"x{place}": rows[:, place] for place in range(COLUMNS)})
    before, after = (encoded_table(schema, told, np.float64) for schema in (held, looked))
    np.testing.assert_allclose(
        after @ Bends.of(held, looked, found).lines_of(w), before @ w, rtol=1e-9, atol=1e-9
    )


def test_bends_are_asked_about_at_the_scores_of_the_lines() -> None:
    """With categories, missing cells and a transform: the same scores but where a spline cannot follow."""
    lines = replace(
        SCHEMA, columns=(SCHEMA.columns[0], replace(SCHEMA.columns[1], transform=None), *SCHEMA.columns[2:])
    )  # type: ignore[call-arg]
    numbers = replace(lines, columns=tuple(c for c in lines.columns if isinstance(c, Numeric)))
    marginals = even(numbers)
    bent = curved(lines, 3, marginals)
    bends = Bends.of(lines, bent, marginals)
    w = np.random.default_rng(0).standard_normal(RowLayout.of(lines).dim)
    there = bends.preconditioner.to_user(bends.at(w))
    table = people(200)
    before, after = (sv.BoundedEncoder(schema).fit(table).transform(table) for schema in (lines, bent))
    np.testing.assert_allclose(after @ there, before @ w, atol=1e-6)


def test_what_a_limited_slope_means_is_what_simulated_records_show() -> None:
    rng = np.random.default_rng(0)
    odds = 0.5 + 1.5 * rng.standard_normal(400_000)
    p = 1.0 / (1.0 + np.exp(-odds))
    counted = np.minimum(1.0, 0.5 / np.maximum(p, 1.0 - p))
    found = Bending.of_log_odds(0.5, 1.5)
    exact = ((p * (1 - p)).mean(), (counted * p * (1 - p)).mean(), (counted**2 * p * (1 - p)).mean())
    np.testing.assert_allclose((found.whole, found.asked, found.scatter), exact, rtol=3e-2)


def test_gains_are_believed_where_they_stand_out_and_not_where_they_are_noise() -> None:
    rng = np.random.default_rng(0)
    errors = [np.full((1, 3), 0.01)] * 50
    quiet = [0.01 * rng.standard_normal((1, 3)) for _ in errors]
    assert expected_gains(quiet, errors).sum() < 0.3 * 150 * 0.01**2
    loud = expected_gains([np.full((1, 3), 0.2), *quiet], [errors[0], *errors])
    assert loud[0] == pytest.approx(0.12, rel=0.02)
    assert loud[1:].max() < 3e-4


def test_of_what_is_nearly_noise_pairs_are_left_less_than_columns() -> None:
    rng = np.random.default_rng(0)
    seen = [0.3 * rng.standard_normal((1, 1)) for _ in range(36)]
    errors = [np.full((1, 1), 0.3)] * 36
    assert expected_gains(seen, errors, most=EXPECTED).sum() < 0.3 * expected_gains(seen, errors).sum()
    loud = expected_gains([np.full((1, 1), 3.0), *seen], [errors[0], *errors], most=EXPECTED)
    assert loud[0] > 1.0


def test_a_curve_pays_for_a_quarter_of_what_the_sample_costs_an_unpenalized_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without noise, of h = 1/4, a feature costs 1/(2n): 8 of them a quarter of .0004, times 1.2."""
    monkeypatch.setattr(selection, "sensitivity_of", lambda *_: 0.0)
    problem = SimpleNamespace(n=10_000, dim=1, influence=1.0, outputs=1)
    ask: Any = SimpleNamespace(problem=problem, units_left=1, mu_squared=lambda units: 1.0)
    gains = (selection.Gain("pays", 1e-4, 8), selection.Gain("does not", 5e-5, 8))
    assert selection.Gains(gains, Bending(0.25, 0.25, 0.25)).worthwhile(ask, 10, 2.0) == {"pays"}


def test_a_new_start_has_to_pay_for_what_the_fit_had_learned() -> None:
    problem = SimpleNamespace(n=10**6, dim=1, influence=1.0, outputs=1)
    ask: Any = SimpleNamespace(problem=problem, units_left=900, mu_squared=lambda units: units * 1e4)
    found = selection.Gains((selection.Gain("bends", 3e-5, 4),), Bending(0.25, 0.25, 0.25))
    with mock.patch.object(selection, "sensitivity_of", return_value=1.0):
        assert found.worthwhile(ask, 10, 2.0) == {"bends"}
        assert found.worthwhile(ask, 10, 2.0, learned=10_000) == frozenset()


@pytest.mark.parametrize("relation", list(Relation))
def test_no_record_moves_the_gradient_along_bends_by_more_than_is_charged(relation: Relation) -> None:
    """Coordinates are of very unequal length here; neighbours differ by corners of the cube, in
    label and in all columns, among few records, so that a bound that is too small by a tenth is exceeded."""
    rng = np.random.default_rng(3)
    bent = curved(LINES, 4, even(LINES))
    layout = RowLayout.of(bent)
    bends = Bends.of(LINES, bent, even(LINES))
    preconditioner = bends.preconditioner
    at = bends.at(np.array([4.0, -3.0, 2.0, 1.0, 1.0]) / layout.unit)

    def rows(values: Any) -> Any:
        parts = [column.basis(part.copy()) for column, part in zip(bent.columns, values.T, strict=True)]  # type: ignore[attr-defined]
        return layout.unit * np.hstack([*parts, np.ones((len(values), 1))])

    corners = rng.choice([-1.0, -0.3, 0.0, 0.6, 1.0], (40, COLUMNS))
    moved = {"gradient": 0.0, "limited": 0.0}
    charged = dict(moved)
    queries = {"gradient": Gradient(at), "limited": LimitedGradient(at, 0.5)}
    for corner in corners:
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
        assert moved[name] <= charged[name]
        if name == "limited":
            assert moved[name] > 0.3 * charged[name]


def test_a_missing_cell_and_categories_do_not_disturb_the_choice() -> None:
    model = sv.fit(people(5_000), SCHEMA, epsilon=2.0, delta=1e-6, model="auto", simulate=0)
    assert "age" in curves_of(model.schema)
    assert any(isinstance(column, Categorical) for column in model.schema.columns)


def test_a_spike_within_a_bin_makes_no_bend_large() -> None:
    """Nine in ten records hold the lowest number itself; the marginal only says that they are in the first
    bin: were knots dense there, a bend of mean square 1 over the bins would be 20 at that number."""
    shares = np.full(BINS, 0.1 / (BINS - 1))
    shares[0] = 0.9
    edges = np.linspace(-1.0, 1.0, BINS + 1)
    spiked = Marginal("x0", tuple(edges.tolist()), tuple(shares.tolist()), 1e-6)
    line = LINES.columns[0]
    assert isinstance(line, Numeric)
    column = curved(LINES, 7, (spiked, *even(LINES)[1:]), apart=True).columns[0]
    assert isinstance(column, Spline)
    assert np.diff(np.searchsorted(edges, column.breaks)).min() >= 2
    bends = column.basis(np.linspace(-1.0, 1.0, 1001)) @ Shape.of(line, column, spiked).weights
    assert np.abs(bends).max() < 6.0
    assert np.abs(bends[0]).max() < 2.0


@pytest.mark.parametrize("bins", [2, 5, 9, 64])
@pytest.mark.parametrize("place", [0, -1])
def test_knots_that_are_kept_apart_are_within_the_range(bins: int, place: int) -> None:
    shares = np.full(bins, 0.05 / bins)
    shares[place] += 0.95
    piled = Marginal("x0", tuple(np.linspace(-1.0, 1.0, bins + 1).tolist()), tuple(shares.tolist()), 1e-6)
    only = replace(LINES, columns=LINES.columns[:1])
    for knots in (1, 4, 12):
        column = curved(only, knots, (piled,), apart=True).columns[0]
        assert isinstance(column, Spline)
        assert len(column.knots) == knots


@pytest.mark.parametrize("bent", [False, True])
def test_rows_held_out_are_read_by_the_schema_that_the_model_ended_with(bent: bool) -> None:
    """Looks read the table by other schemas on the way, whether or not they find anything."""
    seen = []
    with mock.patch("sottovoce.fitting.figures", side_effect=lambda *given, **_: seen.append(given) or ()):
        model = fitted(2_000, bent, evaluate=0.2)
    (_, rows, _), *others = seen
    assert not others
    assert rows.shape == (400, len(model.result.weights))
