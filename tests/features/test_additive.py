"""An additive model: marginals first, then a curve of every number, within one budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.events import QueryKind
from sottovoce.data.layout import RowLayout
from sottovoce.data.schema import Categorical, DatePart, Numeric, Schema, Spline, Target
from sottovoce.features.curves import curved, knot_count
from sottovoce.features.marginals import BINS, Marginal, bin_edges, coded

pa = pytest.importorskip("pyarrow")

SCHEMA = Schema(
    (
        Numeric("age", 0.0, 100.0),
        Numeric("income", 0.0, 1e6, transform="log1p", indicator=True),
        Categorical("region", ("north", "south"), indicator=True),
    ),
    Target("ill", classes=(0, 1)),
)


def people(n: int, seed: int = 0) -> Any:
    """Illness is rare in the middle of life, which no line in age can say."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20.0, 70.0, n)
    ill = rng.random(n) < 1.0 / (1.0 + np.exp(3.0 - ((age - 45.0) / 10.0) ** 2))
    income = np.where(rng.random(n) < 0.1, np.nan, np.exp(rng.normal(10.0, 1.0, n)))
    region = rng.choice(["north", "south"], n)
    return pa.table(
        {
            "age": age,
            "income": pa.array(income, from_pandas=True),
            "region": region,
            "ill": ill.astype(np.int64),
        }
    )


def log_loss(model: Any, table: Any) -> float:
    labels = table["ill"].to_numpy()
    chances = model.predict_proba(table)
    return float(-np.mean(np.log(chances[np.arange(labels.size), labels])))


@pytest.fixture(scope="module")
def model() -> Any:
    return sv.fit(people(5_000), SCHEMA, epsilon=2.0, delta=1e-6, model="additive", simulate=0)


def test_curves_are_better_than_the_line_where_the_truth_bends(model: Any) -> None:
    fresh = people(5_000, seed=1)
    line = sv.fit(people(5_000), SCHEMA, epsilon=2.0, delta=1e-6, simulate=0)
    assert log_loss(model, fresh) < log_loss(line, fresh) - 0.05


def test_the_guarantee_is_the_whole_budget_and_one_run(model: Any) -> None:
    assert (model.result.guarantee.epsilon, model.result.guarantee.delta) == (2.0, 1e-6)
    assert model.result.guarantee.runs == 1
    assert model.result.trace[0].kind == "marginals"


def test_marginals_are_charged_before_anything_else() -> None:
    budget = Budget(1.0, 1e-6)
    ledger = Ledger(budget)
    sv.fit(people(2_000), SCHEMA, epsilon=1.0, delta=1e-6, model="additive", ledger=ledger, simulate=0)
    queries = [grant.event.query for grant in ledger.history]
    assert queries[0] is QueryKind.MARGINALS
    assert queries.count(QueryKind.MARGINALS) == 1


def test_marginals_are_about_right_and_their_noise_is_stated(model: Any) -> None:
    table = people(5_000)
    by_name = {marginal.name: marginal for marginal in model.marginals}
    age = by_name["age"]
    exact = np.histogram(table["age"].to_numpy(), bins=age.edges)[0] / 5_000
    # 64 entries within six standard deviations: a false alarm is below 2e-7
    assert np.abs(np.array(age.shares) - exact).max() < 6.0 * age.noise
    assert age.missing is None
    income = by_name["income"]
    assert abs(income.missing - 0.1) < 6.0 * income.noise + 0.03
    assert len(by_name["region"].shares) == 2


def test_a_saved_model_keeps_its_marginals(model: Any, tmp_path: Any) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    again = sv.Model.load(path)
    assert again.marginals == model.marginals
    np.testing.assert_array_equal(again.predict_proba(people(50)), model.predict_proba(people(50)))


def test_streams_that_are_given_once_are_held() -> None:
    table = people(1_000)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=100))
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "model": "additive", "simulate": 0}
    once = sv.fit(stream, SCHEMA, **options)
    np.testing.assert_array_equal(once.result.weights, sv.fit(table, SCHEMA, **options).result.weights)


def test_the_problem_is_known_before_marginals_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from sottovoce.features.additive import Additive

    seen = []
    settled = Additive.settled

    def watched(self: Any, ask: Any) -> Any:
        before = self.problem
        found = settled(self, ask)
        seen.append(before == found[0].problem)
        return found

    monkeypatch.setattr(Additive, "settled", watched)
    sv.fit(people(500), SCHEMA, epsilon=1.0, delta=1e-6, model="additive", simulate=0)
    assert seen == [True]


def test_what_public_facts_refuse_is_refused_before_the_first_charge() -> None:
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(sv.errors.ParameterError):
        sv.fit(people(500), SCHEMA, epsilon=1.0, delta=1e-6, model="additive", method="opt", ledger=ledger)
    with pytest.raises(sv.errors.ParameterError):
        sv.fit(people(500), SCHEMA, epsilon=1.0, delta=1e-6, model="bent", ledger=ledger)
    assert not ledger.history


@pytest.mark.parametrize(
    "born",
    [None, pa.array([True] * 500), pa.array(["1990-01-01"] * 499 + ["soon"])],
    ids=["absent", "unfit", "bad"],
)
@pytest.mark.parametrize("kind", ["additive", "auto"])
def test_a_column_without_marginals_is_read_before_the_first_charge(kind: str, born: Any) -> None:
    """A year has no bins, so the rows that marginals are asked of do without it."""
    ledger = Ledger(Budget(1.0, 1e-6))
    year = DatePart("year", "year", column="born", low=1900, high=2000)
    table = people(500) if born is None else people(500).append_column("born", born)
    schema = replace(SCHEMA, columns=(*SCHEMA.columns, year))
    with pytest.raises(sv.errors.DataError, match="born"):
        sv.fit(table, schema, epsilon=1.0, delta=1e-6, model=kind, ledger=ledger)
    assert not ledger.history


def test_a_schema_without_numbers_is_trained_as_it_is() -> None:
    schema = replace(SCHEMA, columns=SCHEMA.columns[2:])
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "simulate": 0}
    plain = sv.fit(people(500), schema, **options)
    same = sv.fit(people(500), schema, model="additive", **options)
    np.testing.assert_array_equal(plain.result.weights, same.result.weights)
    assert same.marginals == ()


def test_one_fits_with_a_share_held_out() -> None:
    model = sv.fit(people(2_000), SCHEMA, epsilon=2.0, delta=1e-6, model="additive", evaluate=0.2, simulate=0)
    assert model.figures[0].n == 400


def test_coded_rows_are_indicators_and_the_constant() -> None:
    year = DatePart("year", "year", column="born", low=1900, high=2000)
    layout = RowLayout.of(coded(replace(SCHEMA, columns=(*SCHEMA.columns, year))))
    assert sum(stop - start for start, stop in layout.indicators) == layout.dim - 1 == BINS + BINS + 1 + 3


def test_bins_are_even_after_the_transform() -> None:
    edges = bin_edges(SCHEMA.columns[1])  # type: ignore[arg-type]
    np.testing.assert_allclose(np.diff(np.log1p(edges)), np.log1p(1e6) / BINS)


def test_columns_that_enter_an_interaction_stay_lines() -> None:
    crossed = replace(SCHEMA, interactions=(("age", "region"),))
    kinds = {column.name: type(column) for column in curved(crossed, 3).columns}
    assert kinds == {"age": Numeric, "income": Spline, "region": Categorical}


def test_knots_lie_where_records_do() -> None:
    shares = np.zeros(BINS)
    shares[:8] = 1 / 8
    edges = tuple(np.linspace(0.0, 100.0, BINS + 1).tolist())
    column = curved(SCHEMA, 5, (Marginal("age", edges, tuple(shares.tolist()), 1e-6),)).columns[0]
    assert isinstance(column, Spline)
    assert sum(knot < 12.5 for knot in column.knots) == 4
    even = curved(SCHEMA, 5, (Marginal("age", edges, tuple(shares.tolist()), 10.0),)).columns[0]
    assert isinstance(even, Spline)
    np.testing.assert_allclose(even.knots, np.linspace(0.0, 100.0, 7)[1:-1])


def test_knots_see_to_the_few_records_beside_a_pile() -> None:
    """Nine in ten records are in the first bin, the others in the last eight: by ranks and range alone no
    knot of five would lie among those."""
    shares = np.zeros(BINS)
    shares[0], shares[-8:] = 0.9, 0.1 / 8
    edges = tuple(np.linspace(0.0, 100.0, BINS + 1).tolist())
    column = curved(SCHEMA, 5, (Marginal("age", edges, tuple(shares.tolist()), 1e-6),)).columns[0]
    assert isinstance(column, Spline)
    assert sum(knot < 100.0 / BINS for knot in column.knots) == 2
    assert sum(knot > 87.5 for knot in column.knots) == 1


def test_more_is_asked_of_a_curve_where_n_mu_is_large() -> None:
    assert [knot_count(n, 0.1, 10) for n in (10, 1_000, 10_000, 100_000, 10**9)] == [1, 2, 5, 9, 12]


def test_a_sample_sets_a_limit_to_knots_whatever_epsilon() -> None:
    assert knot_count(4_000, 3.0, 12) == knot_count(4_000, 300.0, 12) == 5
    assert knot_count(4_000, 0.1, 12) < 5


def test_a_law_rises_from_0_to_1_whatever_the_noise() -> None:
    rng = np.random.default_rng(0)
    edges = tuple(range(BINS + 1))
    for noise in (1e-4, 1e-2, 1.0, 100.0):
        law = Marginal("x", edges, tuple(noise * rng.standard_normal(BINS) + 1 / BINS), noise).law
        assert law[0] == 0.0
        assert law[-1] == 1.0
        assert np.all(np.diff(law) >= 0.0)
