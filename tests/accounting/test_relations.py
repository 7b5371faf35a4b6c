"""One relation for life, the same in every file, and the other one stated beside it, neither too small."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import sottovoce as sv
from sottovoce.accounting import Gdp, Preset, Relation
from sottovoce.accounting.guarantee import Guarantee
from sottovoce.accounting.lineage import composed, composed_otherwise
from sottovoce.accounting.relations import filed, unit_of
from sottovoce.errors import ParameterError
from sottovoce.files import rebuilt

ZERO_OUT = sv.Budget(1.0, 1e-6, relation="zero-out")
REPLACE_ONE = sv.Budget(1.0, 1e-6)


def preset(run: str, epsilon: float, delta: float = 1e-6, **more: object) -> Preset:
    facts = {"currency": "gdp", "relation": "zero-out", **more}
    return Preset(run=run, epsilon=epsilon, delta=delta, **facts)  # type: ignore[arg-type]


def hockey_stick(mu: float, epsilon: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def risk(seed: int = 0, n: int = 400) -> sv.Risk:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) / 2
    y = np.where(X @ np.ones(3) + rng.normal(size=n) > 0, 1, -1)
    return sv.Risk(
        sv.Records.from_arrays(X, y, labels=(-1, 1)), sv.losses.Logistic(), sv.regularizers.L2(1e-2)
    )


def test_a_budget_replaces_one_record_unless_told_otherwise() -> None:
    assert REPLACE_ONE.relation is Relation.REPLACE_ONE
    assert ZERO_OUT.relation is Relation.ZERO_OUT
    assert repr(ZERO_OUT) == "Budget(epsilon=1.0, delta=1e-06, relation='zero-out')"
    assert eval(repr(ZERO_OUT), {"Budget": sv.Budget}) == ZERO_OUT != REPLACE_ONE
    assert sv.Budget(1.0, 1e-6, "REPLACE_SPECIAL") == ZERO_OUT
    for wrong in ("add-remove", "", None, 1, "ZERO_OUT"):
        with pytest.raises(sv.errors.ParameterError, match="zero-out"):
            sv.Budget(1.0, 1e-6, wrong)  # type: ignore[arg-type]


def test_a_ledger_refuses_the_other_relation_before_anything_is_charged(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    sv.Ledger.create(path, dataset="claims", cap=ZERO_OUT)
    for ledger in (sv.Ledger.open(path, dataset="claims"), sv.Ledger(ZERO_OUT)):
        assert ledger.relation is Relation.ZERO_OUT
        with pytest.raises(sv.errors.LedgerError, match="'zero-out' for life"):
            sv.minimize(risk(), budget=sv.Budget(0.5, 1e-7), ledger=ledger)
        assert not ledger.history
    with pytest.raises(sv.errors.LedgerError, match="fixed for good"):
        sv.Ledger.open(path, dataset="claims", cap=REPLACE_ONE)
    assert sv.Ledger.open(path, dataset="claims", cap=ZERO_OUT).cap == ZERO_OUT
    assert "zero-out" in str(ledger if ledger.persistent else sv.Ledger.open(path, dataset="claims").verify())


def people() -> sv.Risk:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 3)) / 3, np.tile([1, -1], 100)
    records = sv.Records.from_arrays(X, y, labels=(-1, 1), groups=rng.integers(50, size=200), persons=60)
    return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-2))


@pytest.mark.parametrize("unit", ["record", "person"])
def test_a_ledger_counts_for_one_unit_for_life_and_refuses_the_other(tmp_path: Path, unit: str) -> None:
    """By training, evaluation and search alike, before anything is charged, in memory and on disk."""
    path, small = tmp_path / "budget.db", sv.Budget(0.3, 1e-7)
    sv.Ledger.create(path, dataset="claims", cap=REPLACE_ONE, unit=unit)
    mine, theirs = (risk(), people()) if unit == "record" else (people(), risk())
    X, y, keys = np.linspace(-1, 1, 80)[:, None], np.tile(["n", "p"], 40), np.arange(80) // 4
    groups = keys if unit == "record" else None
    model = sv.PrivateClassifier(classes=("n", "p"), epsilon=1.0, delta=1e-6, simulate=1).fit(X, y)
    search = sv.PrivateSearch(sv.PrivateClassifier(classes=("n", "p")), {"strength": [1e-2]}, delta=1e-7)
    in_memory = sv.Ledger(REPLACE_ONE, unit=unit)
    for ledger in (sv.Ledger.open(path, dataset="claims"), in_memory):
        assert ledger.unit == unit
        assert f"unit={unit!r}" in repr(ledger)
        for attempt in (
            lambda to=ledger: sv.minimize(theirs, budget=small, ledger=to),
            lambda to=ledger: sv.evaluation.accuracy(model, X, y, budget=small, ledger=to, groups=groups),
            lambda to=ledger: search.set_params(epsilon=0.3, ledger=to).fit(X, y, groups=groups),
        ):
            with pytest.raises(sv.errors.LedgerError, match=f"for every {unit} for life"):
                attempt()
        assert not ledger.history
        assert sv.minimize(mine, budget=small, ledger=ledger).guarantee.unit == unit
    assert f"replace-one, for every {unit}" in str(sv.Ledger.open(path, dataset="claims").verify())
    assert f"mu^2 for every {unit}" in str(sv.Ledger.open(path, dataset="claims").verify())
    with pytest.raises(sv.errors.ParameterError, match='"record" or "person"'):
        sv.Ledger(REPLACE_ONE, unit="household")


def test_a_ledger_of_before_units_were_named_counts_for_every_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sottovoce.accounting.disk import sqlite_store
    from sottovoce.accounting.disk.entries import write_declaration

    def earlier(declared: object, **forged: str) -> str:
        raw = json.loads(write_declaration(declared))  # type: ignore[arg-type]
        return json.dumps({**{name: raw[name] for name in ("cap", "currency", "order")}, **forged})

    path = tmp_path / "budget.db"
    monkeypatch.setattr(sqlite_store, "write_declaration", earlier)
    sv.Ledger.create(path, dataset="claims", cap=REPLACE_ONE)
    old = sv.Ledger.open(path, dataset="claims")
    assert old.unit == "record"
    assert sv.minimize(risk(), budget=sv.Budget(0.3, 1e-7), ledger=old).guarantee.unit == "record"
    with pytest.raises(sv.errors.LedgerError, match="for every record for life"):
        sv.minimize(people(), budget=sv.Budget(0.3, 1e-7), ledger=old)
    monkeypatch.setattr(sqlite_store, "write_declaration", lambda given: earlier(given, unit="house"))
    with pytest.raises(sv.errors.LedgerError, match="cannot be understood"):
        sv.Ledger.create(tmp_path / "other.db", dataset="claims", cap=REPLACE_ONE)


def test_files_spell_relations_as_dp_accounting_does(tmp_path: Path) -> None:
    for relation, spelled in (("replace-one", "REPLACE_ONE"), ("zero-out", "REPLACE_SPECIAL")):
        result = sv.minimize(risk(), budget=sv.Budget(1.0, 1e-6, relation), simulate=1)
        result.save(tmp_path / "run.json")
        raw = json.loads((tmp_path / "run.json").read_text())
        assert raw["guarantee"]["relation"] == raw["lineage"][0]["relation"] == spelled
        loaded = sv.Result.load(tmp_path / "run.json")
        assert loaded.guarantee == result.guarantee
        assert loaded.guarantee.relation is Relation.of(relation)
        raw["guarantee"]["relation"] = "REPLACE_SPECIAL" if spelled == "REPLACE_ONE" else "REPLACE_ONE"
        with pytest.raises(sv.errors.DataError, match="damaged"):
            sv.Result.from_dict(raw)
    stated = Guarantee.over((preset("a", 1.0),), n=10)
    assert rebuilt(Guarantee, json.loads(json.dumps(filed(stated)))) == stated


def test_zero_out_twice_is_read_off_at_twice_mu() -> None:
    """Never 2 epsilon: what is stated is enough for 2 mu, and hardly more than that takes."""
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-9), (4.0, 1e-5)):
        one = preset("a", epsilon, delta)
        stated = composed_otherwise((one,))
        assert stated is not None
        mu = math.sqrt(Gdp().cap(one.budget) / 2**50)
        assert hockey_stick(2 * mu, stated[0]) <= delta * (1 - 0.001) * (1 + 1e-6)
        assert hockey_stick(2 * mu, stated[0] * 0.999) > delta * (1 - 0.001)
        assert delta <= stated[1] < 1.5 * delta
        assert 2 * epsilon < stated[0] < 3 * epsilon


def test_a_chain_of_zero_out_runs_is_doubled_as_a_whole() -> None:
    runs = (preset("a", 0.5), preset("b", 1.0), preset("c", 0.7))
    stated = composed_otherwise(runs)
    assert stated is not None
    mu = 2 * math.sqrt(sum(Gdp().cap(run.budget) for run in runs) / 2**50)
    assert hockey_stick(mu, stated[0]) <= 1e-6
    assert composed_otherwise((*runs, runs[0])) == stated


def test_a_renyi_ledger_of_one_order_states_two_steps_of_epsilon_and_delta() -> None:
    stated = composed_otherwise((preset("a", 1.0, 1e-6, currency="renyi", order=20.0),))
    assert stated is not None
    assert stated[0] == 2.0
    assert (1 + math.e) * 1e-6 <= stated[1] <= (1 + math.e) * 1.01e-6


def test_a_replacement_covers_zero_out_unless_the_value_was_asked() -> None:
    run = preset("a", 1.0, relation="replace-one")
    assert composed_otherwise((run,)) == (1.0, 1e-6)
    assert composed_otherwise((run, replace(run, run="b", value_asked=True))) is None
    mixed = (run, preset("b", 1.0))
    assert Guarantee.over(mixed, n=9).relation is Relation.ZERO_OUT
    assert composed(mixed) == composed((preset("a", 1.0), preset("b", 1.0)))


def test_asking_the_value_under_replacement_leaves_zero_out_unstated() -> None:
    from sottovoce.methods.paper.gap import MeasuredGap
    from sottovoce.methods.registry import by_name

    method = replace(by_name("opt"), gap=MeasuredGap())  # type: ignore[call-arg]
    wish = sv.Tolerance(gradient=0.2)
    for relation, stated in (("replace-one", False), ("zero-out", True)):
        budget = sv.Budget(4.0, 1e-6, relation)
        result = sv.minimize(risk(), budget=budget, method=method, tolerance=wish, simulate=1)
        assert "value" in result.spending
        assert (result.guarantee.other_epsilon is not None) is stated
        assert ("nothing is stated" in result.guarantee.otherwise) is not stated


def test_every_printed_guarantee_names_its_relation_and_the_other() -> None:
    from sottovoce.report import render

    for relation, words in (("replace-one", "replace one record"), ("zero-out", "zero out one record")):
        result = sv.minimize(risk(), budget=sv.Budget(1.0, 1e-6, relation))
        other = Relation.of(relation).other
        for text in (str(result.guarantee), str(result), render(result)):
            assert words in text
            assert f"under {other.value}" in text


def test_zero_out_halves_the_noise_of_a_gradient_and_adds_to_that_of_a_value() -> None:
    from sottovoce.privacy.noise import SimulatedNoise
    from sottovoce.privacy.oracle import Oracle

    def scales(budget: sv.Budget) -> tuple[float, float]:
        oracle = Oracle(risk(), sv.Ledger(budget).run(budget), SimulatedNoise(0))
        w, units = np.ones(3), oracle.units_left // 4
        return oracle.gradient(w, units).scale, oracle.value(w, units).scale

    (gradient, value), (null_gradient, null_value) = scales(REPLACE_ONE), scales(ZERO_OUT)
    assert 0.5 <= null_gradient / gradient < 0.8
    assert null_value > value


@pytest.mark.parametrize("given", [np.array([np.nan, 1.0]), None, 1, "replace"], ids=str)
def test_what_names_no_relation_or_unit_is_refused_whatever_it_is(given: object) -> None:
    with pytest.raises(ParameterError):
        Relation.of(given)
    with pytest.raises(ParameterError):
        unit_of(given)
