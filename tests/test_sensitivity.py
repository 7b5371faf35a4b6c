"""No pair of neighbours moves a query past its bound, and for each bound some pair comes close to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from sottovoce import diameter, sensitivity
from sottovoce.arrays import Matrix, Vector
from sottovoce.diameter import contribution_diameter
from sottovoce.errors import ParameterError
from sottovoce.losses import Kind, Logistic, Loss, Savage, Sigmoid
from sottovoce.records import Records
from sottovoce.regularizers import Tukey
from sottovoce.risk import Risk
from sottovoce.rounding import Arithmetic
from tests.strategies import (
    ALL_LOSSES,
    LABELS,
    MARGIN_LOSSES,
    RESIDUAL_LOSSES,
    TARGET,
    Neighbours,
    attack,
    neighbours,
)

SLACK = 1.0 + 1e-9
TIGHT = 0.99
SEEDS = st.integers(0, 2**32 - 1)
TARGET_REACH = max(map(abs, TARGET))

Query = Callable[[Loss, Matrix, Vector, Vector], "Vector | float"]


def arguments(loss: Loss, X: Matrix, y: Vector, w: Vector) -> Vector:
    return y * (X @ w) if loss.kind is Kind.MARGIN else X @ w - y


def mean_value(loss: Loss, X: Matrix, y: Vector, w: Vector) -> float:
    return float(loss.value(arguments(loss, X, y, w)).mean())


def mean_gradient(loss: Loss, X: Matrix, y: Vector, w: Vector) -> Vector:
    factors = loss.first(arguments(loss, X, y, w))
    return X.T @ (factors * y if loss.kind is Kind.MARGIN else factors) / len(y)


def mean_hessian(loss: Loss, X: Matrix, y: Vector, w: Vector) -> Matrix:
    return X.T @ (loss.second(arguments(loss, X, y, w))[:, None] * X) / len(y)


def moved(query: Query, loss: Loss, case: Neighbours) -> float:
    """Distance between the query's answers on the two data sets."""
    before, after = (np.asarray(query(loss, X, y, case.weights)) for X, y in case.sides)
    return float(np.linalg.norm(before - after))


def target_reach(loss: Loss) -> float:
    return 0.0 if loss.kind is Kind.MARGIN else TARGET_REACH


def curvatures(loss: Loss) -> dict[str, float]:
    return {"curvature_low": loss.curvature_low, "curvature_high": loss.curvature_high}


class Stage:
    """Weights and records that show a loss at a chosen argument t, whatever direction the record points in.

    Margin losses: weights so long that a tilt of t/||w|| sets the margin. For residual losses w = 0."""

    reach = 1e4

    def __init__(self, loss: Loss, dim: int = 4) -> None:
        self.loss = loss
        self.weights = np.zeros(dim)
        if loss.kind is Kind.MARGIN:
            self.weights[0] = self.reach

    def record(self, t: float, direction: int, sign: float = 1.0) -> tuple[Vector, float]:
        x = np.zeros(len(self.weights))
        if self.loss.kind is Kind.RESIDUAL:
            x[direction] = sign
            return x, -t
        x[0] = t / self.reach
        x[direction] = sign * math.sqrt(1.0 - x[0] ** 2)
        return x, 1.0

    def move(self, query: Query, one: tuple[Vector, float], other: tuple[Vector, float], n: int = 3) -> float:
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


@pytest.fixture(params=MARGIN_LOSSES, ids=repr)
def margin_loss(request: pytest.FixtureRequest) -> Loss:
    return request.param


# --- attacks: no pair moves a query past its bound ---


@attack
@given(st.data())
def test_no_pair_moves_the_gradient_past_either_of_its_bounds(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    move = moved(mean_gradient, loss, case)
    anywhere = sensitivity.gradient(slope=loss.slope, radius=case.radius, n=case.n)
    here = sensitivity.gradient_at(
        loss,
        weight_norm=case.weight_norm,
        radius=case.radius,
        n=case.n,
        target_reach=target_reach(loss),
    )
    assert move <= here * SLACK
    assert here <= anywhere * (1 + 1e-14)


@attack
@given(st.data())
def test_no_pair_moves_the_gradient_norm_past_its_bound(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    move = moved(lambda *query: float(np.linalg.norm(mean_gradient(*query))), loss, case)
    assert move <= sensitivity.gradient_norm(slope=loss.slope, radius=case.radius, n=case.n) * SLACK


@attack
@given(st.data())
def test_no_pair_of_weighted_classes_moves_the_gradient_past_its_bound(data):
    loss = data.draw(st.sampled_from(MARGIN_LOSSES))
    case = data.draw(neighbours())
    heavy, light = 3.0, data.draw(st.floats(0.0, 3.0))

    def weighted(loss, X, y, w):
        factors = np.where(y > 0, heavy, light) * y * loss.first(arguments(loss, X, y, w))
        return X.T @ factors / len(y)

    bound = sensitivity.gradient_at(
        loss, weight_norm=case.weight_norm, radius=case.radius, n=case.n, weight=heavy
    )
    assert moved(weighted, loss, case) <= bound * SLACK


@attack
@given(st.data())
def test_no_pair_moves_the_hessian_or_its_smallest_eigenvalue_past_its_bound(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    public = {**curvatures(loss), "radius": case.radius, "n": case.n}
    assert moved(mean_hessian, loss, case) <= sensitivity.hessian(**public) * SLACK

    def smallest(*query):
        return float(np.linalg.eigvalsh(mean_hessian(*query))[0])

    assert moved(smallest, loss, case) <= sensitivity.smallest_eigenvalue(**public) * SLACK + 1e-15


@attack
@given(neighbours())
def test_no_pair_moves_the_gram_matrix_or_its_diagonal_past_its_bound(case):
    def gram(loss, X, y, w):
        return X.T @ X / len(y)

    assert moved(gram, Logistic(), case) <= sensitivity.gram(radius=case.radius, n=case.n) * SLACK
    diagonal = moved(lambda *query: np.diag(gram(*query)), Logistic(), case)
    assert diagonal <= sensitivity.gram_diagonal(radius=case.radius, n=case.n) * SLACK


@attack
@given(st.data())
def test_no_pair_moves_a_value_or_a_difference_of_values_past_its_bound(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    steps = np.random.default_rng(data.draw(SEEDS)).normal(size=(3, case.weights.size))
    steps *= 10.0 ** data.draw(st.floats(-2.0, 3.0))
    lengths = np.linalg.norm(steps, axis=1)
    public = {"slope": loss.slope, "radius": case.radius, "n": case.n}
    # Losses as large as |t| are subtracted: their own rounding, which `rounding` answers for, is let through.
    reach = case.radius * (case.weight_norm + lengths.max()) + target_reach(loss)
    dust = 1e-13 * loss.value_within(reach)

    def decreases(loss, X, y, w):
        here = loss.value(arguments(loss, X, y, w))
        return np.array([(here - loss.value(arguments(loss, X, y, w + p))).mean() for p in steps])

    one = moved(lambda *query: decreases(*query)[0], loss, case)
    assert one <= sensitivity.value_difference(**public, step_norm=lengths[0]) * SLACK + dust

    each = moved(lambda *query: np.abs(decreases(*query)).max(), loss, case)
    assert each <= sensitivity.above_threshold(**public, step_norms=list(lengths)) * SLACK + dust

    normalized = moved(lambda *query: decreases(*query) / lengths, loss, case)
    allowed = sensitivity.normalized_trials(**public, count=3)
    assert normalized <= allowed * SLACK + dust / lengths.min()

    value = sensitivity.value_at(
        loss, weight_norm=case.weight_norm, radius=case.radius, n=case.n, target_reach=target_reach(loss)
    )
    assert moved(mean_value, loss, case) <= value * SLACK + dust


@attack
@given(st.data())
def test_no_pair_moves_a_grid_of_trial_values_past_its_bound(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    longest = data.draw(st.floats(0.1, 20.0))
    shrink = data.draw(st.floats(0.1, 0.95))
    count = data.draw(st.integers(1, 8))
    direction = np.random.default_rng(data.draw(SEEDS)).normal(size=case.weights.size)
    norm = float(np.linalg.norm(direction))

    def grid(loss, X, y, w):
        lengths = longest * shrink ** np.arange(count)
        here = loss.value(arguments(loss, X, y, w))
        return np.array(
            [(here - loss.value(arguments(loss, X, y, w + a * direction))).mean() for a in lengths]
        )

    bound = sensitivity.trial_grid(
        slope=loss.slope,
        radius=case.radius,
        n=case.n,
        direction_norm=norm,
        longest=longest,
        shrink=shrink,
        count=count,
    )
    dust = 1e-13 * loss.value_within(case.radius * (case.weight_norm + longest * norm) + target_reach(loss))
    assert moved(grid, loss, case) <= bound * SLACK + dust
    every = 2 * longest * loss.slope * case.radius * norm / case.n / math.sqrt(1 - shrink**2)
    assert bound <= every * SLACK


def softmax_terms(W: Matrix, x: Vector, label: int) -> tuple[Matrix, Matrix]:
    """Gradient and Hessian of one record's softmax loss."""
    p = softmax(W @ x)
    hessian = np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
    return np.outer(p - np.eye(len(W))[label], x), hessian


@attack
@given(neighbours(), st.integers(2, 6), st.floats(-2.0, 3.0), SEEDS)
def test_no_pair_moves_a_softmax_query_past_its_bound(case, classes, power, seed):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(classes, case.weights.size)) * 10.0**power
    W[0] += case.weights
    spread = max(float(np.linalg.norm(a - b)) for a in W for b in W)
    (x, _), (z, _) = case.pair
    one = softmax_terms(W, x, int(rng.integers(classes)))
    two = softmax_terms(W, z, int(rng.integers(classes)))
    public = {"radius": case.radius, "n": case.n}
    gradient = float(np.linalg.norm(one[0] - two[0])) / case.n
    at = sensitivity.softmax_gradient_at(spread=spread, classes=classes, **public)
    assert gradient <= at * SLACK
    assert at <= sensitivity.softmax_gradient(**public)
    frobenius = float(np.linalg.norm(one[1] - two[1])) / case.n
    assert frobenius <= sensitivity.softmax_hessian(**public) * SLACK
    spectral = float(np.linalg.norm(one[1] - two[1], 2)) / case.n
    assert spectral <= sensitivity.softmax_eigenvalue(**public) * SLACK


# --- the bounds are tight: an explicit pair nearly attains each of them ---


def test_opposite_records_at_the_steepest_point_attain_the_gradient_bound(loss):
    stage = Stage(loss)
    t = stage.steepest
    move = stage.move(mean_gradient, stage.record(t, 1), stage.record(t, 1, -1.0))
    bound = sensitivity.gradient(slope=loss.slope, radius=1.0, n=3)
    assert TIGHT * bound <= move <= bound * SLACK


def test_orthogonal_or_opposite_curvatures_attain_the_hessian_bound(loss):
    stage = Stage(loss)
    most, least = stage.where(loss.second), stage.where(lambda t: -loss.second(t))
    orthogonal = stage.move(mean_hessian, stage.record(most, 1), stage.record(most, 3))
    parallel = stage.move(mean_hessian, stage.record(most, 1), stage.record(least, 1))
    inverted = stage.move(mean_hessian, stage.record(least, 1), stage.record(least, 3))
    bound = sensitivity.hessian(**curvatures(loss), radius=1.0, n=3)
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
    bound = sensitivity.smallest_eigenvalue(**curvatures(loss), radius=1.0, n=3)
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
    bound = sensitivity.smallest_eigenvalue(**curvatures(loss), radius=1.0, n=2)
    assert TIGHT * bound <= abs(before - after) <= bound * SLACK


def test_orthogonal_rows_attain_the_gram_bound():
    a, b = np.array([[2.0, 0.0], [0.3, 0.1]]), np.array([[0.0, 2.0], [0.3, 0.1]])
    move = float(np.linalg.norm(a.T @ a - b.T @ b)) / 2
    assert move == pytest.approx(sensitivity.gram(radius=2.0, n=2), rel=1e-9)
    diagonal = float(np.linalg.norm(np.diag(a.T @ a - b.T @ b))) / 2
    assert diagonal == pytest.approx(sensitivity.gram_diagonal(radius=2.0, n=2), rel=1e-9)


def test_opposite_records_attain_every_bound_on_trial_values(loss):
    stage = Stage(loss)
    t = stage.steepest
    pair = stage.record(t, 1), stage.record(t, 1, -1.0)
    step = 1e-2 * np.eye(4)[1]
    scales = 0.7 ** np.arange(4)

    def decreases(loss, X, y, w):
        here = loss.value(arguments(loss, X, y, w))
        return np.array([(here - loss.value(arguments(loss, X, y, w + a * step))).mean() for a in scales])

    public = {"slope": loss.slope, "radius": 1.0, "n": 3}
    one = stage.move(lambda *query: decreases(*query)[0], *pair)
    bound = sensitivity.value_difference(**public, step_norm=1e-2)
    assert TIGHT * bound <= one <= bound * 1.0001
    assert sensitivity.above_threshold(**public, step_norms=[1e-3, 1e-2, 5e-3]) == bound

    grid = stage.move(decreases, *pair)
    bound = sensitivity.trial_grid(**public, direction_norm=1.0, longest=1e-2, shrink=0.7, count=4)
    assert TIGHT * bound <= grid <= bound * 1.0001

    normalized = stage.move(lambda *query: decreases(*query) / (1e-2 * scales), *pair)
    bound = sensitivity.normalized_trials(**public, count=4)
    assert TIGHT * bound <= normalized <= bound * 1.0001


def test_extreme_records_attain_the_value_bound(loss):
    w = np.array([1.3, 0.0])
    far = np.array([2.0, 0.0])
    if loss.kind is Kind.MARGIN:
        sides = (np.array([far]), np.array([1.0])), (np.array([far]), np.array([-1.0]))
    else:
        sides = (np.array([far]), np.array([-TARGET_REACH])), (np.zeros((1, 2)), np.zeros(1))
    values = [mean_value(loss, X, y, w) for X, y in sides]
    bound = sensitivity.value_at(loss, weight_norm=1.3, radius=2.0, n=1, target_reach=target_reach(loss))
    assert abs(values[0] - values[1]) == pytest.approx(bound, rel=1e-9)


def test_weighted_classes_attain_the_value_bound():
    loss, w = Logistic(), np.array([0.8])
    heavy = 5.0 * mean_value(loss, np.array([[-1.0]]), np.ones(1), w)
    light = 0.5 * mean_value(loss, np.array([[1.0]]), np.ones(1), w)
    bound = sensitivity.value_at(loss, weight_norm=0.8, radius=1.0, n=1, weight=5.0, least_weight=0.5)
    assert heavy - light == pytest.approx(bound, rel=1e-9)


def test_softmax_records_attain_their_bounds():
    s = 1e4
    tilt = 40.0 / s
    long = math.sqrt(1.0 - tilt**2)
    W = np.zeros((3, 3))
    W[0, 0] = s
    one, _ = softmax_terms(W, np.array([tilt, long, 0.0]), 1)
    two, _ = softmax_terms(W, np.array([tilt, -long, 0.0]), 1)
    bound = sensitivity.softmax_gradient(radius=1.0, n=1)
    assert TIGHT * bound <= float(np.linalg.norm(one - two)) <= bound * SLACK

    W[0, 0], W[2, 0] = 0.0, -s
    _, one = softmax_terms(W, np.array([tilt, long, 0.0]), 0)
    _, two = softmax_terms(W, np.array([tilt, 0.0, long]), 0)
    bound = sensitivity.softmax_hessian(radius=1.0, n=1)
    assert TIGHT * bound <= float(np.linalg.norm(one - two)) <= bound * SLACK
    bound = sensitivity.softmax_eigenvalue(radius=1.0, n=1)
    assert TIGHT * bound <= float(np.linalg.eigvalsh(one)[-1]) <= bound * SLACK


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_softmax_at_zero_weights_moves_less_and_attains_it(classes):
    W, x = np.zeros((classes, 2)), np.array([0.6, 0.8])
    move = float(np.linalg.norm(softmax_terms(W, x, 0)[0] - softmax_terms(W, -x, 0)[0]))
    bound = sensitivity.softmax_gradient_at(spread=0.0, classes=classes, radius=1.0, n=1)
    assert move == pytest.approx(bound, rel=1e-9)
    assert bound == pytest.approx(2 * math.sqrt(1 - 1 / classes), rel=1e-9)


# --- the gradient at known weights ---

REACHES = [0.0, 1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0, 1e3]


def best_pair(loss: Loss, reach: float) -> float:
    """Largest distance of two contributions over a grid of records on the sphere and inside it."""
    margins = np.linspace(-12.0, 12.0, 401)
    angle = np.concatenate(
        [np.linspace(0.0, math.pi, 401), np.arccos(margins[np.abs(margins) <= reach] / (reach or 1.0))]
    )
    largest = 0.0
    for length in (1.0, 0.9, 0.3):
        factor = loss.first(reach * np.cos(angle)), loss.first(length * reach * np.cos(angle))
        x = [size * f * np.cos(angle) for size, f in zip((1.0, length), factor, strict=True)]
        y = [size * np.abs(f) * np.sin(angle) for size, f in zip((1.0, length), factor, strict=True)]
        largest = max(largest, float(np.hypot(x[0][:, None] - x[1], y[0][:, None] + y[1]).max()))
    return largest


@pytest.mark.parametrize("reach", REACHES)
def test_the_diameter_covers_every_pair_and_is_nearly_attained(margin_loss, reach):
    bound, found = contribution_diameter(margin_loss, reach), best_pair(margin_loss, reach)
    assert found <= bound * (1 + 1e-12)
    assert bound <= 2 * margin_loss.slope
    assert bound <= found * 1.02
    if 0.1 <= reach <= 8.0:
        assert bound <= found * (1 + 1e-4)


@pytest.mark.parametrize(
    ("reach", "diameter"),
    [(0, 1.0), (1, 1.0990955), (2, 1.2698411), (4, 1.5327050), (8, 1.7667550), (16, 1.9017366)],
)
def test_the_logistic_diameter_has_its_known_values(reach, diameter):
    """Found by unconstrained search over pairs in the three-dimensional ball."""
    assert contribution_diameter(Logistic(), float(reach)) == pytest.approx(diameter, rel=2e-6)
    assert contribution_diameter(Logistic(), float(reach)) >= diameter - 1e-7


@attack
@given(st.data())
def test_free_search_does_not_beat_the_diameter(data):
    """Records anywhere in the ball, in more dimensions than the plane of the bound."""
    loss = data.draw(st.sampled_from(MARGIN_LOSSES))
    reach = 10.0 ** data.draw(st.floats(-2.0, 2.0))
    rng = np.random.default_rng(data.draw(SEEDS))
    z = rng.normal(size=(2, 400, 5))
    z[..., 0] *= rng.choice([0.01, 0.1, 1.0, 10.0], size=(2, 400))
    z *= (rng.uniform(size=(2, 400)) ** 0.1 / np.linalg.norm(z, axis=2))[..., None]
    terms = loss.first(reach * z[..., 0])[..., None] * z
    apart = np.linalg.norm(terms[0][:, None] - terms[1], axis=2).max()
    alone = np.linalg.norm(terms, axis=2).max()
    assert max(apart, alone) <= contribution_diameter(loss, reach)


@pytest.mark.parametrize("reach", [0.3, 2.0, 16.0])
def test_the_curve_bends_no_more_than_the_diameter_assumes(margin_loss, reach):
    """|f''| <= s^2 sup|phi'''| + 3 s sup|phi''| + sup|phi'|, by second differences of the curve."""
    h = 1e-4
    angle = np.arange(0.0, math.pi, h)
    curve = margin_loss.first(reach * np.cos(angle)) * np.array([np.cos(angle), np.sin(angle)])
    bend = np.linalg.norm(curve[:, 2:] - 2 * curve[:, 1:-1] + curve[:, :-2], axis=0).max() / h**2
    curvature = max(margin_loss.curvature_low, margin_loss.curvature_high)
    assert bend <= reach**2 * margin_loss.third + 3 * reach * curvature + margin_loss.slope + 1e-6


@pytest.mark.parametrize("reach", [0.3, 1.0, 3.0, 8.0])
def test_even_a_search_cut_short_covers_every_pair(margin_loss, reach, monkeypatch):
    """With a few wide arcs and no refinement, only the sag of the arcs keeps the bound above the truth."""
    monkeypatch.setattr(diameter, "_MOST_PAIRS", 0)
    curvature = max(margin_loss.curvature_low, margin_loss.curvature_high)
    bend = reach**2 * margin_loss.third + 3 * reach * curvature + margin_loss.slope
    found = best_pair(margin_loss, reach)
    for arcs in range(1, 20):
        assert found <= diameter._search(margin_loss, reach, bend, arcs, math.inf)


def test_nearby_reaches_have_nearby_diameters(margin_loss):
    """The diameter moves by at most 2 sup|phi''| per unit of reach; the bound adds its own tolerance."""
    curvature = max(margin_loss.curvature_low, margin_loss.curvature_high)
    for low, high in pairwise(np.linspace(0.2, 12.0, 60)):
        step = contribution_diameter(margin_loss, high) - contribution_diameter(margin_loss, low)
        assert abs(step) <= 2 * curvature * (high - low) + 2e-5 * margin_loss.slope


@pytest.mark.parametrize("reach", [1e3, 1e6, 1e12, 1e200, 1e307])
def test_endless_weights_give_the_global_bound(margin_loss, reach):
    assert contribution_diameter(margin_loss, reach) == pytest.approx(2 * margin_loss.slope, rel=1e-9)


@pytest.mark.parametrize("reach", [math.nan, math.inf, -1.0])
def test_an_impossible_reach_is_refused(reach):
    with pytest.raises(ParameterError, match="reach"):
        contribution_diameter(Logistic(), reach)


def test_a_known_weight_norm_tightens_a_residual_gradient():
    loss = RESIDUAL_LOSSES[0]
    bound = sensitivity.gradient_at(loss, weight_norm=0.5, radius=2.0, n=10, target_reach=1.0)
    assert bound == pytest.approx(2 * 2.0 * loss.slope_within(2.0) / 10, rel=1e-9)
    assert bound < sensitivity.gradient(slope=loss.slope, radius=2.0, n=10)


# --- public numbers that make no sense are refused ---


@pytest.mark.parametrize("n", [0, -3])
def test_no_records_no_bound(n):
    with pytest.raises(ParameterError, match="n is"):
        sensitivity.gram(radius=1.0, n=n)


@pytest.mark.parametrize("slope", [math.nan, math.inf, -1.0])
def test_a_slope_that_bounds_nothing_is_refused(slope):
    with pytest.raises(ParameterError, match="finite"):
        sensitivity.gradient(slope=slope, radius=1.0, n=5)


@pytest.mark.parametrize("shrink", [0.0, 1.0, 1.5, math.nan])
def test_a_grid_that_does_not_shrink_is_refused(shrink):
    with pytest.raises(ParameterError, match="shrink"):
        sensitivity.trial_grid(
            slope=1.0, radius=1.0, n=5, direction_norm=1.0, longest=1.0, shrink=shrink, count=3
        )


# --- the real thing: what Risk computes moves by at most the bound plus twice the rounding error ---


def risks(loss: Loss, case: Neighbours) -> tuple[Risk, Risk]:
    declared = {"labels": LABELS} if loss.kind is Kind.MARGIN else {"target": TARGET}
    one, two = (
        Risk(Records.from_arrays(X, y, radius=case.radius, **declared), loss, Tukey(0.01))
        for X, y in case.sides
    )
    return one, two


@attack
@given(st.data())
def test_no_pair_moves_what_the_risk_computes_past_bound_and_allowance(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    one, two = risks(loss, case)
    w, norm, n, radius = case.weights, case.weight_norm, case.n, case.radius
    arithmetic = Arithmetic(
        n=n,
        dim=w.size,
        block_length=one.records._rows.block_length,
        radius=radius,
        target_reach=target_reach(loss),
    )
    curvature = max(loss.curvature_low, loss.curvature_high)
    pull = float(np.linalg.norm(one.regularizer.gradient(w)))
    bend = float(np.linalg.norm(one.regularizer.curvature(w)))

    def check(move: float, bound: float, error: float) -> None:
        assert move <= bound + 2 * error

    check(
        float(np.linalg.norm(one.gradient(w) - two.gradient(w))),
        sensitivity.gradient_at(loss, weight_norm=norm, radius=radius, n=n, target_reach=target_reach(loss)),
        arithmetic.gradient(slope=loss.slope, curvature=curvature, weight_norm=norm, added=pull),
    )
    check(
        float(np.linalg.norm(one.hessian(w) - two.hessian(w))),
        sensitivity.hessian(**curvatures(loss), radius=radius, n=n),
        arithmetic.hessian(curvature=curvature, third=loss.third, weight_norm=norm, added=bend),
    )
    check(
        abs(one.smallest_eigenvalue(w) - two.smallest_eigenvalue(w)),
        sensitivity.smallest_eigenvalue(**curvatures(loss), radius=radius, n=n),
        arithmetic.smallest_eigenvalue(curvature=curvature, third=loss.third, weight_norm=norm, added=bend),
    )
    check(
        float(np.linalg.norm(one.gram() - two.gram())),
        sensitivity.gram(radius=radius, n=n),
        arithmetic.gram(),
    )
    highest = loss.value_within(radius * norm + target_reach(loss))
    check(
        abs(one.value(w) - two.value(w)),
        sensitivity.value_at(loss, weight_norm=norm, radius=radius, n=n, target_reach=target_reach(loss)),
        arithmetic.value(highest=highest, slope=loss.slope, weight_norm=norm, added=one.regularizer.value(w)),
    )


@attack
@given(st.data())
def test_no_pair_moves_the_trials_the_risk_computes_past_bound_and_allowance(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    one, two = risks(loss, case)
    w, norm, n, radius = case.weights, case.weight_norm, case.n, case.radius
    steps = np.random.default_rng(data.draw(SEEDS)).normal(size=(3, w.size)) * 10.0 ** data.draw(
        st.floats(-6, 2)
    )
    lengths = np.linalg.norm(steps, axis=1)
    arithmetic = Arithmetic(
        n=n,
        dim=w.size,
        block_length=one.records._rows.block_length,
        radius=radius,
        target_reach=target_reach(loss),
    )
    penalties = [one.regularizer.value(w) + one.regularizer.value(w + p) for p in steps]
    public = {
        "slope": loss.slope,
        "highest": loss.value_within(radius * (norm + lengths.max()) + target_reach(loss)),
    }
    move = float(np.linalg.norm((one.trials(w, steps) - two.trials(w, steps)) / lengths))
    bound = sensitivity.normalized_trials(slope=loss.slope, radius=radius, n=n, count=3)
    error = arithmetic.normalized_trials(
        **public, weight_norm=norm, step_norms=list(lengths), added=penalties
    )
    assert move <= bound + 2 * error

    gamma = 0.6
    move = abs(one.along(w, steps[0]).decrease(gamma) - two.along(w, steps[0]).decrease(gamma))
    bound = sensitivity.value_difference(slope=loss.slope, radius=radius, n=n, step_norm=lengths[0])
    error = arithmetic.difference(**public, weight_norm=norm, step_norm=lengths[0], added=penalties[0])
    assert move <= bound + 2 * error


@pytest.mark.parametrize("loss", [Logistic(), Savage()], ids=repr)
def test_the_risk_attains_its_gradient_bound_at_zero_weights(loss):
    rows = np.tile([[0.2, 0.1]], (7, 1))
    sides = []
    for x in ([0.6, 0.8], [-0.6, -0.8]):
        rows[3] = x
        sides.append(Risk(Records.from_arrays(rows, np.ones(7), labels=LABELS), loss).gradient(np.zeros(2)))
    bound = sensitivity.gradient_at(loss, weight_norm=0.0, radius=1.0, n=7)
    assert TIGHT * bound <= float(np.linalg.norm(sides[0] - sides[1])) <= bound
    assert bound <= 0.9 * sensitivity.gradient(slope=loss.slope, radius=1.0, n=7)
