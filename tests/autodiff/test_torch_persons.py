"""Persons in a TorchRisk: whatever examples stand under one key, answers move no further than by one."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.relations import Relation

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.autodiff import models  # noqa: E402

DIM, OTHERS = 3, 9
ROWS = [40, *(pytest.param(rows, marks=pytest.mark.slow) for rows in (1, 2, 3, 7, 1000))]
BUDGET = sv.Budget(4.0, 1e-5)


def risk(mine: np.ndarray, labels: np.ndarray, persons: int | None = None, **more: Any) -> Any:
    """`mine` are the examples of one person among others, who have one to four each."""
    rng = np.random.default_rng(5)
    counts = 1 + np.arange(OTHERS) % 4
    X = np.concatenate([mine, rng.standard_normal((int(counts.sum()), DIM))])
    y = np.concatenate([labels, rng.choice([-1.0, 1.0], int(counts.sum()))])
    keys = ["me"] * len(mine) + [f"other {number}" for number in np.repeat(np.arange(OTHERS), counts)]
    given: dict[str, Any] = {"gradient_clip": 0.5, "curvature_clip": 0.25, **more}
    return sv.autodiff.TorchRisk(
        models.Linear(DIM),
        models.logistic,
        (X, y),
        groups=keys,
        persons=persons,
        **given,
    )


def answers(held: Any, w: np.ndarray, p: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "gradient": held.gradient(w),
        "hessian": held.hessian(w),
        "product": held.curvature_product(w, p / np.linalg.norm(p)),
        "eigenvalue": np.array([held.smallest_eigenvalue(w)]),
        "value": np.array([held.value(w)]),
        "difference": np.array([held.along(w, p).decrease(1.0)]),
    }


def bounds(held: Any, relation: Relation, w: np.ndarray, p: np.ndarray) -> dict[str, float]:
    known = replace(held.bounds, relation=relation)
    return {
        "gradient": known.gradient(w),
        "hessian": known.hessian(w),
        "product": known.curvature_product(w),
        "eigenvalue": known.smallest_eigenvalue(w),
        "value": known.value(w),
        "difference": known.difference(w, p),
    }


def moves(one: Any, two: Any, w: np.ndarray, p: np.ndarray) -> dict[str, float]:
    before, after = answers(one, w, p), answers(two, w, p)
    return {name: float(np.linalg.norm(before[name] - after[name])) for name in before}


def drawn(rng: np.random.Generator, rows: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    long = {"alike": 1e3, "opposite": 1e3, "zero": 0.0, "broken": np.nan, "random": 1.0}[kind]
    X = long * (rng.standard_normal((rows, DIM)) if kind == "random" else np.tile(np.eye(DIM)[0], (rows, 1)))
    return X, np.where(np.arange(rows) % 2, -1.0, 1.0) if kind == "opposite" else np.full(rows, -1.0)


@pytest.mark.parametrize("rows", ROWS)
def test_no_person_moves_an_answer_past_the_bound_of_one_example(rows: int) -> None:
    rng = np.random.default_rng(rows)
    w, p = np.array([0.4, -0.2, 0.1]), np.array([0.3, 0.0, 0.4])
    null = risk(np.zeros((0, DIM)), np.zeros(0), persons=OTHERS + 1)
    other = risk(*drawn(rng, 3, "opposite"), persons=OTHERS + 1)
    for kind in ("alike", "opposite", "zero", "broken", "random"):
        mine = risk(*drawn(rng, rows, kind), persons=OTHERS + 1)
        assert mine.n == null.n == OTHERS + 1
        for neighbour, relation in ((null, Relation.ZERO_OUT), (other, Relation.REPLACE_ONE)):
            for name, move in moves(mine, neighbour, w, p).items():
                assert move <= bounds(mine, relation, w, p)[name], (name, kind, relation)


@pytest.mark.parametrize("rows", ROWS)
def test_a_person_whose_examples_agree_attains_the_bounds(rows: int) -> None:
    w, p = np.zeros(DIM), 0.01 * np.eye(DIM)[0]
    X, y = drawn(np.random.default_rng(0), rows, "alike")
    null = risk(np.zeros((0, DIM)), np.zeros(0), persons=OTHERS + 1)
    mine, turned = (risk(X, sign * y, persons=OTHERS + 1) for sign in (1.0, -1.0))
    assert moves(mine, turned, w, p)["gradient"] >= 0.99 * mine.bounds.gradient(w)
    assert moves(mine, turned, w, p)["difference"] >= 0.99 * mine.bounds.difference(w, p)
    due = bounds(mine, Relation.ZERO_OUT, w, p)
    for name, move in moves(mine, null, w, p).items():
        if name in ("gradient", "hessian", "difference"):
            assert move >= 0.99 * due[name], name


def test_persons_are_means_over_their_examples_and_batches_draw_them_whole() -> None:
    rng = np.random.default_rng(1)
    keys = rng.integers(7, size=40)
    X, y = rng.standard_normal((40, DIM)), rng.choice([-1.0, 1.0], 40)
    given = {"gradient_clip": 0.5, "curvature_clip": 0.25}
    module = models.Linear(DIM)
    held = sv.autodiff.TorchRisk(module, models.logistic, (X, y), groups=keys, **given)
    people = [np.flatnonzero(keys == key) for key in dict.fromkeys(keys.tolist())]
    alone = [sv.autodiff.TorchRisk(module, models.logistic, (X[rows], y[rows]), **given) for rows in people]
    w, p = rng.standard_normal(DIM), rng.standard_normal(DIM)
    chosen = np.array([0, 3, 4, 6])
    batch = held.subset(chosen, n=10)
    for name, found in answers(held, w, p).items():
        if name != "eigenvalue":
            due = np.mean([answers(person, w, p)[name] for person in alone], axis=0)
            np.testing.assert_allclose(found, due, atol=1e-12, err_msg=name)
            part = sum(answers(alone[person], w, p)[name] for person in chosen) / 10
            np.testing.assert_allclose(answers(batch, w, p)[name], part, atol=1e-12, err_msg=name)
    assert held.mean_loss(w) == pytest.approx(np.mean([person.mean_loss(w) for person in alone]))


def test_another_number_of_examples_moves_nobody_else_in_a_call() -> None:
    """An example's place in a call, and the length of calls, follow from its person's slot and rows alone."""

    def placed(rows: int) -> set[tuple[float, int, int]]:
        held = risk(np.zeros((rows, DIM)), np.full(rows, 1.0), persons=OTHERS + 4).sums._examples
        seen = set()
        for call in held.pieces(64, OTHERS + 4):
            for place in np.flatnonzero(call.shares.numpy()):
                if float(call.inputs[place].abs().sum()):
                    seen.add((float(call.inputs[place, 0]), int(place), len(call.inputs)))
        return seen

    one = placed(60)
    assert len(one) == sum(1 + number % 4 for number in range(OTHERS))
    assert one == placed(1) == placed(200) == placed(1000)


def test_runs_promise_to_persons_under_both_relations_and_keep_their_keys() -> None:
    rng = np.random.default_rng(2)
    keys = np.array([f"patient-{number}" for number in rng.integers(100, size=300)], dtype=object)
    X = rng.standard_normal((300, DIM))
    y = np.where(X @ np.ones(DIM) > 0, 1.0, -1.0)
    given = {"gradient_clip": 0.5, "curvature_clip": 0.25, "groups": keys}
    counted = sv.autodiff.TorchRisk(models.Linear(DIM), models.logistic, (X, y), **given)
    declared = sv.autodiff.TorchRisk(models.Linear(DIM), models.logistic, (X, y), persons=120, **given)
    zero_out = replace(BUDGET, relation=Relation.ZERO_OUT)
    with pytest.raises(sv.errors.ParameterError, match="may not be counted"):
        sv.minimize(counted, budget=zero_out, method="descent-b")
    method = replace(sv.methods.by_name("descent-b"), steps=12)
    for held, budget in ((counted, BUDGET), (declared, zero_out)):
        result = sv.minimize(held, budget=budget, method=method)
        assert (result.guarantee.unit, result.guarantee.n) == ("person", held.n)
        assert "all records of one person" in str(result)
        said = (str(result), repr(held), repr(held.sums._examples), held.objective)
        assert not any("patient-" in text for text in said)
        assert b"patient-" not in pickle.dumps(result)
    with pytest.raises(sv.errors.DataError, match="private"):
        pickle.dumps(declared.sums._examples)


def test_a_missing_key_is_refused_or_counts_nothing() -> None:
    X, y = np.eye(DIM), np.ones(DIM)
    given = {"gradient_clip": 5.0, "curvature_clip": 5.0, "groups": ["a", None, "a"]}
    with pytest.raises(sv.errors.DataError, match="count nothing"):
        sv.autodiff.TorchRisk(models.Linear(DIM), models.logistic, (X, y), **given)
    held = sv.autodiff.TorchRisk(
        models.Linear(DIM), models.logistic, (X, y), invalid="zero", persons=1, **given
    )
    assert held.n == 1
    np.testing.assert_allclose(held.gradient(np.zeros(DIM)), [-0.25, 0.0, -0.25], atol=1e-8)
    with pytest.raises(sv.errors.ParameterError, match="pass groups"):
        sv.autodiff.TorchRisk(
            models.Linear(DIM), models.logistic, (X, y), gradient_clip=1.0, curvature_clip=1.0, persons=3
        )
