"""Lies told outside the trusted base: none moves a released answer by more than was charged for.

What the oracle adds noise to is recorded on both sides of a pair of neighbours and compared with the
sensitivity of the event in the ledger. Records are tried at the corners and by climbing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Ledger
from sottovoce.accounting.events import Event, QueryKind, SubsampledGaussianEvent
from sottovoce.accounting.relations import Relation
from sottovoce.data.persons import Persons
from sottovoce.errors import LedgerError, ParameterError
from sottovoce.kernels.sums import LinearSums
from sottovoce.losses import Constants, Kind, Logistic, Loss
from sottovoce.models import softmax_bounds
from sottovoce.models.bounds import LinearBounds
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.models.softmax_bounds import SoftmaxBounds
from sottovoce.privacy.counting import Counted, CountOracle
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.privacy.sources import source_of
from sottovoce.problem import Calibration
from sottovoce.queries import (
    Backtrack,
    CurvatureProduct,
    Gradient,
    GradientChange,
    GradientNorm,
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
from sottovoce.queries import preconditioner as preconditioners
from sottovoce.trusted import requests
from sottovoce.trusted.bands import Band, Span
from tests.doubles import Recorder

DIM, RADIUS = 2, 1.5
BUDGET = sv.Budget(epsilon=5.0, delta=1e-6)
RELATIONS = ["replace-one", "zero-out"]
Row = tuple[np.ndarray, float, float]


def queries(w: np.ndarray) -> list[Query[Any]]:
    steps = np.array([[0.3, 0.1], [-0.2, 0.4]])
    return [
        Gradient(w),
        GradientChange(w, steps[0]),
        GradientChange(w, 20.0 * steps[1]),
        Hessian(w),
        Hessian(w, 0.05),
        Value(w),
        GradientNorm(w),
        SmallestEigenvalue(w),
        CurvatureProduct(w, steps[0]),
        ScoreMoment(w),
        Trials(w, steps),
        Grid(w, steps[0], 1.0, 0.5, 3),
    ]


def risk_over(loss: Loss, row: Row, preconditioner: Preconditioner | None = None) -> Any:
    """Three records, of which the first is the one that changes."""
    X = np.vstack([row[0], [[0.4, -0.2], [-1.0, 0.3]]])
    labels = [row[1], 1.0, -1.0]
    declared = {"labels": (-1.0, 1.0)} if loss.kind is Kind.MARGIN else {"target": (-1.0, 1.0)}
    weights = {"sample_weight": [row[2], 1.0, 1.0], "weight_cap": 1.0}
    records = sv.Records.from_arrays(X, labels, radius=RADIUS, **declared, **weights)
    risk = Risk(records, loss, sv.regularizers.L2(0.1))
    return risk if preconditioner is None else risk.preconditioned(preconditioner)


def asked(risk: Any, query: Query[Any], relation: str) -> tuple[np.ndarray, float]:
    """What noise was added to, and the sensitivity that was charged."""
    noise, budget = Recorder(SimulatedNoise(0)), replace(BUDGET, relation=Relation.of(relation))
    ledger = Ledger(budget)
    oracle = Oracle(risk, ledger.run(budget), noise)
    oracle.ask(query, oracle.units_left // 2)
    event: Event = ledger.history[-1].event
    return np.asarray(noise.exact[-1]), float(event.sensitivity)  # type: ignore[union-attr]


def worst(
    build: Callable[[Row], Any], query: Callable[[], Query[Any]], relation: str, w: np.ndarray
) -> float:
    """Largest movement over charge: corners of the ball along and across the weights, then a climb."""
    rng = np.random.default_rng(0)
    along = w / max(1e-9, float(np.linalg.norm(w)))
    across = np.array([-along[1], along[0]])
    corners = [s * RADIUS * v for s in (1.0, -1.0) for v in (along, across, (along + 3.0 * across) / 10**0.5)]
    held = [(x, y, 1.0) for x in corners for y in (-1.0, 1.0)]
    answers = [asked(build(row), query(), relation) for row in held]
    gone = [asked(build((x, y, 0.0)), query(), relation) for x, y, _ in held]

    def gap(one: Any, other: Any) -> float:
        return float(np.linalg.norm(one[0] - other[0])) / one[1]

    if relation == "zero-out":
        return max(gap(one, other) for one, other in zip(answers, gone, strict=True))
    best, pair = max(
        ((gap(a, b), (i, j)) for i, a in enumerate(answers) for j, b in enumerate(answers)),
        key=lambda found: found[0],
    )
    rows = [held[i] for i in pair]
    for step in range(12):
        moved = [(x + rng.normal(size=DIM) * 0.5 * 0.8**step, y, q) for x, y, q in rows]
        now = gap(*(asked(build(row), query(), relation) for row in moved))
        if now > best:
            best, rows = now, moved
    return best


def require_harmless(
    build: Callable[[Row], Any],
    relation: str,
    scale: float = 2.0,
    asked_of: Callable[[np.ndarray], list[Query[Any]]] = queries,
) -> None:
    w = np.array([0.8, 0.6]) * scale
    for number, query in enumerate(asked_of(w)):
        ratio = worst(build, lambda number=number: asked_of(w)[number], relation, w)
        assert ratio <= 1.0, (type(query).__name__, ratio)


def softmax_over(row: Row) -> SoftmaxRisk:
    """As `risk_over`, with three labels."""
    X = np.vstack([row[0], [[0.4, -0.2], [-1.0, 0.3]]])
    labels = [0 if row[1] < 0.0 else 2, 1, 2]
    weights = {"sample_weight": [row[2], 1.0, 1.0], "weight_cap": 1.0}
    records = sv.Records.from_arrays(X, labels, radius=RADIUS, labels=(0, 1, 2), **weights)
    return SoftmaxRisk(records, sv.regularizers.L2(0.1))


def class_queries(w: np.ndarray) -> list[Query[Any]]:
    """At weights that tell the first class from the others."""
    W = np.stack([w, -w, 0.3 * w[::-1]]).ravel()
    steps = np.array([[0.3, 0.1, -0.2, 0.4, 0.1, 0.0], [0.0, 0.2, 0.3, 0.0, -0.5, 0.1]])
    return [
        Gradient(W),
        LimitedGradient(W, 0.4),
        Hessian(W),
        Value(W),
        GradientNorm(W),
        SmallestEigenvalue(W),
        CurvatureProduct(W, steps[0]),
        ScoreMoment(W),
        Information(W),
        Trials(W, steps),
        Grid(W, steps[0], 1.0, 0.5, 3),
    ]


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_softmax_moves_nothing_past_what_its_limits_are_charged_for(relation: str) -> None:
    require_harmless(softmax_over, relation, asked_of=class_queries)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_softmax_that_lies_about_its_slope_is_harmless(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It states a twentieth of its slope and a hundredth of its loss: contributions are cut to that."""
    honest = softmax_over((np.ones(2), 1.0, 1.0)).bounds.vector_sum(np.ones(6)).limit
    monkeypatch.setattr(SoftmaxBounds, "_longest", lambda self, w: honest / 20.0)
    monkeypatch.setattr(softmax_bounds, "SLOPE", honest / 20.0)
    monkeypatch.setattr(SoftmaxBounds, "number_sum", lambda self, w: requests.ClassNumber(w, Span(0.0, 0.01)))
    require_harmless(softmax_over, relation, asked_of=class_queries)


def test_numbers_of_a_softmax_request_that_mean_nothing_are_refused() -> None:
    sums, w = softmax_over((np.ones(2), 1.0, 1.0)).sums, np.ones(6)
    for asked in (
        requests.ClassVector(w, math.nan),
        requests.ClassVector(w, math.inf),
        requests.ClassVector(w, -1.0),
        requests.ClassScores(w, math.nan),
        requests.Norm(requests.ClassVector(w, math.nan), w),
        requests.ClassNumber(w, Span(1.0, 0.0)),
        requests.ClassSteps(math.nan, w, np.ones((1, 6)), np.ones(1)),
        requests.ClassSteps(1.0, w, np.ones((1, 6)), np.zeros(1)),
        requests.ClassLine(-1.0, w, w, np.ones(1)),
    ):
        with pytest.raises(ParameterError):
            sums.sensitivity(asked, Relation.REPLACE_ONE)


def arc_tangent(t: float, y: float) -> tuple[float, float, float]:
    return t * math.atan(t) - 0.5 * math.log1p(t * t), math.atan(t), 1.0 / (1.0 + t * t)


@dataclass(frozen=True)
class Liar(Loss):
    """States a slope of a third, a curvature of a tenth and a ceiling of a hundredth of the true ones."""

    name = "liar"
    kind = Kind.RESIDUAL
    unit = Constants(slope=0.5, curvature_low=0.0, curvature_high=0.1, third=0.1, bend=1.0, ceiling=0.01)
    scalar = staticmethod(arc_tangent)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_loss_that_lies_about_its_constants_is_charged_for_what_it_can_do(relation: str) -> None:
    require_harmless(lambda row: risk_over(Liar(), row), relation)


def test_the_lie_about_the_slope_costs_accuracy() -> None:
    """Differences are cut to the slope stated: the answer is wrong, which is the liar's own loss."""
    true = np.arctan(np.linspace(-3.0, 3.0, 7))
    risk = risk_over(Liar(), (np.array([1.0, 0.0]), -1.0, 1.0))
    drop = risk.trials(np.zeros(2), np.array([[-2.0, 0.0]]))[0]
    assert abs(drop) <= 0.5 * 2.0 * RADIUS < abs(true).max() * 2.0 * RADIUS


def jumping(t: float, y: float) -> tuple[float, float, float]:
    far = 1e200 if t > 0.0 else -1e200
    return far, far * t, far


def swapped(t: float, y: float) -> tuple[float, float, float]:
    return -t, t * t, math.log(t)


def infinite(t: float, y: float) -> tuple[float, float, float]:
    return 1.0 / t, t / 0.0, 1.0 / (t - t)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("scalar", [jumping, swapped, infinite])
def test_laws_gone_wild_move_nothing_past_the_charge(scalar: Any, relation: str) -> None:
    wild = type("Wild", (Loss,), {"name": "wild", "kind": Kind.MARGIN, "unit": Logistic.unit})
    wild.scalar = staticmethod(scalar)
    require_harmless(lambda row: risk_over(wild(), row), relation)


def test_a_loss_that_mixes_rows_is_refused_before_anything_is_charged() -> None:
    def divides_by_the_largest(t, y):
        return np.log1p(np.exp(-t)) / np.max(np.abs(t)), -t / np.max(np.abs(t)), np.ones_like(t)

    class Mixing(Loss):
        name, kind, unit = "mixing", Kind.MARGIN, Logistic.unit
        scalar = staticmethod(divides_by_the_largest)

    ledger = Ledger(BUDGET)

    def ask() -> None:
        risk = risk_over(Mixing(), (np.ones(2), 1.0, 1.0))
        Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0)).gradient(np.ones(2), 100)

    with pytest.raises(ParameterError, match="law"):
        ask()
    assert not ledger.history


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_preconditioner_with_a_wrong_norm_is_measured_again(relation: str) -> None:
    """Numbers that a preconditioner derives from its coordinates are planted: they are computed anew."""

    def lying() -> Preconditioner:
        preconditioner = Preconditioner(
            scale=np.array([3.0, 0.5]), cap=1.0, turn=np.array([[1.0, 2.0], [-1.0, 0.5]])
        )
        preconditioner.__dict__.update(norm=1e-3, stretch=1e-3, matrix=np.eye(2) * 1e-3)
        return preconditioner

    require_harmless(lambda row: risk_over(Logistic(), row, lying()), relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_shrinkage_with_a_wrong_norm_is_measured_again(relation: str) -> None:
    """As long a row as the shrinkage says would have no influence."""

    def lying() -> Preconditioner:
        shrinkage = preconditioners.LowRankShrinkage(np.array([[1.0], [-0.5]]), np.array([0.5]))
        preconditioner = Preconditioner(scale=np.array([3.0, 0.5]), cap=100.0, shrinkage=shrinkage)
        assert preconditioner.shrinkage is not None
        preconditioner.shrinkage.__dict__.update(norm=1e-3, stretch=1e-3)
        return preconditioner

    require_harmless(lambda row: risk_over(Logistic(), row, lying()), relation)


def test_a_preconditioner_of_another_kind_is_refused() -> None:
    class Shorter(preconditioners.Preconditioner):  # type: ignore[misc]
        def to_coordinates(self, gradient: np.ndarray) -> np.ndarray:
            return 0.1 * super().to_coordinates(gradient)

    with pytest.raises(ParameterError, match="Preconditioner"):
        risk_over(Logistic(), (np.ones(2), 1.0, 1.0), Shorter(scale=np.ones(2), cap=1.0))


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_query_that_states_a_wrong_sensitivity_is_not_asked_for_it(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for query in queries(np.ones(2)):
        monkeypatch.setattr(type(query), "sensitivity", lambda self, bounds: 1e-9)
    require_harmless(lambda row: risk_over(Logistic(), row), relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_query_that_proposes_wrong_bands_is_charged_for_what_they_let_through(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    middle = rng.normal(size=7)
    wrong = Band(-0.7, 1.1, middle - 0.1, middle + rng.exponential(0.3, 7))

    monkeypatch.setattr(
        LinearBounds, "vector_sum", lambda self, w: requests.VectorSum(self.loss.law, wrong, w)
    )
    monkeypatch.setattr(
        LinearBounds,
        "matrix_sum",
        lambda self, w: requests.MatrixSum(self.loss.law, Span(-0.4, 0.1), w),
    )

    def change(self: LinearBounds, w: np.ndarray, step: np.ndarray) -> requests.VectorChange:
        """Along a short step too narrow a span is what holds, along a long one too low a limit."""
        short = float(np.linalg.norm(step)) < 1.0
        span, limit = (Span(-0.002, 0.01), 1.0) if short else (Span(-0.4, 0.1), 0.05)
        return requests.VectorChange(self.loss.law, span, limit, w, step)

    monkeypatch.setattr(LinearBounds, "vector_change", change)
    monkeypatch.setattr(LinearBounds, "_steepest", 1e-3)
    require_harmless(lambda row: risk_over(Logistic(), row), relation)


class Doubled:
    """A risk that answers twice what it should and states a tenth of what it moves."""

    def __init__(self, risk: Risk) -> None:
        self._risk = risk

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._risk, name)
        if name in ("gradient", "hessian", "value", "trials", "score_moment", "smallest_eigenvalue"):
            return lambda *given: 2.0 * found(*given)
        return found

    @property
    def bounds(self) -> LinearBounds:
        honest = self._risk.bounds
        smaller = replace(honest.problem, radius=0.1 * RADIUS, n=1000, label_reach=0.0)
        return replace(honest, problem=smaller, arithmetic=replace(honest.arithmetic, radius=0.0, n=10**6))


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_risk_that_returns_twice_the_gradient_is_not_asked_for_it(relation: str) -> None:
    require_harmless(lambda row: Doubled(risk_over(Logistic(), row)), relation)


def test_a_published_charge_is_never_below_the_bands_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks may raise a charge, and never lower it."""
    risk, w = risk_over(Logistic(), (np.ones(2), 1.0, 1.0)), np.ones(2)
    charged = []
    for stated in (1e-9, 7.0):
        monkeypatch.setattr(Gradient, "sensitivity", lambda self, bounds, stated=stated: stated)
        source = source_of(risk, Calibration.PUBLISHED, Relation.REPLACE_ONE)
        charged.append(source.sensitivity(Gradient(w), source.request(Gradient(w))))
    assert charged == [risk.sums.sensitivity(risk.bounds.vector_sum(w), Relation.REPLACE_ONE), 7.0]


def test_a_line_is_searched_no_further_than_was_charged_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that proposes a shorter line than is searched pays for the shorter one, and is shown that."""
    honest = LinearBounds.line_drops
    shorter_line = lambda self, w, p, lengths: honest(self, w, p, 0.01 * lengths)  # noqa: E731
    monkeypatch.setattr(LinearBounds, "line_drops", shorter_line)
    query = Backtrack(np.zeros(2), np.ones(2), np.array([4.0, 1.0]), np.zeros(2))
    ends = [risk_over(Logistic(), (np.ones(2), label, 1.0)) for label in (1.0, -1.0)]
    sources = [source_of(risk, Calibration.TIGHT, Relation.REPLACE_ONE) for risk in ends]
    (charged, here), (_, there) = (source.comparisons(query) for source in sources)
    assert max(abs(a - b) for a, b in zip(here, there, strict=True)) <= charged


def test_an_answer_longer_than_was_charged_for_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gradient, "entries", lambda self, problem: 1)
    ledger, noise = Ledger(BUDGET), Recorder(SimulatedNoise(0))
    oracle = Oracle(risk_over(Logistic(), (np.ones(2), 1.0, 1.0)), ledger.run(BUDGET), noise)
    with pytest.raises(LedgerError, match="length"):
        oracle.gradient(np.ones(2), 100)
    assert not noise.tape


def test_sums_of_another_maker_are_refused() -> None:
    with pytest.raises(TypeError, match="no others"):

        class Own(requests.Sums):
            pass

    class NoSums:
        bounds = risk_over(Logistic(), (np.ones(2), 1.0, 1.0)).bounds

    ledger = Ledger(BUDGET)
    with pytest.raises(ParameterError, match="oracle"):
        Oracle(NoSums(), ledger.run(BUDGET), SimulatedNoise(0))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Records"):
        LinearSums(object())  # type: ignore[arg-type]


def test_a_value_cannot_be_charged_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a value costs under replacement says nothing of zero-out, so the ledger must know it for one."""
    risk, ledger = risk_over(Logistic(), (np.ones(2), 1.0, 1.0)), Ledger(BUDGET)
    oracle = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
    oracle.ask(Value(np.zeros(2)), 100)
    monkeypatch.setattr(Value, "kind", QueryKind.GRADIENT)
    with pytest.raises(LedgerError, match="value"):
        oracle.ask(Value(np.zeros(2)), 100)
    assert len(ledger.history) == 1


def grouped(persons: int | None) -> Risk:
    X = np.ones((6, 2))
    y = np.array([1, -1, 1, 1, -1, 1])
    groups = None if persons == 0 else ["a", "a", "b", "b", "c", "c"]
    return Risk(
        sv.Records.from_arrays(X, y, labels=(-1, 1), radius=RADIUS, groups=groups, persons=persons or None),
        Logistic(),
    )


def test_no_ledger_promises_what_the_sums_do_not_keep() -> None:
    """Records are not persons, and persons who were counted cannot be zeroed out."""
    zero_out = sv.Budget(5.0, 1e-6, "zero-out")
    for persons, unit, budget, kept in (
        (0, "person", BUDGET, False),
        (0, "record", BUDGET, True),
        (None, "person", BUDGET, True),
        (None, "person", zero_out, False),
        (3, "person", zero_out, True),
    ):
        run = Ledger(budget, unit=unit).run(budget, unit=unit)
        if kept:
            Oracle(grouped(persons), run, SimulatedNoise(0))
            continue
        with pytest.raises(LedgerError):
            Oracle(grouped(persons), run, SimulatedNoise(0))


def test_batches_are_priced_and_drawn_from_as_many_records_as_there_are() -> None:
    """A model that states a thousand records gets no batch out of a thousand charged."""
    ledger = Ledger(BUDGET, currency="renyi", order=32.0)
    risk: Any = Doubled(risk_over(Logistic(), (np.ones(2), 1.0, 1.0)))
    batches = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0)).batched(1)
    assert batches.problem.n == 1000
    batches.ask(Gradient(np.zeros(2)), batches.units_left // 2)
    (grant,) = ledger.history
    assert isinstance(grant.event, SubsampledGaussianEvent)
    assert grant.event.population == risk.n


def test_what_is_charged_for_is_what_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that goes on writing into its arrays after the charge changes nothing of what was proposed."""
    honest = Trials.entries

    def entries(self: Trials, problem: Any) -> int:
        """Asked for after the sensitivity: short steps become long ones."""
        np.multiply(self.steps, 1e3, out=self.steps)
        return honest(self, problem)

    monkeypatch.setattr(Trials, "entries", entries)
    steps = np.array([[0.3, 0.1], [-0.2, 0.4]])
    for relation in RELATIONS:
        require_harmless(
            lambda row: risk_over(Logistic(), row), relation, asked_of=lambda w: [Trials(w, steps.copy())]
        )


NARROW = {
    "a limit": lambda law, number: requests.VectorChange(
        law, Span(-9.0, 9.0), number, np.zeros(2), np.array([0.0, 9.0])
    ),
    "a steepness": lambda law, number: requests.LineDrops(
        law, number, np.zeros(2), np.array([0.0, 4.0]), np.ones(1)
    ),
}


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("shape", NARROW)
def test_a_number_of_few_bits_is_charged_for_in_many(shape: str, kind: Any) -> None:
    """Half precision keeps eleven bits: charged for in them, a record moved a drop by 1.0005 times that."""
    ends = [risk_over(Logistic(), (np.array([0.0, RADIUS]), label, 1.0)).sums for label in (1.0, -1.0)]
    for number in np.linspace(0.1, 0.2, 25).astype(kind):
        request = NARROW[shape](Logistic().law, number)
        moved = np.linalg.norm(np.atleast_1d(ends[0].answer(request) - ends[1].answer(request)))
        assert moved <= ends[0].sensitivity(request, Relation.REPLACE_ONE), number


@pytest.mark.parametrize("steps", [np.array([[-128, -128]], np.int8), np.array([[-(2**63)] * 2], np.int64)])
def test_a_whole_number_without_an_opposite_has_a_length(steps: Any) -> None:
    """|-128| is -128 in eight bits."""
    ends = [risk_over(Logistic(), (np.array([0.0, RADIUS]), label, 1.0)).sums for label in (1.0, -1.0)]
    request = requests.LineDrops(Logistic().law, 1.0, np.zeros(2), steps[0], np.ones(1))
    assert abs(ends[0].answer(request) - ends[1].answer(request)) <= ends[0].sensitivity(
        request, Relation.REPLACE_ONE
    )


def test_steps_without_a_divisor_each_are_refused() -> None:
    """One step of four classes over two divisors was bounded as a matrix that it is not, sqrt2 too low."""
    W, law, two = np.zeros(6), Logistic().law, np.ones(2)
    softmax = softmax_over((np.ones(2), 1.0, 1.0)).sums
    linear = risk_over(Logistic(), (np.ones(2), 1.0, 1.0)).sums
    for sums, request in (
        (softmax, requests.ClassSteps(0.1, W, np.ones((1, 6)), two)),
        (softmax, requests.ClassSteps(0.1, W, np.ones((2, 6)), np.ones(1))),
        (linear, requests.StepDrops(law, 0.1, W[:2], np.ones((1, 2)), two)),
    ):
        with pytest.raises(ParameterError, match="each step"):
            sums.sensitivity(request, Relation.REPLACE_ONE)


def test_edges_that_do_not_fall_are_refused() -> None:
    """A binary search goes on from where the number before it was found: among edges out of order a record
    then decides what is found for others. Replacing one moved shares by 2.6 times what was charged."""
    sums = risk_over(Liar(), (np.ones(2), 1.0, 1.0)).sums
    for edges in ([0.5, 1.0], [1.0, 0.2, 0.5], [math.nan], [1.0, math.inf]):
        with pytest.raises(ParameterError):
            sums.sensitivity(
                requests.ResidualShares(Liar().law, np.ones(2), np.array(edges)), Relation.REPLACE_ONE
            )


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_band_that_says_it_is_lower_than_it_is_is_measured(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = LinearBounds.score_sum

    def lying(self: LinearBounds, w: np.ndarray) -> requests.ScoreSum:
        request = honest(self, w)
        request.band.__dict__["largest"] = 1e-6
        return request

    monkeypatch.setattr(LinearBounds, "score_sum", lying)
    require_harmless(
        lambda row: risk_over(Logistic(), row), relation, asked_of=lambda w: [ScoreMoment(w), GradientNorm(w)]
    )


def test_requests_of_another_maker_and_parts_of_another_kind_are_refused() -> None:
    with pytest.raises(TypeError, match="no others"):

        class Own(requests.Request):
            pass

    w, law, honest = np.zeros(2), Logistic().law, risk_over(Logistic(), (np.ones(2), 1.0, 1.0))
    band, sums = honest.bounds.vector_sum(w).band, honest.sums
    with pytest.raises(ParameterError, match="Band"):
        requests.VectorSum(law, Span(0.0, 1.0), w)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Law"):
        requests.VectorSum(math.atan, band, w)  # type: ignore[arg-type]
    matrix = np.zeros((2, 2))
    for request in (
        requests.Norm(requests.ScoreSum(law, band, w), w),
        requests.SmallestEigenvalue(requests.InformationSum(law, Span(0.0, 1.0), w), matrix),
        requests.Product(requests.Gram(), w),
    ):
        with pytest.raises(ParameterError, match="read off"):
            sums.sensitivity(request, Relation.REPLACE_ONE)


def test_sums_that_only_say_what_a_batch_costs_answer_no_oracle() -> None:
    """They state the size of a batch that was not drawn: a million records, where there are three."""
    honest = risk_over(Logistic(), (np.ones(2), 1.0, 1.0))

    class OfBatch:
        bounds, sums = honest.bounds, honest.sums.batch(10**6, 1)

    with pytest.raises(ParameterError, match="oracle"):
        Oracle(OfBatch(), Ledger(BUDGET).run(BUDGET), SimulatedNoise(0))  # type: ignore[arg-type]


def test_a_large_penalty_rounds_no_record_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a penalty, or a requirement, of 2^50 a float knows quarters alone: what a record adds would be
    rounded up to more than was charged for it."""
    ends = [
        risk_over(sv.losses.PseudoHuber(0.1), (np.array([x, 0.0]), y, 1.0))
        for x in (-RADIUS, 0.0, RADIUS)
        for y in (-1.0, 0.1, 1.0)
    ]
    for power in range(46, 56):
        size = np.array([2.0**power])
        query = Backtrack(np.zeros(2), np.array([0.5, 0.0]), np.array([1.0]), size)
        monkeypatch.setattr(type(ends[0].problem), "penalty_decrease", lambda self, w, p, size=size: size)
        seen = [source_of(end, Calibration.TIGHT, Relation.REPLACE_ONE).comparisons(query) for end in ends]
        found = [next(compared) for _, compared in seen]
        assert float(max(found) - min(found)) <= seen[0][0], power


def _figures(oracle: CountOracle, counted: Counted) -> list[Callable[[], Any]]:
    units, ones, cells = oracle.run.share(5), np.ones(6), np.zeros(6, dtype=np.intp)
    return [
        lambda: oracle.total(counted, lambda: ones, 1, units),
        lambda: oracle.cells(counted, lambda: cells, 2, units),
        lambda: oracle.pairs(counted, lambda: ones, cells, units),
        lambda: oracle.best(counted, lambda: [ones], units),
    ]


def test_no_count_promises_what_is_not_kept() -> None:
    """Rows are not persons, and persons who were counted cannot be zeroed out, whoever asks for a figure."""
    keys, zero_out = np.repeat([0, 1, 2], 2), sv.Budget(5.0, 1e-6, "zero-out")
    counted = Persons.of(keys, 6, None, lenient=False)
    declared = Persons.of(keys, 6, 4, lenient=False)
    for persons, unit, budget, kept in (
        (None, "person", BUDGET, False),
        (None, "record", BUDGET, True),
        (counted, "person", BUDGET, True),
        (counted, "person", zero_out, False),
        (declared, "person", zero_out, True),
    ):
        ledger = Ledger(budget, unit=unit)
        with CountOracle.open(budget, "figures", ledger, 0, unit=unit) as oracle:
            for ask in _figures(oracle, Counted(6, persons)):
                if kept:
                    ask()
                    continue
                with pytest.raises(LedgerError):
                    ask()
        assert bool(ledger.history) == kept
