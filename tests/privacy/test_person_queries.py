"""Every query an oracle answers, attacked by whole persons with 1 to 1,000 rows, under both relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import queries as asked
from sottovoce.accounting.relations import Relation
from sottovoce.losses import Logistic, PseudoHuber
from sottovoce.privacy.prices import _KNOWN
from tests.privacy.test_persons import ball

DIM, OTHERS, CLASSES = 3, 6, 3
ROWS = [1, 1000, *(pytest.param(rows, marks=pytest.mark.slow) for rows in (2, 3, 7, 49, 300))]
KINDS = ("alike", "opposite", "orthogonal", "zero", "random")
Made = Callable[[np.ndarray, np.ndarray], Any]


def grouped(mine: np.ndarray, signs: np.ndarray, **what: Any) -> sv.Records:
    """The rows of one person, none or some, among those of others, who have one, two or three."""
    rng = np.random.default_rng(7)
    counts = 1 + np.arange(OTHERS) % 3
    X = np.concatenate([mine, rng.normal(size=(int(counts.sum()), DIM)) / 2])
    y = np.concatenate([signs, rng.choice([-1, 1], int(counts.sum()))])
    keys = ["me"] * len(mine) + [f"other {number}" for number in np.repeat(np.arange(OTHERS), counts)]
    return sv.Records.from_arrays(X, y, groups=keys, persons=OTHERS + 1, **what)


RISKS: dict[str, Made] = {
    "classes": lambda X, y: sv.Risk(grouped(X, y, labels=(-1, 1)), Logistic(), sv.regularizers.L2(1e-3)),
    "numbers": lambda X, y: sv.Risk(grouped(X, y, target=(-1.0, 1.0)), PseudoHuber(0.5)),
    "several": lambda X, y: sv.SoftmaxRisk(grouped(X, y, labels=(-1, 1, 2)), sv.regularizers.L2(1e-3)),
}


def every(dim: int, reach: float, *, residual: bool) -> list[Any]:
    """One of each query, at weights of this length; residuals are counted of numbers, and changes
    of a gradient asked of single outputs."""
    w, step = reach * np.eye(dim)[0], np.full(dim, 0.2)
    return [
        *([asked.ResidualBands(w)] if residual else []),
        *([asked.GradientChange(w, step), asked.GradientChange(w, -30.0 * step)] if dim == DIM else []),
        asked.Gradient(w),
        asked.LimitedGradient(w, 0.3),
        asked.Hessian(w),
        asked.CurvatureProduct(w, np.eye(dim)[0]),
        asked.GradientNorm(w),
        asked.SmallestEigenvalue(w),
        asked.Value(w),
        asked.Gram(),
        asked.GramDiagonal(),
        asked.ColumnMeans(),
        asked.ColumnMoments(),
        asked.Trials(w, np.stack([step, -2.0 * step])),
        asked.Grid(w, step, 2.0, 0.5, 4),
        asked.ScoreMoment(w),
    ]


OF_MODULES = {asked.ClippedGradient, asked.GradientBands}
"""Attacked in tests/autodiff/test_clipped_queries.py."""


def test_no_query_is_left_out() -> None:
    """But the one that says nothing of persons, and those of PyTorch modules."""
    assert {type(query) for query in every(DIM, 1.0, residual=True)} == _KNOWN - {
        asked.Information,
        *OF_MODULES,
    }


@pytest.mark.parametrize("name", RISKS)
@pytest.mark.parametrize("rows", ROWS)
def test_no_person_moves_an_answer_past_what_is_charged_for_it(name: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    made = RISKS[name]
    null, other = made(np.zeros((0, DIM)), np.zeros(0)), made(-np.eye(DIM)[[0]], np.array([1]))
    for kind in KINDS:
        mine = made(narrow(rng, rows, kind), rng.choice([-1, 1], rows))
        for reach in (0.0, 3.0):
            for query in every(mine.dim, reach, residual=name == "numbers"):
                here = np.asarray(query.exact(mine))
                for neighbour, relation in ((null, Relation.ZERO_OUT), (other, Relation.REPLACE_ONE)):
                    moved = float(np.linalg.norm(here - np.asarray(query.exact(neighbour))))
                    bound = query.sensitivity(replace(mine.bounds, relation=relation))
                    assert moved <= bound, (type(query).__name__, kind, relation)


@pytest.mark.parametrize("rows", ROWS)
def test_the_bounds_of_every_tight_query_are_attained_by_a_person(rows: int) -> None:
    """All rows alike, against long weights, gone in the neighbour: to 1 %, whether one row or a thousand."""
    made = RISKS["classes"]
    null, mine = (
        made(np.zeros((0, DIM)), np.zeros(0)),
        made(np.tile(np.eye(DIM)[0], (rows, 1)), -np.ones(rows)),
    )
    w, zero = 60.0 * np.eye(DIM)[0], np.zeros(DIM)
    tight = [
        asked.Gradient(w),
        asked.GradientChange(zero, np.eye(DIM)[0] / 100),
        asked.LimitedGradient(w, 0.3),
        asked.Hessian(zero),
        asked.Value(w),
        asked.Gram(),
        asked.GramDiagonal(),
        asked.ColumnMeans(),
        asked.ColumnMoments(),
        asked.Trials(w, np.eye(DIM)[[0]] / 4),
        asked.Grid(w, np.eye(DIM)[0] / 4, 1.0, 0.5, 3),
        asked.ScoreMoment(w),
    ]
    for query in tight:
        moved = float(np.linalg.norm(np.asarray(query.exact(mine)) - np.asarray(query.exact(null))))
        bound = query.sensitivity(replace(mine.bounds, relation=Relation.ZERO_OUT))
        assert 0.99 * bound <= moved <= bound, type(query).__name__


def narrow(rng: np.random.Generator, rows: int, kind: str) -> np.ndarray:
    """Rows of the unit ball, in as many columns as here."""
    full = ball(rng, rows, kind)[:, :DIM]
    return np.asarray(full / np.maximum(1.0, np.linalg.norm(full, axis=1, keepdims=True)))


@pytest.mark.parametrize("rows", ROWS)
def test_counts_of_residuals_are_moved_by_a_person_as_far_as_by_a_record_and_no_further(rows: int) -> None:
    """Rows spread over all bands stay inside; rows all in one band attain sqrt2/n against those in another,
    and 1/n against nobody."""
    made, w = RISKS["numbers"], np.eye(DIM)[0]
    near, far = np.tile(w, (rows, 1)), np.tile(-w, (rows, 1))
    spread = np.outer(1.0 - 2.0 ** -np.arange(rows, dtype=float), w)
    query = asked.ResidualBands(w)
    null, here = made(np.zeros((0, DIM)), np.zeros(0)), made(near, np.ones(rows))
    others = {"far": made(far, np.ones(rows)), "spread": made(spread, np.ones(rows))}
    gaps = {
        name: float(np.linalg.norm(query.exact(here) - query.exact(other))) * (OTHERS + 1)
        for name, other in {**others, "null": null}.items()
    }
    assert gaps["far"] == pytest.approx(np.sqrt(2.0), rel=1e-9)
    assert gaps["null"] == pytest.approx(1.0, rel=1e-9)
    assert gaps["spread"] <= np.sqrt(2.0) * (1.0 + 1e-9)
