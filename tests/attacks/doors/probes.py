"""Where the library is looked into: rows as held, exact answers as charged, methods that only look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.data.partitioned import Parts
from sottovoce.methods.base import Method
from sottovoce.results.certificate import Certificate
from sottovoce.results.result import Outcome
from tests.attacks.doors.engine import Answer

BUDGET = sv.Budget(1.0, 1e-5)
NOISE_SITES = ("sottovoce.training.noise_for", "sottovoce.privacy.counting.noise_for")


class Look(Method):
    """A method that asks one thing, keeps the risk, and goes to a point that no data decides."""

    name = "look"

    def __init__(self, ask: Callable[[Any], object] = lambda oracle: None) -> None:
        self._ask = ask
        self.risks: list[Any] = []

    def run(self, ask: Any, start: Any, goal: Any, watch: Any) -> Outcome:
        self.risks.append(ask._source._risk)
        self._ask(ask)
        return Outcome(
            weights=start + np.linspace(-1.0, 1.5, start.size),
            stop=sv.Stop.FINISHED,
            certificate=Certificate(gradient_norm_at_most=1.0, curvature_at_least=-1.0, confidence=0.9),
            trace=(),
            gradient=None,
            hessian=None,
            tests=1,
        )

    def __deepcopy__(self, memo: object) -> Look:
        return self


class Listener:
    """Noise of size zero that hears every exact answer with the movement it was charged for."""

    simulated = True

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}

    def _keep(self, exact: Any, sensitivity: float) -> None:
        self.answers[f"answer {len(self.answers)}"] = Answer(
            np.array(exact, dtype=np.float64), float(sensitivity)
        )

    def gaussian(self, exact: np.ndarray, calibration: Any) -> np.ndarray:
        self._keep(exact, calibration.exact_sensitivity)
        return np.zeros(calibration.entries)

    def first_above(self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float) -> None:
        for query in queries:
            self._keep(query, sensitivity)

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        return _Listening(self, sensitivity / 2.0)


class _Listening(int):
    """The number 0, which hears what it is added to."""

    def __new__(cls, listener: Listener, sensitivity: float) -> _Listening:
        made = super().__new__(cls)
        made.listener, made.sensitivity = listener, sensitivity  # type: ignore[attr-defined]
        return made

    def __radd__(self, other: int) -> int:
        self.listener._keep(other, self.sensitivity)  # type: ignore[attr-defined]
        return other


@contextmanager
def listening() -> Iterator[Listener]:
    """Every exact answer within, with the movement that was charged."""
    listener = Listener()
    sites = [mock.patch(site, return_value=listener) for site in NOISE_SITES]
    for site in sites:
        site.start()
    try:
        yield listener
    finally:
        for site in sites:
            site.stop()


def rows_of(records: sv.Records) -> dict[str, np.ndarray]:
    """Features, targets and, where records have them, weights, as held."""
    held = records._rows
    parts = (
        [part.rows for part in held._client.gather(list(held._held)) if part is not None]
        if isinstance(held, Parts)
        else [held]
    )
    blocks = [block for rows in parts for block in rows.read()]
    features = [_dense(block.features) for block in blocks]
    found = {"features": np.concatenate(features), "targets": np.concatenate([b.targets for b in blocks])}
    if blocks[0].weights is not None:
        found["weights"] = np.concatenate([b.weights for b in blocks])
    return found


def _dense(features: Any) -> np.ndarray:
    """Rows of a block as an array; of compact ones NumPy alone would see nothing."""
    if isinstance(features, np.ndarray):
        return np.array(features)
    return np.asarray(features.toarray() if sparse.issparse(features) else features[:])


def risk_of(records: sv.Records) -> Any:
    if records.target is not None:
        return sv.Risk(records, sv.losses.Cauchy(), sv.regularizers.L2(0.01))
    if records.labels is not None and len(records.labels) > 2:
        return sv.SoftmaxRisk(records, sv.regularizers.L2(0.01))
    return sv.Risk(records, sv.losses.Sigmoid(), sv.regularizers.Tukey(0.01))


def answers_of(
    risk: Any, at: np.ndarray | None = None, relation: Relation = Relation.REPLACE_ONE
) -> dict[str, Answer]:
    """The exact answers at public weights, each with its bound under this relation."""
    rng = np.random.default_rng(7)
    w, p = rng.normal(size=risk.dim), rng.normal(size=risk.dim)
    w = w if at is None else at
    unit, bounds = p / np.linalg.norm(p), replace(risk.bounds, relation=relation)
    steps = np.stack([p, 0.1 * p])
    lengths = np.linalg.norm(steps, axis=1)
    asked: dict[str, tuple[Any, float]] = {
        "value": (risk.value(w), bounds.value(w)),
        "gradient": (risk.gradient(w), bounds.gradient(w)),
        "gradient norm": (np.linalg.norm(risk.gradient(w)), bounds.gradient_norm(w)),
        "product": (risk.curvature_product(w, unit), bounds.curvature_product(w)),
        "trials": (risk.trials(w, steps) / lengths, bounds.trials(w, steps)),
        "difference": (risk.along(w, p).decrease(0.5), bounds.difference(w, 0.5 * p)),
    }
    if not risk.problem.matrix_free:
        asked["hessian"] = (risk.hessian(w), bounds.hessian(w))
        asked["eigenvalue"] = (risk.smallest_eigenvalue(w), bounds.smallest_eigenvalue(w))
    if not risk.problem.clipped:
        asked["scores"] = (risk.score_moment(w), bounds.score_moment(w))
        asked["gram"] = (risk.gram(), bounds.gram())
        asked["gram diagonal"] = (risk.gram_diagonal(), bounds.gram_diagonal())
    return {name: Answer(np.asarray(exact), sensitivity) for name, (exact, sensitivity) in asked.items()}
