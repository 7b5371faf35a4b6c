"""A plan says which coefficients will be determined, and a fit refuses to spend where none will be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce import fitting
from sottovoce.data.made_up import Custom, made_up_rows
from sottovoce.errors import ParameterError
from sottovoce.planning import planner
from sottovoce.results.inference.forecast import Verdict

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"type": "numeric", "low": 20, "high": 80},
    "sex": {"type": "categorical", "categories": ["f", "m"]},
}


def declared(target: dict[str, Any]) -> sv.Schema:
    return sv.Schema.from_dict({"columns": COLUMNS, "target": target})


ILL = declared({"column": "ill", "classes": ["no", "yes"]})
VISITS = declared({"column": "visits", "type": "count", "high": 20, "typical": 3})


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, sex = np.clip(rng.normal(50, 12, n), 20, 80), rng.choice(["f", "m"], n)
    score = 0.03 * (age - 50) + 0.5 * (sex == "m")
    ill = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), "yes", "no")
    return pd.DataFrame(
        {"age": age, "sex": sex, "ill": ill, "visits": rng.poisson(3.0 * np.exp(0.5 * score))}
    )


def planned(schema: sv.Schema, n: int, epsilon: float) -> Any:
    loss = fitting.loss_for(None, schema.target)  # type: ignore[arg-type]
    bounds = (0.0, 1.0) if schema.target is not None and schema.target.count else None
    options = {"target": bounds, "inference": 0.3, "timed": False, "schema": schema}
    budget = sv.Budget(epsilon, 1e-6)
    return planner.plan(n=n, dim=len(schema.features), loss=loss, budget=budget, **options)


@pytest.mark.parametrize("schema", [ILL, VISITS], ids=["classes", "counts"])
def test_what_a_plan_calls_determined_is_and_its_errors_are_those_of_the_run(schema: sv.Schema) -> None:
    expected = planned(schema, 20_000, 2.0).coefficients
    model = sv.fit(table(20_000, 0), schema, epsilon=2.0, delta=1e-6, inference=0.3, simulate=0)
    lines = {line.term: line for line in model.summary().lines}
    assert [line.term for line in expected.lines] == [*lines]
    for line in expected.lines:
        if line.term != "sex=(missing or other)":  # the plan expects some, the table has none
            assert line.verdict is Verdict.YES
            assert lines[line.term].resolved
            assert line.low / 1.5 < lines[line.term].error < 1.5 * line.high


def test_a_plan_does_not_say_that_cells_will_be_missing_nor_that_none_will() -> None:
    for epsilon in (2.0, 100.0):
        lines = {line.term: line for line in planned(ILL, 20_000, epsilon).coefficients.lines}
        assert lines["sex=(missing or other)"].verdict is not Verdict.YES
    assert lines["sex=(missing or other)"].verdict is Verdict.PERHAPS
    assert "perhaps not determined" in str(lines["sex=(missing or other)"])
    assert "std.error.high" not in lines["sex=(missing or other)"].to_dict()


def test_a_correlated_table_is_harder_than_an_independent_one() -> None:
    """What both show is `yes`, what neither shows `no`; between them records or budget decide."""
    verdicts = [
        {line.term: line.verdict for line in planned(ILL, 4_000, epsilon).coefficients.lines}
        for epsilon in (0.2, 0.7, 5.0)
    ]
    assert [found["age"] for found in verdicts] == [Verdict.NO, Verdict.PERHAPS, Verdict.YES]


def test_a_plan_leads_with_standard_errors_and_counts_persons() -> None:
    from dataclasses import replace

    said = str(planned(replace(ILL, person="who"), 20_000, 2.0)).splitlines()
    assert "20000 persons" in said[0]
    assert "coefficient by coefficient" in said[1]
    assert said[3].split()[0] == "age"
    raw = planned(ILL, 200, 0.1).to_dict()["coefficients"]
    assert all(row == {"term": row["term"], "determined": "no"} for row in raw)


def test_a_run_that_will_determine_nothing_is_refused_before_the_charge() -> None:
    ledger = sv.Ledger(sv.Budget(0.1, 1e-6))
    terms: dict[str, Any] = {"epsilon": 0.1, "delta": 1e-6, "ledger": ledger}
    with pytest.raises(ParameterError, match="anyway"):
        sv.fit(table(500, 1), ILL, inference=0.3, **terms)
    assert not ledger.history
    model = sv.fit(table(500, 1), ILL, **terms, inference=sv.Inference(0.3, anyway=True), simulate=0)
    assert model.summary().nothing


def test_made_up_rows_are_bounded_and_always_the_same() -> None:
    custom = Custom(spread=0.3, correlation=0.6, rarer=0.5, absent=0.01)
    rows = made_up_rows(VISITS, custom)
    np.testing.assert_array_equal(rows, made_up_rows(VISITS, custom))
    assert np.linalg.norm(rows, axis=1).max() <= 1.0
    correlations = np.corrcoef(rows[:, 0], rows[:, 2])
    assert correlations[0, 1] > 0.3  # age and the second sex


def test_a_rate_far_below_the_largest_count_is_no_sign_of_a_hessian_that_changes() -> None:
    """phi'' of counts changes by a part of itself: sup|phi'''| over its mean said that steps led astray, and
    standard errors were 1 and more where those of this table are below 0.1."""
    frame = table(20_000, 2)
    model = sv.fit(frame, VISITS, epsilon=3.0, delta=1e-6, inference=0.3, simulate=0)
    age, male, *_ = model.summary().lines
    assert age.error < 0.005
    assert male.error < 0.1
    assert abs(male.estimate - 0.25) < 5.0 * male.error


def test_answers_are_asked_against_the_commonest_category_whatever_is_compared() -> None:
    """With a reference of one in twelve: asked against it, the other levels' common part would be hidden."""
    from sottovoce.data.contrasts import asked_in, design_of

    schema = sv.Schema.from_dict({"columns": {"a": {"type": "categorical", "categories": ["x", "y", "z"]}}})
    means = np.array([0.08, 0.5, 0.42, 1.0])
    np.testing.assert_array_equal(
        asked_in(schema)(means).matrix, design_of(schema, raw=False, against=["a=y"]).matrix
    )
    rng, n = np.random.default_rng(3), 8000
    level = rng.choice(["x", "y", "z"], n, p=[0.08, 0.5, 0.42])
    ill = np.where(rng.random(n) < np.where(level == "z", 0.4, 0.25), "yes", "no")
    target = {"column": "ill", "classes": ["no", "yes"]}
    declared = sv.Schema.from_dict({**schema.to_dict(), "target": target})
    frame = pd.DataFrame({"a": level, "ill": ill})
    model = sv.fit(frame, declared, epsilon=2.0, delta=1e-6, inference=0.3, simulate=0, method="majorize")
    lines = {line.term: line for line in model.summary().lines}
    assert lines["a=y"].resolved
    assert lines["a=z"].resolved


@pytest.mark.parametrize("wrong", [0, -1, 30, "3", True])
def test_a_typical_count_lies_between_none_and_the_largest(wrong: object) -> None:
    with pytest.raises(ParameterError, match="typical"):
        declared({"column": "visits", "type": "count", "high": 20, "typical": wrong})


def visits_of_persons(high: int) -> tuple[pd.DataFrame, sv.Schema]:
    """Five columns and rows of persons, as many as RAND HIE has; counts are overdispersed."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(5_912), rng.integers(1, 6, 5_912))
    columns = rng.normal(size=(5_912, 5))[who]
    rate = np.exp(1.0 + columns @ [0.2, -0.1, 0.15, 0.05, 0.0])
    frame = pd.DataFrame(columns, columns=list("abcde"))
    frame = frame.assign(visits=rng.negative_binomial(1.0, 1.0 / (1.0 + rate)), person=who)
    return frame, sv.Schema.from_dict(
        {
            "person": "person",
            "columns": {name: {"type": "numeric", "low": -3, "high": 3} for name in "abcde"},
            "target": {"column": "visits", "type": "count", "high": high, "typical": 3},
        }
    )


@pytest.mark.parametrize(("epsilon", "high"), [(3.0, 77), (10.0, 20)])
def test_counts_of_persons_are_determined_where_the_plan_says_so(epsilon: float, high: int) -> None:
    """phi'' of a count is its expectation over `high`: uncut, its largest value would set the noise."""
    frame, schema = visits_of_persons(high)
    expected = {line.term: line.verdict for line in planned(schema, 5_912, epsilon).coefficients.lines}
    model = sv.fit(
        frame, schema, epsilon=epsilon, delta=1e-6, inference=sv.Inference(0.3, anyway=True), simulate=1
    )
    assert all(line.resolved for line in model.summary().lines)
    assert Verdict.NO not in expected.values()
    assert epsilon < 10.0 or set(expected.values()) == {Verdict.YES}
    truth = dict(zip("abcde", [0.2, -0.1, 0.15, 0.05, 0.0], strict=True))
    inside = [line.low <= truth[line.term] <= line.high for line in model.summary().lines[:-1]]
    assert sum(inside) >= 4
