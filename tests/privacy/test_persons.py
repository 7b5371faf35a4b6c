"""Persons: whatever rows stand under one key, they move an answer no further than one record would."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.data.persons import Persons, read_keys
from sottovoce.estimators.held_out import Split
from sottovoce.losses import Logistic, PseudoHuber
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries.preconditioner import Preconditioner
from tests.doubles import Recorder

DIM, OTHERS = 4, 6
BUDGET = sv.Budget(2.0, 1e-5)
ROWS = (1, 2, 3, 7, 49, 1000)


def ball(rng: np.random.Generator, rows: int, kind: str) -> np.ndarray:
    """Rows of the unit ball: alike, opposite in pairs, orthogonal, zero or at random."""
    if kind == "zero":
        return np.zeros((rows, DIM))
    if kind == "alike":
        return np.tile(np.eye(DIM)[0], (rows, 1))
    if kind == "opposite":
        return np.eye(DIM)[0] * np.where(np.arange(rows) % 2, -1.0, 1.0)[:, None]
    if kind == "orthogonal":
        return np.eye(DIM)[1 + np.arange(rows) % (DIM - 1)]
    drawn = rng.normal(size=(rows, DIM))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def risk(mine: np.ndarray, labels: np.ndarray, *, residual: bool = False, persons: int | None = None) -> Any:
    """`mine` are the rows of one person among others, who have one, two or three each."""
    rng = np.random.default_rng(7)
    counts = 1 + np.arange(OTHERS) % 3
    X = np.concatenate([mine, ball(rng, int(counts.sum()), "random")])
    y = np.concatenate([labels, np.where(rng.random(int(counts.sum())) < 0.5, -1, 1)])
    keys = ["me"] * len(mine) + [f"other {number}" for number in np.repeat(np.arange(OTHERS), counts)]
    what: dict[str, Any] = {"target": (-1.0, 1.0)} if residual else {"labels": (-1, 1)}
    records = sv.Records.from_arrays(X, y, groups=keys, persons=persons, **what)
    return sv.Risk(records, PseudoHuber(0.5) if residual else Logistic(), sv.regularizers.L2(1e-3))


def answers(held: Any, u: np.ndarray, step: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "gradient": held.gradient(u),
        "hessian": held.hessian(u),
        "eigenvalue": np.array([held.smallest_eigenvalue(u)]),
        "gram": held.gram(),
        "gram diagonal": held.gram_diagonal(),
        "difference": np.array([held.along(u, step).decrease(1.0)]),
        "value": np.array([held.value(u)]),
        "scores": held.score_moment(u),
    }


def bounds(held: Any, relation: Relation, u: np.ndarray, step: np.ndarray) -> dict[str, float]:
    known = replace(held.bounds, relation=relation)
    return {
        "gradient": known.gradient(u),
        "hessian": known.hessian(u),
        "eigenvalue": known.smallest_eigenvalue(u),
        "gram": known.gram(),
        "gram diagonal": known.gram_diagonal(),
        "difference": known.difference(u, step),
        "value": known.value(u),
        "scores": known.score_moment(u),
    }


def moves(one: Any, two: Any, u: np.ndarray, step: np.ndarray) -> dict[str, float]:
    before, after = answers(one, u, step), answers(two, u, step)
    return {name: float(np.linalg.norm(before[name] - after[name])) for name in before}


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("reach", [0.0, 1.0, 40.0])
def test_no_person_moves_an_answer_past_the_bound_of_one_record(residual: bool, reach: float) -> None:
    rng = np.random.default_rng(3)
    u, step = reach * np.eye(DIM)[0], 0.3 * np.ones(DIM)
    kinds = ("alike", "opposite", "orthogonal", "zero", "random")
    for rows, kind, other in (
        (rows, kind, other) for rows in ROWS[:5] for kind in kinds for other in kinds[:3]
    ):
        mine = risk(ball(rng, rows, kind), np.where(rng.random(rows) < 0.5, -1, 1), residual=residual)
        theirs = risk(ball(rng, 3, other), np.array([1, -1, 1]), residual=residual)
        for name, move in moves(mine, theirs, u, step).items():
            bound = bounds(mine, Relation.REPLACE_ONE, u, step)[name]
            assert move <= bound, (name, rows, kind, other)


@pytest.mark.parametrize("rows", ROWS)
def test_people_who_come_or_go_move_an_answer_no_further_than_one_record(rows: int) -> None:
    rng = np.random.default_rng(rows)
    step = 0.3 * np.ones(DIM)
    null = risk(np.zeros((0, DIM)), np.zeros(0), persons=OTHERS + 1)
    for kind in ("alike", "opposite", "orthogonal", "random"):
        for u in (np.zeros(DIM), 3.0 * np.eye(DIM)[0]):
            held = risk(ball(rng, rows, kind), np.full(rows, -1), persons=OTHERS + 1)
            assert held.n == null.n == OTHERS + 1
            for name, move in moves(held, null, u, step).items():
                assert move <= bounds(held, Relation.ZERO_OUT, u, step)[name], (name, kind)


@pytest.mark.parametrize("rows", ROWS)
def test_a_person_whose_rows_agree_attains_the_bounds(rows: int) -> None:
    """Long weights, all rows against them: phi' is 1 there. To 1 %, for one row and for a thousand."""
    u, step, away = 60.0 * np.eye(DIM)[0], np.eye(DIM)[0] / 4, np.full(rows, -1)
    null = risk(np.zeros((0, DIM)), np.zeros(0), persons=OTHERS + 1)
    mine = risk(ball(np.random.default_rng(0), rows, "alike"), away, persons=OTHERS + 1)
    due = bounds(mine, Relation.ZERO_OUT, u, step)
    found = moves(mine, null, u, step)
    for name in ("gradient", "gram", "gram diagonal", "difference", "value", "scores"):
        assert 0.99 * due[name] <= found[name] <= due[name], name
    at_zero = bounds(mine, Relation.ZERO_OUT, np.zeros(DIM), step)["hessian"]
    assert moves(mine, null, np.zeros(DIM), step)["hessian"] >= 0.99 * at_zero
    other = risk(-ball(np.random.default_rng(0), rows, "alike"), -away, persons=OTHERS + 1)
    both = bounds(mine, Relation.REPLACE_ONE, np.zeros(DIM), step)["gradient"]
    turned = risk(-ball(np.random.default_rng(0), rows, "alike"), away, persons=OTHERS + 1)
    assert moves(mine, turned, np.zeros(DIM), step)["gradient"] >= 0.99 * both
    assert moves(mine, other, u, step)["gradient"] <= bounds(mine, Relation.REPLACE_ONE, u, step)["gradient"]


def test_influence_is_capped_row_by_row_and_a_person_moves_no_further() -> None:
    rng, u = np.random.default_rng(5), np.array([2.0, 0.0, 1.0, 0.0])
    preconditioner = Preconditioner(scale=np.array([9.0, 1.0, 0.3, 1.0]), cap=1.5)
    step = 0.2 * np.ones(DIM)
    null = risk(np.zeros((0, DIM)), np.zeros(0), persons=OTHERS + 1).preconditioned(preconditioner)
    for rows in (1, 3, 40):
        for kind in ("alike", "opposite", "random"):
            held = risk(ball(rng, rows, kind), np.full(rows, -1), persons=OTHERS + 1).preconditioned(
                preconditioner
            )
            for name, move in moves(held, null, u, step).items():
                assert move <= bounds(held, Relation.ZERO_OUT, u, step)[name], (name, rows, kind)


def test_a_person_never_counts_more_than_one_however_many_rows() -> None:
    """In exact rational arithmetic, alone and times sample weights that round."""
    for rows in (*range(1, 200), 999, 1000, 12_345):
        owners = Persons.of(["a"] * rows + ["b"], rows + 1, None, lenient=False)
        shares = owners.shares()
        assert shares[-1] == 1.0
        assert sum(map(Fraction, shares[:-1])) <= 1
        assert sum(map(Fraction, shares[:-1])) >= 1 - Fraction(1, 2**48)
        weighed = shares[:-1] * np.full(rows, 0.1)
        assert sum(map(Fraction, weighed)) <= Fraction(0.1)


def test_batches_draw_persons_whole() -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(30, size=200)
    X, y = ball(rng, 200, "random"), np.where(rng.random(200) < 0.5, -1, 1)
    records = sv.Records.from_arrays(X, y, labels=(-1, 1), groups=keys)
    held = sv.Risk(records, Logistic())
    people = [np.flatnonzero(keys == key) for key in dict.fromkeys(keys.tolist())]
    chosen = np.array([0, 4, 11, 29])
    drawn = held.subset(chosen)
    assert drawn.n == 4
    u = np.ones(DIM)
    alone = [sv.Risk(sv.Records.from_arrays(X[rows], y[rows], labels=(-1, 1)), Logistic()) for rows in people]
    due = np.mean([alone[person].gradient(u) for person in chosen], axis=0)
    np.testing.assert_allclose(drawn.gradient(u), due, atol=1e-12)


@pytest.mark.parametrize("missing", [None, float("nan"), "", "  ", [1], True, object()])
def test_a_missing_key_is_refused_or_counts_nothing_and_never_makes_a_person(missing: Any) -> None:
    X, y = np.eye(DIM), np.array([1, -1, 1, -1])
    keys = np.empty(4, dtype=object)
    keys[:] = ["a", missing, missing, "b"]
    with pytest.raises(sv.errors.DataError, match="count nothing") as refused:
        sv.Records.from_arrays(X, y, labels=(-1, 1), groups=keys)
    assert "a" not in str(refused.value).split("'")
    records = sv.Records.from_arrays(X, y, labels=(-1, 1), groups=keys, persons=2, invalid="zero")
    assert records.n == 2
    gram = sv.Risk(records, Logistic()).gram()
    np.testing.assert_allclose(np.diag(gram), [0.5, 0.0, 0.0, 0.5], atol=1e-6)


def test_keys_are_compared_as_text_one_by_one() -> None:
    spelled = [1, "1", 1.0, np.int64(1), " 1 ", b"1", np.float32(1.0)]
    assert read_keys(spelled, 7) == ["1"] * 7
    assert read_keys(np.array([1.0, 2.0, np.nan]), 3) == ["1", "2", None]
    assert len(set(read_keys(["caf\u00e9", "cafe\u0301"], 2))) == 1
    for wrong in (["a"], 7, None, np.eye(2)):
        with pytest.raises(sv.errors.DataError, match="one person's key"):
            read_keys(wrong, 2 if not isinstance(wrong, np.ndarray) else 3)


def test_a_key_is_the_same_whichever_type_another_row_gave_its_column() -> None:
    """One missing key makes a column of integers one of floats, one with a letter makes it text."""
    keys = [2**53 + 1, 2**53, 7, 10**18 + 1]
    alone = read_keys(np.array(keys), 4)
    assert read_keys(np.array([*map(float, keys), np.nan]), 5)[:4] == alone
    assert read_keys([*map(str, keys), "x"], 5)[:4] == alone
    assert read_keys([f"{key}.0" for key in keys], 4) == alone
    assert read_keys(["007", "7.0", " 7 ", "seven", "7a", "true"], 6) == [
        "7",
        "7",
        "7",
        "seven",
        "7a",
        "true",
    ]


def test_a_person_who_has_no_key_or_no_row_moves_the_value_no_further_than_it_is_charged() -> None:
    """Where persons are declared, one may be replaced by somebody who counts nothing."""
    X, y = np.eye(DIM), np.array([1, -1, 1, -1])
    sides = [
        sv.Risk(
            sv.Records.from_arrays(
                X, y, labels=(-1, 1), groups=[key, "b", "c", "d"], persons=4, invalid="zero"
            ),
            Logistic(),
        )
        for key in ("a", None)
    ]
    for u in (np.zeros(DIM), np.full(DIM, 2.0)):
        for relation in Relation:
            bound = replace(sides[0].bounds, relation=relation).value(u)
            assert abs(sides[0].value(u) - sides[1].value(u)) <= bound


def test_no_key_leaves_in_words_pickles_or_models(tmp_path: Any) -> None:
    secret = "patient-4711"
    X, y = np.eye(DIM), np.array([1, -1, 1, -1])
    records = sv.Records.from_arrays(X, y, labels=(-1, 1), groups=[secret, secret, "b", "c"])
    result = sv.minimize(sv.Risk(records, Logistic(), sv.regularizers.L2(1e-2)), budget=BUDGET)
    result.save(tmp_path / "run.json")
    said = [repr(records), repr(records.persons), str(result), (tmp_path / "run.json").read_text()]
    assert not any(secret in text for text in said)
    assert secret.encode() not in pickle.dumps(result)
    with pytest.raises(sv.errors.DataError, match="private"):
        pickle.dumps(records.persons)
    assert "all records of one person" in str(result.guarantee)
    assert result.guarantee.n == 3


def test_under_zero_out_persons_are_declared_not_counted() -> None:
    X, y = np.eye(DIM), np.array([1, -1, 1, -1])
    null_out = replace(BUDGET, relation=Relation.ZERO_OUT)
    counted = sv.Records.from_arrays(X, y, labels=(-1, 1), groups=["a", "a", "b", "c"])
    with pytest.raises(sv.errors.ParameterError, match="may not be counted"):
        sv.minimize(sv.Risk(counted, Logistic()), budget=null_out)
    declared = sv.Records.from_arrays(X, y, labels=(-1, 1), groups=["a", "a", "b", "c"], persons=5)
    result = sv.minimize(sv.Risk(declared, Logistic()), budget=null_out, simulate=0)
    assert (result.guarantee.n, result.guarantee.unit) == (5, "person")
    with pytest.raises(sv.errors.DataError, match="more persons than declared"):
        sv.Records.from_arrays(X, y, labels=(-1, 1), groups=["a", "d", "b", "c"], persons=3)
    with pytest.raises(sv.errors.ParameterError, match="pass groups"):
        sv.Records.from_arrays(X, y, labels=(-1, 1), persons=3)


def test_a_person_with_other_rows_and_another_number_of_them_leaves_the_noise_as_it_is() -> None:
    """Replay over neighbouring persons: the same released answers give byte-identical results."""
    results = []
    recorder = Recorder(SimulatedNoise(1))
    for mine in (ball(np.random.default_rng(1), 2, "alike"), ball(np.random.default_rng(2), 900, "random")):
        held = risk(mine, np.full(len(mine), -1))
        run = sv.Ledger(BUDGET).run(BUDGET)
        oracle = Oracle(held, run, recorder if not results else Replay(recorder.tape), entropy=os.urandom)
        asked = [
            oracle.gradient(np.ones(DIM), 2**40),
            oracle.gram(2**40),
            oracle.hessian(np.ones(DIM), 2**41),
        ]
        results.append([(answer.scale, answer.units, answer.value.tobytes()) for answer in asked])
        results[-1].append(repr(held.problem) + held.objective)
    assert results[0] == results[1]


class Replay:
    """Releases what was released before, whatever the exact answers."""

    simulated = True

    def __init__(self, tape: list[Any]) -> None:
        self._tape = iter(tape)

    def gaussian(self, exact: np.ndarray, calibration: Any) -> np.ndarray:
        return np.array(next(self._tape))


@pytest.mark.parametrize("persons", [None, 60])
def test_a_split_keeps_people_together_a_fixed_number_of_them(persons: int | None) -> None:
    """Whoever is there, and whatever their keys are; over 400 seeds each person is out a fifth of the time.

    80 of 400 with a standard deviation of 8: six of them are missed by none of 50 persons but for 1e-7."""
    out = np.zeros(50)
    for seed in range(400):
        keys = [f"{seed} {number % 50}" for number in range(400)]
        split = Split.of(400, 0.2, keys, persons, Relation.REPLACE_ONE, simulate=seed)
        sides = split.test.reshape(8, 50)
        assert (sides == sides[0]).all()
        assert split.held == (10 if persons is None else 12)
        if persons is None:
            assert sides[0].sum() == 10
        assert split.facts("", training=True)["persons"] == (None if persons is None else 48)
        out += sides[0]
    assert np.all(np.abs(out - 80.0) < 48.0)


def test_a_figure_counts_each_person_once_by_the_mean_of_their_rows() -> None:
    people = Persons.of(["a", "b", "a", "b", "b"], 5, None, lenient=False)
    whole = people.floored(np.array([0.2, 1.0, 0.4, 0.0, 0.5]), 1000)
    assert np.all(np.abs(whole - np.array([300.0, 500.0])) <= 1.0)
    cells = people.cells(np.array([0, 1, 1, 1, 1], dtype=np.intp), 2, 1000)
    assert np.all(np.abs(cells - np.array([500.0, 1500.0])) <= 2.0)
