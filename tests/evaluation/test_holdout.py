"""A fit that also says how good it is: rows held out, and one budget for both."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.accounting import Ledger
from sottovoce.accounting.gdp import mu_of
from sottovoce.data.files import read
from sottovoce.data.schema import Categorical, Numeric, Target
from sottovoce.errors import AccuracyWarning
from sottovoce.evaluation.holdout import Parting, held_out, parts, too_few
from sottovoce.model import Model
from sottovoce.report import render
from sottovoce.report.registry import Publication, entry

SCHEMA = sv.Schema((Numeric("x", -1, 1), Categorical("c", ("a", "b"))), Target("y", ("no", "yes")))


def table(n: int) -> pa.Table:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, n)
    return pa.table({"x": x, "c": rng.choice(["a", "b"], n), "y": np.where(x > 0, "yes", "no")})


@pytest.mark.parametrize("share", [0.01, 0.1, 0.49])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
def test_both_parts_are_together_worth_no_more_than_the_whole(share: float, epsilon: float) -> None:
    whole = sv.Budget(epsilon, 1e-6)
    spent = [mu_of(part.epsilon, part.delta) ** 2 for part in parts(whole, share)]
    assert sum(spent) <= mu_of(epsilon, 1e-6) ** 2
    assert sum(spent) == pytest.approx(mu_of(epsilon, 1e-6) ** 2, rel=1e-6)
    assert spent[1] == pytest.approx(share * sum(spent), rel=1e-6)


def test_training_and_evaluation_fit_into_a_ledger_of_just_their_budget() -> None:
    ledger = sv.Ledger(sv.Budget(1.0, 1e-5))
    model = sv.fit(table(2_000), SCHEMA, epsilon=1.0, delta=1e-5, evaluate=0.1, ledger=ledger)
    names = ["accuracy", "majority rate", "area under the ROC curve", "log loss"]
    assert [figure.name for figure in model.figures] == names
    assert [figure.n for figure in model.figures] == [200] * 4
    assert model.result.guarantee.n == 1_800
    assert ledger.units_spent > 0.99 * ledger.units_cap
    again = Model.from_dict(model.to_dict())
    assert again.figures == model.figures
    stated = again.result.caveats[-1]
    trained, kept = parts(sv.Budget(1.0, 1e-5), 0.1)
    measured, keeps = (math.ceil(1e6 * part.epsilon) / 1e6 for part in (kept, trained))  # rounded up
    assert f"on 200 other records within ({measured}, 1e-05)" in stated
    assert f"keeps ({keeps}, 1e-05) for every record" in stated
    assert "together (1, 1e-05)" in stated
    assert stated in render(again.result, again.card())
    assert stated in model.to_sql("rows")


def test_without_a_ledger_no_page_says_that_one_counts_what_else_is_released() -> None:
    """Training and figures have an account of their own, which no other run is charged to."""
    model = sv.fit(table(2_000), SCHEMA, epsilon=1.0, delta=1e-5, evaluate=0.1)
    page = render(model.result, model.card())
    assert "No ledger counted this release" in page
    assert "within its cap" not in page
    assert model.privacy["ledger"] == ""
    assert "No ledger counted this release" in str(entry(model.result, model.card(), Publication()))


@pytest.mark.parametrize(("relation", "declared"), [("replace-one", None), ("zero-out", 500)])
def test_persons_are_held_out_whole_and_measured_for_persons(relation: str, declared: int | None) -> None:
    keys = np.array([f"p{number % 400}" for number in range(2_000)], dtype=object)
    held = table(2_000).append_column("who", pa.array(keys))
    terms = {"persons": declared, "relation": relation}
    schema = SCHEMA.amended(person="who")
    ledger = sv.Ledger(sv.Budget(4.0, 1e-5, relation), unit="person")
    model = sv.fit(held, schema, epsilon=4.0, delta=1e-5, evaluate=0.2, ledger=ledger, **terms)
    people = declared or 400
    assert model.result.guarantee.n == people - people // 5
    assert [figure.n for figure in model.figures] == [people // 5] * 4
    assert model.result.guarantee.unit == "person"
    assert ledger.units_spent > 0.99 * ledger.units_cap
    assert f"{people // 5} persons held out" in render(model.result, model.card())
    parting = Parting.of(read(held, schema), 0.2, declared, sv.ReadOptions(), 1)
    assert all(len(set(parting.test[keys == key].tolist())) == 1 for key in set(keys))
    assert 0 < parting.test.sum() < 2_000


def test_rows_are_drawn_by_their_number_alone() -> None:
    assert held_out(1_000, 0.1, None).sum() == 100
    assert (held_out(1_000, 0.1, None) != held_out(1_000, 0.1, None)).any()
    with pytest.raises(sv.errors.ParameterError, match="too few"):
        held_out(3, 0.1, None)


@pytest.mark.parametrize("share", [-0.1, 0.5, 1, True, "0.1"])
def test_a_share_that_is_none_is_refused_before_anything_is_charged(share: object) -> None:
    ledger = sv.Ledger(sv.Budget(1.0, 1e-5))
    with pytest.raises(sv.errors.ParameterError, match="share"):
        sv.fit(table(50), SCHEMA, epsilon=1.0, delta=1e-5, evaluate=share, ledger=ledger)  # type: ignore[arg-type]
    assert ledger.units_spent == 0


def test_held_out_rows_change_no_weight() -> None:
    """Rows that are not trained on may hold anything: the weights are those of the others."""
    rows = table(400)
    chosen = held_out(400, 0.1, 3)
    spoiled = rows.set_column(0, "x", pa.array(np.where(chosen, -rows["x"].to_numpy(), rows["x"].to_numpy())))
    options = {"epsilon": 1.0, "delta": 1e-4, "evaluate": 0.1, "simulate": 3}
    first, second = (sv.fit(given, SCHEMA, **options) for given in (rows, spoiled))  # type: ignore[arg-type]
    assert np.array_equal(first.result.weights, second.result.weights)
    assert first.figures != second.figures


def test_a_share_too_small_to_judge_by_is_told_before_anything_is_charged() -> None:
    held, ledger = table(2_000), Ledger(sv.Budget(1.0, 1e-5))
    options = {"epsilon": 1.0, "delta": 1e-5, "evaluate": 0.1, "ledger": ledger}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AccuracyWarning, match="200 records"):
            sv.fit(held, SCHEMA, **options)
    assert not ledger.history
    wide = too_few(sv.Budget(0.1, 1e-6), 591, "person", 2)
    assert "persons" in wide
    assert not too_few(sv.Budget(1.0, 1e-6), 20_000, "record", 2)
    assert not too_few(sv.Budget(0.1, 1e-6), 591, "person", 0)


@pytest.mark.parametrize("share", [0.1, 0.45])
def test_whether_rows_remain_on_either_side_refuses_nothing_where_bad_ones_count_nothing(
    share: float,
) -> None:
    """Of 1,000 declared persons one is there: on one side nobody is, which no refusal may tell."""
    held = table(40).append_column("who", pa.array(["p0"] * 40))
    schema, how = SCHEMA.amended(person="who"), sv.ReadOptions(invalid="zero")
    for seed in range(12):
        parting = Parting.of(read(held, schema, how), share, 1_000, how, seed)
        kept, out = read(held, schema, how).split(parting.test)
        assert sorted((kept.keys == [None], out.keys == [None])) == [False, True]
    model = sv.fit(
        held, schema, epsilon=1.0, delta=1e-5, evaluate=share, persons=1_000, reading=how, simulate=0
    )
    assert model.figures[0].n == round(1_000 * share)
