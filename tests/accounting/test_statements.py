"""What is stated under which relation: the whole table, and an attack on every line of it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import sottovoce as sv
from sottovoce.accounting import Budget, Gdp, Preset, Relation
from sottovoce.accounting.guarantee import Guarantee
from sottovoce.accounting.lineage import composed_under
from sottovoce.evaluation.holdout import together
from sottovoce.methods.paper.gap import MeasuredGap
from sottovoce.methods.registry import by_name
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.report import render
from sottovoce.report.words import methods, references
from sottovoce.results.certificate import Certificate

R, Z = Relation.REPLACE_ONE, Relation.ZERO_OUT
RECORD: dict[str, Any] = {}
DECLARED = {"unit": "person"}
COUNTED = {"unit": "person", "counted": True}
VALUED = {"value_asked": True}

# (relation, persons and value) of each run -> the relation of the promise, and how many steps of each run
# lead to a neighbour under either: (replace-one, zero-out); None where nothing is stated.
TABLE = [
    ([(R, RECORD)], R, ([1], [1])),
    ([(R, VALUED)], R, ([1], None)),
    ([(R, DECLARED)], R, ([1], [1])),
    ([(R, DECLARED | VALUED)], R, ([1], None)),
    ([(R, COUNTED)], R, ([1], None)),
    ([(R, COUNTED | VALUED)], R, ([1], None)),
    ([(Z, RECORD)], Z, ([2], [1])),
    ([(Z, VALUED)], Z, ([2], [1])),
    ([(Z, DECLARED)], Z, ([2], [1])),
    ([(Z, DECLARED | VALUED)], Z, ([2], [1])),
    ([(R, RECORD), (R, RECORD)], R, ([1, 1], [1, 1])),
    ([(R, RECORD), (R, VALUED)], R, ([1, 1], None)),
    ([(R, RECORD), (Z, RECORD)], Z, ([1, 2], [1, 1])),
    ([(Z, RECORD), (R, RECORD)], Z, ([2, 1], [1, 1])),
    ([(R, VALUED), (Z, RECORD)], R, ([1, 2], None)),
    ([(Z, VALUED), (R, RECORD)], Z, ([2, 1], [1, 1])),
    ([(Z, RECORD), (R, VALUED)], R, ([2, 1], None)),
    ([(R, COUNTED), (R, DECLARED)], R, ([1, 1], None)),
    ([(R, COUNTED), (Z, DECLARED)], R, ([1, 2], None)),
    ([(Z, DECLARED), (R, COUNTED)], R, ([2, 1], None)),
    ([(R, DECLARED), (Z, DECLARED | VALUED)], Z, ([1, 2], [1, 1])),
]


def lineage(runs: list[tuple[Relation, dict[str, Any]]], **more: Any) -> tuple[Preset, ...]:
    facts: dict[str, Any] = {"delta": 1e-6, "currency": "gdp", **more}
    return tuple(
        Preset(run=str(place), epsilon=1.0 + place, relation=relation, **{**facts, **of})
        for place, (relation, of) in enumerate(runs)
    )


def hockey_stick(mu: float, epsilon: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize(("runs", "relation", "steps"), TABLE)
def test_the_table_of_what_is_stated(
    runs: list[tuple[Relation, dict[str, Any]]], relation: Relation, steps: tuple[Any, Any]
) -> None:
    """No promise is below that of a Gaussian with mu^2 the sum of (steps mu_i)^2, nor much above it."""
    presets = lineage(runs)
    stated = Guarantee.over(presets, n=40)
    assert stated.relation is relation
    for asked, taken in zip((R, Z), steps, strict=True):
        found = composed_under(presets, asked)
        if taken is None:
            assert found is None
            continue
        assert found is not None
        mu = math.sqrt(
            sum(step**2 * Gdp().cap(run.budget) / 2**50 for step, run in zip(taken, presets, strict=True))
        )
        assert hockey_stick(mu, found[0]) <= found[1]
        assert hockey_stick(mu, 0.99 * found[0]) > 0.9e-6
    assert (stated.epsilon, stated.delta) == composed_under(presets, relation)
    other = composed_under(presets, relation.other)
    assert (stated.other_epsilon, stated.other_delta) == (other or (None, None))
    assert ("nothing is stated" in str(stated)) is (other is None)
    assert f"under {relation.other.value}" in str(stated)
    assert stated.fits(presets)


@pytest.mark.parametrize(("runs", "relation", "steps"), TABLE)
def test_other_currencies_state_no_less(
    runs: list[tuple[Relation, dict[str, Any]]], relation: Relation, steps: tuple[Any, Any]
) -> None:
    """Of a Renyi ledger, or of one that is not known, two steps are (2 epsilon, (1 + e^epsilon) delta)."""
    for currency, order in (("renyi", 20.0), ("", None)):
        presets = lineage(runs, currency=currency, order=order)
        assert Guarantee.over(presets, n=40).relation is relation
        for asked, taken in zip((R, Z), steps, strict=True):
            found = composed_under(presets, asked)
            assert (found is None) is (taken is None)
            if found is not None and len(runs) == 1:
                epsilon, delta = (1.0, 1e-6) if taken == [1] else (2.0, (1 + math.e) * 1e-6)
                assert found[0] == epsilon
                assert delta <= found[1] <= 1.01 * delta


def test_what_is_no_promise_cannot_be_made() -> None:
    fine: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "n": 9}
    for wrong in ({"unit": "household"}, {"delta": 1.5}, {"epsilon": math.inf}, {"n": 0}, {"runs": 0}):
        with pytest.raises(sv.errors.ParameterError):
            Guarantee(**{**fine, **wrong})
    with pytest.raises(sv.errors.ParameterError):
        Guarantee.over(lineage([(R, RECORD), (R, DECLARED)]), n=9)
    for facts in ({"relation": Z, "unit": "person"}, {"relation": R, "unit": "record"}):
        with pytest.raises(sv.errors.ParameterError):
            Preset(run="a", epsilon=1.0, delta=1e-6, counted=True, **facts)  # type: ignore[arg-type]


def table(rows: int = 60) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True), np.tile([-1, 1], rows // 2), np.arange(rows) // 2


def held(persons: str, lost: int | None = None, flipped: bool = False) -> sv.Risk:
    """A risk over records or persons, one of whom counts nothing or is replaced by its opposite."""
    X, y, keys = table()
    mine = np.arange(len(y)) == lost if persons == "none" else keys == lost
    kept = np.ones(len(y), dtype=bool) if flipped or persons == "none" else ~mine
    shares = np.where(mine & ~np.array(flipped), 0.0, 1.0)
    people = {"none": {}, "declared": {"persons": 40}, "counted": {}}[persons]
    groups = {} if persons == "none" else {"groups": keys[kept], **people}
    records = sv.Records.from_arrays(
        np.where(mine[:, None] & flipped, -X, X)[kept],
        y[kept],
        labels=(-1, 1),
        sample_weight=shares[kept],
        weight_cap=1.0,
        **groups,
    )
    return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(0.0))


POINTS = [scale * np.array([0.6, 0.0, 0.8]) for scale in (0.0, 1.0, 6.0)]


def largest_loss(charged: Relation, asked: Relation, query: str, persons: str) -> float:
    """Over all records: how far they move an answer, in units of what is charged for it. Exact answers."""
    plain = sv.Risk(
        sv.Records.from_arrays(*table()[:2], labels=(-1, 1)), sv.losses.Logistic(), sv.regularizers.L2(0.0)
    )
    whole = held(persons)
    priced = plain if persons == "none" else whole
    budget = sv.Budget(1.0, 1e-6, charged)
    ledger = sv.Ledger(budget, unit=priced.problem.unit)
    oracle = Oracle(priced, ledger.run(budget, unit=priced.problem.unit), SimulatedNoise(0))
    worst = 0.0
    for w in POINTS:
        getattr(oracle, query)(w, oracle.units_left // 20)
        sensitivity = ledger.history[-1].event.sensitivity  # type: ignore[union-attr]
        for lost in range(12):
            other = held(persons, lost, flipped=asked is R)
            far = np.linalg.norm(getattr(whole, query)(w) - getattr(other, query)(w))
            worst = max(worst, float(far) / sensitivity)
    return worst


@pytest.mark.parametrize("persons", ["none", "declared"])
@pytest.mark.parametrize("query", ["gradient", "value", "hessian"])
def test_what_is_stated_holds_and_what_is_not_would_not(persons: str, query: str) -> None:
    """A replacement charged covers zero-out but for the value; zero-out charged covers replacement twice.

    A declared person may have no row, so that the value too is charged for one who counts nothing; nothing is
    stated of it all the same."""
    across = largest_loss(R, Z, query, persons)
    assert (across > 1.0) is (query == "value" and persons == "none")
    assert largest_loss(Z, Z, query, persons) <= 1.0
    assert largest_loss(R, R, query, persons) <= 1.0
    assert largest_loss(Z, R, query, persons) <= 2.0


def test_the_number_of_counted_persons_changes_every_noise() -> None:
    """Without one of them sensitivities are those of n - 1: no multiple of mu covers that."""
    budget = sv.Budget(1.0, 1e-6)
    scales = []
    for risk in (held("counted"), held("counted", lost=3)):
        oracle = Oracle(risk, sv.Ledger(budget, unit="person").run(budget, unit="person"), SimulatedNoise(0))
        scales.append((risk.n, oracle.gradient(POINTS[1], oracle.units_left // 4).scale))
    assert [n for n, _ in scales] == [30, 29]
    assert scales[0][1] != scales[1][1]


@cache
def trained(
    relation: str, gap: bool = False, persons: str = "none", again: int = 0, **more: Any
) -> sv.Result:
    """A private run; `again` tells runs apart that are otherwise the same."""
    X, y, keys = table(400)
    people = {"none": {}, "declared": {"groups": keys, "persons": 250}, "counted": {"groups": keys}}[persons]
    records = sv.Records.from_arrays(X, y, labels=(-1, 1), **people)
    options: dict[str, Any] = {"method": "majorize", **more}
    if gap:
        options["method"] = replace(by_name("opt"), gap=MeasuredGap())  # type: ignore[call-arg]
        options["tolerance"] = sv.Tolerance(gradient=0.2)
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-2))
    return sv.minimize(risk, budget=sv.Budget(4.0, 1e-5, relation), **options)


@pytest.mark.parametrize("persons", ["none", "declared", "counted"])
@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
def test_every_printed_sentence_of_a_run(relation: str, gap: bool, persons: str, tmp_path: Path) -> None:
    if relation == "zero-out" and persons == "counted":
        with pytest.raises(sv.errors.ParameterError):
            trained(relation, gap, persons)
        return
    result = trained(relation, gap, persons)
    said = result.guarantee
    known = relation == "zero-out" or not (gap or persons == "counted")
    assert (said.other_epsilon is not None) is known
    sentence = "the same" if relation == "replace-one" else f"({said.other_epsilon:g}"
    unit = "record" if persons == "none" else "person"
    for text in (str(said), str(result), render(result), result._repr_html_()):
        assert f"under {said.relation.other.value} {sentence if known else 'nothing is stated'}" in text
        assert said.neighbours in text
    page = render(result)
    asks = "narrowed one" if relation == "replace-one" else "whether one given"
    assert f"{asks} {unit}" in page
    assert ("two candidates" in page) is (relation == "replace-one")
    result.save(tmp_path / "run.json")
    assert sv.Result.load(tmp_path / "run.json").guarantee == said


@pytest.mark.parametrize(
    ("relation", "persons", "gap"),
    [("replace-one", "none", True), ("replace-one", "counted", False), ("replace-one", "none", False)],
)
def test_a_chain_over_both_relations_states_what_all_its_runs_promise(
    relation: str, persons: str, gap: bool
) -> None:
    """Trained under replacement, recalibrated under zero-out: (4, 1e-5) of training says nothing there."""
    from sottovoce.estimators.recalibration import _together

    first = trained(relation, gap, persons)
    second = trained("zero-out", False, "none" if persons == "none" else "declared")
    made = _together(first, second, first.weights, (1.0, 0.0)).guarantee
    if gap or persons == "counted":
        assert made.relation is R
        assert made.other_epsilon is None
        assert made.epsilon > first.guarantee.epsilon + second.guarantee.epsilon
    else:
        assert made.relation is Z
        assert made.other_epsilon is not None
        assert made.other_epsilon > made.epsilon
    assert made.cap_epsilon is None
    assert "fixed beforehand" in made.chain


def test_a_cap_is_stated_for_runs_that_it_covers_alone() -> None:
    from sottovoce.estimators.recalibration import _together

    cap = sv.Budget(9.0, 1e-4)
    one, other = sv.Ledger(cap), sv.Ledger(cap)
    first, second = (trained("replace-one", ledger=one, again=time) for time in range(2))
    elsewhere = trained("replace-one", ledger=other)
    assert _together(first, second, first.weights, (1.0, 0.0)).guarantee.cap_epsilon == 9.0
    apart = _together(first, elsewhere, first.weights, (1.0, 0.0))
    assert apart.guarantee.cap_epsilon is None
    last = "The last run, and none before it, was charged to the ledger named"
    assert render(apart).count(last) == 2
    assert last not in render(second)


def test_a_file_that_does_not_say_whether_persons_were_counted_states_nothing_of_zero_out() -> None:
    """As 984a9f2 wrote it: "under zero-out the same", with n counted."""
    raw = trained("replace-one", False, "counted").to_dict()
    del raw["lineage"][0]["counted"]
    raw["guarantee"] |= {"other_epsilon": 4.0, "other_delta": 1e-5}
    loaded = sv.Result.from_dict(raw)
    assert loaded.guarantee.other_epsilon is None
    assert loaded.lineage[0].counted
    raw["lineage"][0]["counted"] = True
    with pytest.raises(sv.errors.DataError):
        sv.Result.from_dict(raw)


FINEST = st.floats(1e-9, 1e3)


@settings(max_examples=300, deadline=None)
@given(FINEST, st.floats(1e-12, 0.999), FINEST, st.floats(-1e3, 1e3))
def test_what_is_printed_is_no_stronger_than_what_is_kept(
    epsilon: float, delta: float, gradient: float, curvature: float
) -> None:
    """Before, delta = "1/n" of 3,000 records was printed as 0.000333."""
    promise = Guarantee(
        epsilon=epsilon,
        delta=delta,
        n=5,
        runs=2,
        other_epsilon=2.0 * epsilon,
        other_delta=delta,
        cap_epsilon=epsilon,
        cap_delta=delta,
    )
    printed = re.findall(r"\(([-+.e0-9]+), ([-+.e0-9]+)\)", str(promise))
    for said, kept in zip(printed, [(epsilon, delta), (2.0 * epsilon, delta), (epsilon, delta)], strict=True):
        assert all(kept[k] <= float(said[k]) <= kept[k] * 1.011 for k in (0, 1))
    apart = together(Budget(epsilon, delta), Budget(epsilon, delta), Budget(epsilon, delta), 9, "record")
    for said in re.findall(r"\(([-+.e0-9]+), ([-+.e0-9]+)\)", apart):
        assert epsilon <= float(said[0])
        assert delta <= float(said[1])
    certificate = Certificate(gradient_norm_at_most=gradient, curvature_at_least=curvature, confidence=0.9)
    most, least = re.findall(r"at (?:most|least) ([-+.e0-9]+)[ ,]", str(certificate))
    assert gradient <= float(most)
    assert float(least) <= curvature


def test_a_page_states_no_more_than_is_kept() -> None:
    X, y, _ = table(3000)
    records = sv.Records.from_arrays(X, y, labels=(-1, 1))
    result = sv.minimize(sv.Risk(records, sv.losses.Logistic()), budget=sv.Budget(0.12344, 1.0 / 3000))
    page = render(result)
    assert "(0.1235, 0.000334)-differential privacy" in page
    assert "0.000333" not in page
    assert result.mechanism == "Gaussian noise on a lattice"
    searched = replace(result, spending={"gradient": 0.5, "line search": 0.5})
    assert "Laplace" in searched.privacy["mechanism"]


def test_the_methods_paragraph_names_what_the_run_was_counted_in() -> None:
    X, y, _ = table(2000)
    risk = sv.Risk(sv.Records.from_arrays(X, y, labels=(-1, 1)), sv.losses.Logistic())
    budget = sv.Budget(3.0, 1e-5)
    for ledger, named, other in (
        (sv.Ledger(budget), "Gaussian differential privacy", "Renyi"),
        (sv.Ledger(budget, currency="renyi", order=16), "Renyi divergences", "Gaussian differential privacy"),
    ):
        result = sv.minimize(risk, budget=budget, ledger=ledger, inference=0.5)
        said = methods(result, result.summary())
        assert named in said
        assert other not in said
        assert {one.split(":")[0].split(",")[0] for one in references(result)[1:]} == {
            "Dong" if "Gaussian" in named else "Mironov"
        }


@pytest.mark.parametrize("lenient", ["zero", "raise"])
def test_a_missing_key_never_changes_how_many_persons_there_are(lenient: str) -> None:
    X, y, keys = table()
    blank = [None if key == 3 else str(key) for key in keys]
    for groups in (keys, blank):
        with pytest.raises(sv.errors.ParameterError if lenient == "zero" else sv.errors.DataError):
            sv.Records.from_arrays(
                X, y, labels=(-1, 1), groups=groups if lenient == "zero" else blank, invalid=lenient
            )
        given = sv.Records.from_arrays(X, y, labels=(-1, 1), groups=groups, persons=30, invalid="zero")
        assert given.n == 30


def test_a_search_trains_on_as_many_persons_whoever_they_are() -> None:
    """On 984a9f2 a hash of each key put 319 or 318 persons on one side, and said so."""
    X, y, keys = table(400)
    found = set()
    for renamed in range(3):
        search = sv.PrivateSearch(
            sv.PrivateClassifier(classes=(-1, 1), method="majorize"),
            {"strength": [1e-2]},
            epsilon=4.0,
            delta=1e-5,
        )
        search.fit(X, y, groups=[f"{key} {renamed}" for key in keys])
        found.add((search.guarantee_.n, *(result.guarantee.n for result in search.results_)))
        assert search.guarantee_.other_epsilon is None
    assert found == {(200, 160)}
