"""For each bound on a query's movement an explicit pair of neighbours comes close: none could be smaller."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.records import Records
from sottovoce.losses import Kind, Logistic, Loss, Savage, Sigmoid
from sottovoce.models.linear import Risk
from sottovoce.privacy.sensitivity import sensitivity
from sottovoce.trusted import requests
from tests import charges
from tests.plain import (
    TARGET_REACH,
    QueryKind,
    arguments,
    mean_gradient,
    mean_hessian,
    mean_value,
    softmax_terms,
    target_reach,
)
from tests.strategies import ALL_LOSSES, LABELS, RESIDUAL_LOSSES

SLACK = 1.0 + 1e-9
TIGHT = 0.99


class Stage:
    """Weights and records that show a loss at a chosen argument t, whatever direction the record points in.

    Margin losses: weights so long that a tilt of t/||w|| sets the margin. For residual losses w = 0."""

    reach = 1e4

    def __init__(self, loss: Loss, dim: int = 4) -> None:
        self.loss = loss
        self.weights = np.zeros(dim)
        if loss.kind is Kind.MARGIN:
            self.weights[0] = self.reach

    @property
    def public(self) -> dict[str, float]:
        """What is known of three such records."""
        norm = float(np.linalg.norm(self.weights))
        reach = 0.0 if self.loss.kind is Kind.MARGIN else 1e6
        return {"weight_norm": norm, "radius": 1.0, "n": 3, "target_reach": reach}

    def record(self, t: float, direction: int, sign: float = 1.0) -> tuple[Vector, float]:
        x = np.zeros(len(self.weights))
        if self.loss.kind is Kind.RESIDUAL:
            x[direction] = sign
            return x, -t
        x[0] = t / self.reach
        x[direction] = sign * math.sqrt(1.0 - x[0] ** 2)
        return x, 1.0

    def move(
        self, query: QueryKind, one: tuple[Vector, float], other: tuple[Vector, float], n: int = 3
    ) -> float:
        """Movement when `one` is replaced by `other` among n records."""
        rest = [self.record(0.5, 2)] * (n - 1)
        sides = []
        for record in (one, other):
            rows, targets = zip(record, *rest, strict=True)
            sides.append(np.asarray(query(self.loss, np.array(rows), np.array(targets), self.weights)))
        return float(np.linalg.norm(sides[0] - sides[1]))

    def where(self, score: Callable[[Vector], Vector]) -> float:
        """The argument t at which a score of t is largest, on a fine grid."""
        t = np.concatenate([np.linspace(-40.0, 40.0, 80001), [-1e3, 1e3]])
        if self.loss.kind is Kind.RESIDUAL:
            t = np.concatenate([t, [-1e6, 1e6]])
        return float(t[np.argmax(score(t))])

    @property
    def steepest(self) -> float:
        return self.where(lambda t: np.abs(self.loss.first(t)))


@pytest.fixture(params=ALL_LOSSES, ids=repr)
def loss(request: pytest.FixtureRequest) -> Loss:
    return request.param


def test_opposite_records_at_the_steepest_point_attain_the_gradient_bound(loss):
    stage = Stage(loss)
    t = stage.steepest
    move = stage.move(mean_gradient, stage.record(t, 1), stage.record(t, 1, -1.0))
    bound = 2.0 * loss.slope / 3
    assert TIGHT * bound <= move <= bound * SLACK


def test_orthogonal_or_opposite_curvatures_attain_the_hessian_bound(loss):
    stage = Stage(loss)
    most, least = stage.where(loss.second), stage.where(lambda t: -loss.second(t))
    orthogonal = stage.move(mean_hessian, stage.record(most, 1), stage.record(most, 3))
    parallel = stage.move(mean_hessian, stage.record(most, 1), stage.record(least, 1))
    inverted = stage.move(mean_hessian, stage.record(least, 1), stage.record(least, 3))
    bound = charges.hessian_at(loss, **stage.public)
    assert TIGHT * bound <= max(orthogonal, parallel, inverted) <= bound * SLACK


def smallest_in_one_column(loss: Loss, X: Matrix, y: Vector, w: Vector) -> float:
    return float(np.linalg.eigvalsh(mean_hessian(loss, X, y, w))[0])


@pytest.mark.parametrize("loss", RESIDUAL_LOSSES, ids=repr)
def test_opposite_curvatures_attain_the_eigenvalue_bound(loss):
    stage = Stage(loss, dim=4)
    most, least = stage.where(loss.second), stage.where(lambda t: -loss.second(t))
    x = np.ones((3, 1))
    before, after = (
        smallest_in_one_column(loss, x, np.array([-t, 0.0, 0.0]), np.zeros(1)) for t in (most, least)
    )
    bound = charges.eigenvalue_at(loss, **stage.public)
    assert TIGHT * bound <= abs(before - after) <= bound * SLACK


@pytest.mark.parametrize(
    ("loss", "w", "pair"),
    [(Logistic(), 0.0, (1.0, 0.0)), (Sigmoid(), math.log(2 + math.sqrt(3)), (1.0, -1.0))],
    ids=["logistic", "sigmoid"],
)
def test_opposite_margins_attain_the_eigenvalue_bound(loss, w, pair):
    before, after = (
        smallest_in_one_column(loss, np.array([[x], [0.5]]), np.ones(2), np.array([w])) for x in pair
    )
    bound = charges.eigenvalue_at(loss, weight_norm=abs(w), radius=1.0, n=2)
    assert TIGHT * bound <= abs(before - after) <= bound * SLACK


def test_orthogonal_rows_attain_the_gram_bound():
    a, b = np.array([[2.0, 0.0], [0.3, 0.1]]), np.array([[0.0, 2.0], [0.3, 0.1]])
    facts = charges.facts(radius=2.0, n=2)
    move = float(np.linalg.norm(a.T @ a - b.T @ b)) / 2
    assert move == pytest.approx(sensitivity(requests.Gram(), facts, charges.REPLACE_ONE), rel=1e-9)
    diagonal = float(np.linalg.norm(np.diag(a.T @ a - b.T @ b))) / 2
    assert diagonal == pytest.approx(sensitivity(requests.Squares(), facts, charges.REPLACE_ONE), rel=1e-9)


def test_opposite_records_attain_every_bound_on_trial_values(loss):
    stage = Stage(loss)
    t = stage.steepest
    pair = stage.record(t, 1), stage.record(t, 1, -1.0)
    step = 1e-2 * np.eye(4)[1]
    scales = 0.7 ** np.arange(4)

    def decreases(loss, X, y, w):
        here = loss.value(arguments(loss, X, y, w))
        return np.array([(here - loss.value(arguments(loss, X, y, w + a * step))).mean() for a in scales])

    public = {"radius": 1.0, "n": 3}
    one = stage.move(lambda *query: decreases(*query)[0], *pair)
    bound = charges.line(loss, 1e-2, np.ones(1), **public)
    assert TIGHT * bound <= one <= bound * 1.0001

    grid = stage.move(decreases, *pair)
    bound = charges.line(loss, 1e-2, scales, **public)
    assert TIGHT * bound <= grid <= bound * 1.0001

    normalized = stage.move(lambda *query: decreases(*query) / (1e-2 * scales), *pair)
    bound = charges.drops(loss, scales[:, None] * step, **public)
    assert TIGHT * bound <= normalized <= bound * 1.0001


def test_extreme_records_attain_the_value_bound(loss):
    w = np.array([1.3, 0.0])
    far = np.array([2.0, 0.0])
    if loss.kind is Kind.MARGIN:
        sides = (np.array([far]), np.array([1.0])), (np.array([far]), np.array([-1.0]))
    else:
        sides = (np.array([far]), np.array([-TARGET_REACH])), (np.zeros((1, 2)), np.zeros(1))
    values = [mean_value(loss, X, y, w) for X, y in sides]
    bound = charges.value_at(loss, weight_norm=1.3, radius=2.0, n=1, target_reach=target_reach(loss))
    assert abs(values[0] - values[1]) == pytest.approx(bound, rel=1e-9)


def test_weighted_classes_attain_the_value_bound():
    loss, w = Logistic(), np.array([0.8])
    heavy = 5.0 * mean_value(loss, np.array([[-1.0]]), np.ones(1), w)
    light = 0.5 * mean_value(loss, np.array([[1.0]]), np.ones(1), w)
    bound = charges.value_at(loss, weight_norm=0.8, radius=1.0, n=1, weight=5.0, least_weight=0.5)
    assert heavy - light == pytest.approx(bound, rel=1e-9)


def test_softmax_records_attain_their_bounds():
    s = 1e4
    tilt = 40.0 / s
    long = math.sqrt(1.0 - tilt**2)
    W = np.zeros((3, 3))
    W[0, 0] = s
    one, _ = softmax_terms(W, np.array([tilt, long, 0.0]), 1)
    two, _ = softmax_terms(W, np.array([tilt, -long, 0.0]), 1)
    bound = charges.softmax_gradient(1e3, 3, radius=1.0, n=1)
    assert TIGHT * bound <= float(np.linalg.norm(one - two)) <= bound * SLACK

    W[0, 0], W[2, 0] = 0.0, -s
    _, one = softmax_terms(W, np.array([tilt, long, 0.0]), 0)
    _, two = softmax_terms(W, np.array([tilt, 0.0, long]), 0)
    bound = charges.softmax_hessian(radius=1.0, n=1)
    assert TIGHT * bound <= float(np.linalg.norm(one - two)) <= bound * SLACK
    bound = charges.softmax_eigenvalue(radius=1.0, n=1)
    assert TIGHT * bound <= float(np.linalg.eigvalsh(one)[-1]) <= bound * SLACK


@pytest.mark.parametrize("parallel", [True, False], ids=["parallel", "apart"])
def test_falls_of_a_softmax_along_several_steps_attain_what_is_charged(parallel):
    """Two records certain of a wrong class, that move the scores of that class and of their own."""
    far, classes, columns = 300.0, 3, 3
    W = np.zeros((classes, columns))
    W[0, 0] = far
    tilt = 30.0 / far
    one = np.array([[1.0, -1.0, 0.0]]).T * np.array([[0.0, 1.0, 0.0]]) / math.sqrt(2.0)
    two = one if parallel else np.array([[1.0, -1.0, 0.0]]).T * np.array([[0.0, 0.0, 1.0]]) / math.sqrt(2.0)
    steps = np.stack([one.ravel(), two.ravel()]) * 0.01
    bound = charges.softmax_drops(steps, classes, radius=1.0, n=1)
    across = np.array([0.0, 1.0, 0.0 if parallel else 1.0])
    long = math.sqrt(1.0 - tilt**2) * across / np.linalg.norm(across)
    rows = [np.array([tilt, *side[1:]]) for side in (long, -long)]

    def falls(x):
        def loss(weights):
            scores = weights @ x
            return np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[1]

        return np.array([(loss(W) - loss(W + step.reshape(classes, columns))) / 0.01 for step in steps])

    moved = float(np.linalg.norm(falls(rows[0]) - falls(rows[1])))
    assert 0.98 * bound <= moved <= bound * SLACK
    assert bound == pytest.approx(2.0 * math.sqrt(2.0) * (math.sqrt(2.0) if parallel else 1.0), rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_softmax_at_zero_weights_moves_less_and_attains_it(classes):
    W, x = np.zeros((classes, 2)), np.array([0.6, 0.8])
    move = float(np.linalg.norm(softmax_terms(W, x, 0)[0] - softmax_terms(W, -x, 0)[0]))
    bound = charges.softmax_gradient(0.0, classes, radius=1.0, n=1)
    assert move == pytest.approx(bound, rel=1e-9)
    assert bound == pytest.approx(2 * math.sqrt(1 - 1 / classes), rel=1e-9)


@pytest.mark.parametrize("loss", [Logistic(), Savage()], ids=repr)
def test_the_risk_attains_its_gradient_bound_at_zero_weights(loss):
    rows = np.tile([[0.2, 0.1]], (7, 1))
    sides = []
    for x in ([0.6, 0.8], [-0.6, -0.8]):
        rows[3] = x
        sides.append(Risk(Records.from_arrays(rows, np.ones(7), labels=LABELS), loss).gradient(np.zeros(2)))
    bound = charges.gradient_at(loss, weight_norm=0.0, radius=1.0, n=7)
    assert TIGHT * bound <= float(np.linalg.norm(sides[0] - sides[1])) <= bound
    assert bound <= 0.9 * 2.0 * loss.slope / 7
