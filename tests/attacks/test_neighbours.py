"""Neighbours found by climbing: no pair of records, weights, coordinates and points passes any charge.

Random pairs are far from the worst. Here a search starts at hostile pairs and climbs in everything that an
adversary or a method may choose: both records with label and weight, the preconditioner, the point asked
about, steps, balance, limit on slopes. What it climbs is movement over charge, query by query."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from sottovoce.accounting.relations import Relation
from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.losses import Kind, Logistic, PseudoHuber, Sigmoid, SoftplusHinge
from sottovoce.losses.weighted import ClassWeighted
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.privacy.sources import source_of
from sottovoce.problem import Calibration
from sottovoce.queries import (
    Backtrack,
    ColumnMeans,
    ColumnMoments,
    CurvatureProduct,
    Gradient,
    GradientChange,
    GradientNorm,
    Gram,
    GramDiagonal,
    Grid,
    Hessian,
    Information,
    LimitedGradient,
    LowRankShrinkage,
    Preconditioner,
    ScoreMoment,
    SmallestEigenvalue,
    Trials,
    Value,
)

COLUMNS, RADIUS, CAP = 3, 2.0, 2.5
TARGET = (-1.0, 3.0)
LOSSES: dict[str, Any] = {
    "logistic": Logistic(),
    "hinge": SoftplusHinge(3.0),
    "class weights": ClassWeighted(Logistic(), 0.5, 3.0),
    "sigmoid": Sigmoid(),
    "residual": PseudoHuber(0.5),
    "softmax": None,
}
KINDS = (None, "scaled", "centred", "turned", "flattened")


@dataclass(frozen=True)
class Choice:
    """Two records, each (row, label, weight), what else is the same for both, and where it is asked."""

    records: tuple[tuple[Any, float, float], tuple[Any, float, float]]
    preconditioner: Preconditioner | None
    u: Any
    steps: Any
    balance: float
    limit: float

    def query(self, name: str, problem: Any) -> Any:
        u, step = self.u, self.steps[0]
        return {
            "gradient": lambda: Gradient(u),
            "gradient change": lambda: GradientChange(u, step),
            "limited gradient": lambda: LimitedGradient(u, self.limit * problem.slope),
            "gradient norm": lambda: GradientNorm(u),
            "hessian": lambda: Hessian(u),
            "cut hessian": lambda: Hessian(u, self.limit * problem.curvature_high),
            "curvature product": lambda: CurvatureProduct(u, step),
            "eigenvalue": lambda: SmallestEigenvalue(u),
            "gram": Gram,
            "gram diagonal": GramDiagonal,
            "means": ColumnMeans,
            "moments": lambda: ColumnMoments(self.balance),
            "grouped moments": lambda: ColumnMoments(self.balance, np.array([0, 0, 1])),
            "score moment": lambda: ScoreMoment(u),
            "information": lambda: Information(u),
            "trials": lambda: Trials(u, self.steps),
            "grid": lambda: Grid(u, step, 1.0, self.limit, 4),
            "line search": lambda: Backtrack(u, step, np.array([1.0, self.limit]), np.zeros(2)),
            "value": lambda: Value(u),
        }[name]()


NAMES = (
    *(
        "gradient",
        "gradient change",
        "limited gradient",
        "gradient norm",
        "hessian",
        "cut hessian",
        "curvature product",
        "eigenvalue",
    ),
    *("gram", "gram diagonal", "means", "moments", "grouped moments", "score moment", "information"),
    *("trials", "grid", "line search", "value"),
)


def decoded(genes: Any, loss: str, kind: str | None) -> Choice:
    """A choice from numbers of any size: lengths, labels and weights reach the edges of what is allowed."""
    outputs = 3 if loss == "softmax" else 1
    sizes = [2 * COLUMNS, 2, 2, 2, 2 * COLUMNS, COLUMNS**2, outputs * COLUMNS, 2 * outputs * COLUMNS, 6]
    rows, lengths, marks, counts, shape, turn, u, steps, single = np.split(genes, np.cumsum(sizes))[:9]
    rows = _unit(rows.reshape(2, -1)) * RADIUS * np.minimum(1.0, np.exp(lengths))[:, None]
    if loss == "softmax":
        labels = np.clip(np.rint(marks + 1.0), 0, 2)
    elif LOSSES[loss].kind is Kind.RESIDUAL:
        labels = np.clip(1.0 + 3.0 * marks, *TARGET)
    else:
        labels = np.where(marks > 0.0, 1.0, -1.0)
    weights = CAP * np.clip(0.5 + counts, 0.0, 1.0)
    shift = np.append(shape[COLUMNS:-1], 0.0)
    preconditioner = Preconditioner(
        scale=np.exp(shape[:COLUMNS]),
        cap=math.exp(single[0]),
        ceiling=1.0 + abs(single[5]),
        shift=shift if kind in ("centred", "turned", "flattened") else None,
        constant=COLUMNS - 1,
        turn=turn.reshape(COLUMNS, COLUMNS) if kind == "turned" else None,
        shrinkage=_shrinkage(turn) if kind == "flattened" else None,
    )
    return Choice(
        records=((rows[0], labels[0], weights[0]), (rows[1], labels[1], weights[1])),
        preconditioner=None if kind is None else preconditioner,
        u=_unit(u[None])[0] * math.exp(2.0 * single[1] - 1.0),
        steps=_unit(steps.reshape(2, -1)) * math.exp(single[2]),
        balance=math.exp(single[3]),
        limit=max(0.01, 0.99 / (1.0 + math.exp(-2.0 * single[4]))),
    )


def _shrinkage(turn: Any) -> LowRankShrinkage:
    """Two directions of length 1 that need not be at right angles."""
    return LowRankShrinkage(
        _unit(turn[: 2 * COLUMNS].reshape(2, COLUMNS)).T, np.clip(0.5 + turn[-2:], 0.01, 1.0)
    )


def _unit(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _risk(loss: str, one: tuple[Any, float, float], preconditioner: Preconditioner | None) -> Any:
    """The record and one along each axis, which eigenvalues and norms need to move at all."""
    X = np.vstack([one[0], RADIUS * np.eye(COLUMNS)])
    y, q = np.append(one[1], [1.0] * COLUMNS), np.append(one[2], [CAP] * COLUMNS)
    declared: dict[str, Any] = {"labels": (-1, 1)}
    if loss == "softmax":
        declared = {"labels": (0, 1, 2)}
    elif LOSSES[loss].kind is Kind.RESIDUAL:
        declared = {"target": TARGET}
    records = Records.from_arrays(X, y, radius=RADIUS, sample_weight=q, weight_cap=CAP, **declared)
    risk = SoftmaxRisk(records) if loss == "softmax" else Risk(records, LOSSES[loss])
    return risk if preconditioner is None else risk.preconditioned(preconditioner)


def moved(name: str, loss: str, relation: Relation, kind: str | None, genes: Any) -> float:
    """Movement over charge; 0 where the query is refused."""
    choice = decoded(genes, loss, kind)
    here, there = choice.records
    if relation is Relation.ZERO_OUT:
        here, there = (*here[:2], CAP), (*here[:2], 0.0)
    one, two = (_risk(loss, record, choice.preconditioner) for record in (here, there))
    try:
        query = choice.query(name, one.problem).admitted(one.problem)
    except ParameterError:
        return 0.0
    if name == "line search":
        sources = [source_of(risk, Calibration.TIGHT, relation) for risk in (one, two)]
        (charged, here), (_, there) = (source.comparisons(query) for source in sources)
        return max(abs(a - b) for a, b in zip(here, there, strict=True)) / charged
    answers = [query.exact(risk) for risk in (one, two)]
    gap = float(np.linalg.norm(np.asarray(answers[0]) - np.asarray(answers[1])))
    return gap / query.sensitivity(replace(one.bounds, relation=relation))


def climbed(name: str, loss: str, relation: Relation, kind: str | None, seed: int, steps: int) -> float:
    rng = np.random.default_rng(seed)
    genes = rng.normal(size=80)
    first, second = np.eye(COLUMNS)[:2]
    genes[: 2 * COLUMNS] = np.concatenate([first, [-first, second, first][seed % 3]])
    genes[2 * COLUMNS : 2 * COLUMNS + 6] = [1.0, 1.0, 1.0, -1.0, 1.0, 1.0]
    best, size = moved(name, loss, relation, kind, genes), 0.7
    for _ in range(steps):
        changed = rng.random(genes.size) < rng.choice([0.1, 0.4])
        other = genes + size * rng.normal(size=genes.size) * changed
        found = moved(name, loss, relation, kind, other)
        if found > best:
            genes, best, size = other, found, min(1.5, 1.3 * size)
        else:
            size = max(0.02, 0.97 * size)
    return best


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("loss", list(LOSSES))
def test_no_neighbour_that_climbing_finds_moves_an_answer_past_its_charge(
    loss: str, relation: Relation
) -> None:
    for place, name in enumerate(NAMES):
        kind = KINDS[(place + len(loss)) % len(KINDS)]
        assert climbed(name, loss, relation, kind, place, 6) <= 1.0, (name, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("loss", list(LOSSES))
def test_long_climbs_find_none_either(loss: str, relation: Relation, kind: str | None) -> None:
    for seed, name in enumerate(NAMES):
        assert climbed(name, loss, relation, kind, seed, 150) <= 1.0, name
