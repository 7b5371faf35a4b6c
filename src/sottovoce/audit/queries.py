"""Attack one query at a time, at two neighbours that move its answer as far as is charged for.

A whole run asks in places where no record is at its worst, so its audit proves less than it paid. Here each
query is asked once, with all of a budget, of two data sets that attain its sensitivity: the bound that
the attack proves comes within sampling error of the claim, and a formula that is too small by a tenth shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.relations import Relation
from sottovoce.audit.attack import Audit, audit_mechanism
from sottovoce.audit.canary import Observation, Tap
from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.losses import Logistic, PseudoHuber
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries import (
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
    Preconditioner,
    Query,
    ScoreMoment,
    SmallestEigenvalue,
    Trials,
    Value,
)
from sottovoce.regularizers import L2

FAR = 1e3
"""Targets reach this far, where the slope of a pseudo-Huber loss is 1 and its curvature 0."""

COMPANIONS = 3
"""Records besides the canary."""

Record = tuple[list[float], float]
AnyRisk = Risk | SoftmaxRisk
Make = Callable[[Record | None], AnyRisk]


@final
@dataclass(frozen=True)
class Family:
    """A query, the canary, what replaces it, and the risk over one data set.

    `make(record)` has that record among its companions; of None, the canary counts nothing. `alone` is the
    record that moves the answer the farthest when it is zeroed out, if that is another than `canary`."""

    query: Query[Any]
    canary: Record
    replacement: Record
    make: Make
    alone: Record | None = None
    preconditioner: Preconditioner | None = None

    def pair(self, relation: Relation) -> tuple[AnyRisk, AnyRisk]:
        if relation is Relation.REPLACE_ONE:
            return self.make(self.canary), self.make(self.replacement)
        counted = self.make(self.alone or self.canary)
        return counted, self.make(None)


def families() -> dict[str, Family]:
    """Every query that a Gaussian answers, by name."""
    zeros, right, left, up = np.zeros(2), [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]
    steep, opposite = (right, FAR), (left, FAR)
    curved, across, flat = (right, 0.0), (up, 0.0), (right, FAR)
    sure_and_wrong = ([1.0, -1e-3], 1.0), ([-1.0, -1e-3], 1.0)
    step = np.array([[0.01, 0.0]])
    # Rows (c, s) and (-s, -c) attain the joint price of means and squares; see bands.moments_distance.
    balance = 2.0
    total = 2.0 + 1.0 / balance
    c, s = (
        (math.sqrt(total) + math.sqrt(4.0 - total)) / 2.0,
        (math.sqrt(total) - math.sqrt(4.0 - total)) / 2.0,
    )
    wide = Preconditioner(scale=np.array([3.0, 3.0]), cap=1.5)
    return {
        "gradient": Family(Gradient(zeros), steep, opposite, _robust),
        "gradient of a logistic loss": Family(Gradient(zeros), (right, 1.0), (left, 1.0), _logistic),
        "gradient of softmax": Family(Gradient(np.zeros(6)), (right, 0.0), (left, 0.0), _softmax),
        "gradient in other coordinates": Family(
            Gradient(zeros), steep, opposite, _robust, preconditioner=wide
        ),
        "gradient change": Family(GradientChange(zeros, step[0]), curved, flat, _robust),
        "limited gradient": Family(LimitedGradient(zeros, 0.25), (right, 1.0), (left, 1.0), _logistic),
        "limited gradient far from zero": Family(
            LimitedGradient(np.array([0.0, 1e4]), 0.6), *sure_and_wrong, _logistic
        ),
        "gradient norm": Family(GradientNorm(zeros), steep, opposite, _robust_pulled),
        "Hessian": Family(Hessian(zeros), curved, across, _robust),
        "curvature product": Family(CurvatureProduct(zeros, np.array(right)), curved, flat, _robust),
        "smallest eigenvalue": Family(
            SmallestEigenvalue(np.zeros(1)), ([1.0], 0.0), ([1.0], FAR), _robust_in_one_column
        ),
        "value": Family(Value(zeros), steep, curved, _robust),
        "Gram": Family(Gram(), curved, across, _robust),
        "Gram diagonal": Family(GramDiagonal(), curved, across, _robust),
        "means": Family(ColumnMeans(), curved, (left, 0.0), _robust),
        "means and squares": Family(
            ColumnMoments(balance), ([c, s], 0.0), ([-s, -c], 0.0), _robust, alone=curved
        ),
        "trials": Family(Trials(zeros, step), steep, opposite, _robust),
        "grid of a line search": Family(Grid(zeros, np.array(right), 0.01, 0.5, 4), steep, opposite, _robust),
        "score moment": Family(ScoreMoment(zeros), steep, (up, FAR), _robust),
        "information": Family(Information(zeros), curved, across, _robust),
        "Hessian in other coordinates": Family(Hessian(zeros), curved, across, _robust, preconditioner=wide),
    }


def audit_query(
    name: str,
    budget: Budget,
    *,
    runs: int = 20_000,
    confidence: float = 0.999,
    noise_factor: float = 1.0,
    seed: int = 0,
) -> Audit:
    """Ask one query with all of `budget`, `runs` times, and bound what its answers told.

    The score is the log-likelihood ratio of the answer, exact answers over both data sets being known."""
    known = families()
    if name not in known:
        raise ParameterError(f"no such query: use one of {', '.join(known)}.")
    family = known[name]
    pair = family.pair(budget.relation)
    here, there = (asked(family, risk, budget, Tap.seeded(seed, 1.0)).exact for risk in pair)
    if here is None or there is None:
        raise ParameterError("only a query that a Gaussian answers is scored so.")
    towards = there - here

    def attack(second: bool, number: int) -> float:
        tap = Tap.seeded(2 * (seed + number) + second, noise_factor)
        return float(towards @ asked(family, pair[second], budget, tap).released)

    broken = "" if noise_factor == 1.0 else f", noise times {noise_factor:g}"
    return audit_mechanism(attack, budget, runs=runs, confidence=confidence, subject=f"{name}{broken}")


def asked(family: Family, risk: AnyRisk, budget: Budget, tap: Tap) -> Observation:
    """What is observed when the query is asked of a risk with all of a budget."""
    oracle = Oracle(risk, Ledger(budget).run(budget, "audit"), tap)
    asking = oracle if family.preconditioner is None else oracle.preconditioned(family.preconditioner)
    asking.ask(family.query, asking.units_left)
    (observed,) = tap.observed
    return observed


def _declared(record: Record | None, companions: list[Record]) -> tuple[np.ndarray[Any, Any], Any, Any]:
    """Rows, targets and what each counts; without a record, a row in its place that counts nothing."""
    first = companions[0] if record is None else record
    rows, targets = zip(first, *companions, strict=True)
    counts = np.array([float(record is not None)] + [1.0] * len(companions))
    return np.array(rows), np.array(targets), counts


def _robust(record: Record | None) -> Risk:
    """Pseudo-Huber risk; companions are rows of zeros."""
    return _residual(record, [([0.0, 0.0], 0.0)] * COMPANIONS)


def _robust_in_one_column(record: Record | None) -> Risk:
    return _residual(record, [([0.0], 0.0)] * COMPANIONS)


def _robust_pulled(record: Record | None) -> Risk:
    """Companions pull one way, so that the canary moves the norm of the gradient along itself."""
    return _residual(record, [([1.0, 0.0], FAR)] * COMPANIONS)


def _residual(record: Record | None, companions: list[Record]) -> Risk:
    rows, targets, counts = _declared(record, companions)
    records = Records.from_arrays(rows, targets, target=(-FAR, FAR), sample_weight=counts)
    return Risk(records, PseudoHuber(1.0), L2(1e-3))


def _logistic(record: Record | None) -> Risk:
    rows, targets, counts = _declared(record, [([0.0, 0.0], 1.0)] * COMPANIONS)
    records = Records.from_arrays(rows, targets, labels=(-1, 1), sample_weight=counts)
    return Risk(records, Logistic(), L2(1e-3))


def _softmax(record: Record | None) -> SoftmaxRisk:
    rows, targets, counts = _declared(record, [([0.0, 0.0], 1.0)] * COMPANIONS)
    records = Records.from_arrays(rows, targets.astype(int), labels=(0, 1, 2), sample_weight=counts)
    return SoftmaxRisk(records, L2(1e-3))
