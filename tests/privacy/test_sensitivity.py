"""No pair of neighbours moves a query past its bound."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.data.records import Records
from sottovoce.losses import Kind, Logistic, Loss
from sottovoce.models.linear import Risk
from sottovoce.regularizers import Tukey
from tests import charges
from tests.plain import (
    QueryKind,
    arguments,
    mean_gradient,
    mean_hessian,
    mean_value,
    softmax_terms,
    target_reach,
)
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
SEEDS = st.integers(0, 2**32 - 1)


def moved(query: QueryKind, loss: Loss, case: Neighbours) -> float:
    """Distance between the query's answers on the two data sets."""
    before, after = (np.asarray(query(loss, X, y, case.weights)) for X, y in case.sides)
    return float(np.linalg.norm(before - after))


@attack
@given(st.data())
def test_no_pair_moves_the_gradient_past_either_of_its_bounds(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    move = moved(mean_gradient, loss, case)
    anywhere = 2.0 * loss.slope * case.radius / case.n
    here = charges.gradient_at(
        loss,
        weight_norm=case.weight_norm,
        radius=case.radius,
        n=case.n,
        target_reach=target_reach(loss),
    )
    assert move <= here * SLACK
    assert here <= anywhere * (1 + 1e-11)


@attack
@given(st.data())
def test_no_pair_moves_the_gradient_norm_past_its_bound(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    move = moved(lambda *query: float(np.linalg.norm(mean_gradient(*query))), loss, case)
    assert move <= 2.0 * loss.slope * case.radius / case.n * SLACK


@attack
@given(st.data())
def test_no_pair_of_weighted_classes_moves_the_gradient_past_its_bound(data):
    loss = data.draw(st.sampled_from(MARGIN_LOSSES))
    case = data.draw(neighbours())
    heavy, light = 3.0, data.draw(st.floats(0.0, 3.0))

    def weighted(loss, X, y, w):
        factors = np.where(y > 0, heavy, light) * y * loss.first(arguments(loss, X, y, w))
        return X.T @ factors / len(y)

    bound = charges.gradient_at(
        loss, weight_norm=case.weight_norm, radius=case.radius, n=case.n, weight=heavy
    )
    assert moved(weighted, loss, case) <= bound * SLACK


@attack
@given(st.data())
def test_no_pair_moves_the_hessian_or_its_smallest_eigenvalue_past_its_bound(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    public = {
        "weight_norm": case.weight_norm,
        "radius": case.radius,
        "n": case.n,
        "target_reach": target_reach(loss),
    }
    assert moved(mean_hessian, loss, case) <= charges.hessian_at(loss, **public) * SLACK

    def smallest(*query):
        return float(np.linalg.eigvalsh(mean_hessian(*query))[0])

    assert moved(smallest, loss, case) <= charges.eigenvalue_at(loss, **public) * SLACK + 1e-15


@attack
@given(neighbours())
def test_no_pair_moves_the_gram_matrix_or_its_diagonal_past_its_bound(case):
    def gram(loss, X, y, w):
        return X.T @ X / len(y)

    bound = math.sqrt(2.0) * case.radius**2 / case.n * SLACK
    assert moved(gram, Logistic(), case) <= bound
    assert moved(lambda *query: np.diag(gram(*query)), Logistic(), case) <= bound


@attack
@given(st.data())
def test_no_pair_moves_a_value_or_a_difference_of_values_past_its_bound(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    steps = np.random.default_rng(data.draw(SEEDS)).normal(size=(3, case.weights.size))
    steps *= 10.0 ** data.draw(st.floats(-2.0, 3.0))
    lengths = np.linalg.norm(steps, axis=1)
    public = {"radius": case.radius, "n": case.n}
    # Losses as large as |t| are subtracted: their own rounding, which `rounding` answers for, is let through.
    reach = case.radius * (case.weight_norm + lengths.max()) + target_reach(loss)
    dust = 1e-13 * loss.value_within(reach)

    def decreases(loss, X, y, w):
        here = loss.value(arguments(loss, X, y, w))
        return np.array([(here - loss.value(arguments(loss, X, y, w + p))).mean() for p in steps])

    one = moved(lambda *query: decreases(*query)[0], loss, case)
    assert one <= charges.line(loss, lengths[0], np.ones(1), **public) * SLACK + dust

    each = moved(lambda *query: np.abs(decreases(*query)).max(), loss, case)
    assert each <= charges.line(loss, max(lengths), np.ones(1), **public) * SLACK + dust

    normalized = moved(lambda *query: decreases(*query) / lengths, loss, case)
    allowed = charges.drops(loss, steps, **public)
    assert normalized <= allowed * SLACK + dust / lengths.min()

    value = charges.value_at(
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

    lengths = longest * shrink ** np.arange(count)
    bound = charges.line(loss, norm, lengths, radius=case.radius, n=case.n)
    dust = 1e-13 * loss.value_within(case.radius * (case.weight_norm + longest * norm) + target_reach(loss))
    assert moved(grid, loss, case) <= bound * SLACK + dust
    every = 2 * longest * loss.slope * case.radius * norm / case.n / math.sqrt(1 - shrink**2)
    assert bound <= every * SLACK


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
    at = charges.softmax_gradient(case.radius * spread, classes, **public)
    assert gradient <= at * SLACK
    assert at <= 2.0 * math.sqrt(2.0) * case.radius / case.n * SLACK
    frobenius = float(np.linalg.norm(one[1] - two[1])) / case.n
    assert frobenius <= charges.softmax_hessian(**public) * SLACK
    spectral = float(np.linalg.norm(one[1] - two[1], 2)) / case.n
    assert spectral <= charges.softmax_eigenvalue(**public) * SLACK


def test_a_known_weight_norm_tightens_a_residual_gradient():
    loss = RESIDUAL_LOSSES[0]
    bound = charges.gradient_at(loss, weight_norm=0.5, radius=2.0, n=10, target_reach=1.0)
    assert bound <= 2 * 2.0 * loss.slope_within(2.0) / 10 * (1 + 1e-9)
    assert bound < 2.0 * loss.slope * 2.0 / 10


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
    w = case.weights
    for name in ("gradient", "hessian", "smallest_eigenvalue", "gram", "value", "score_moment"):
        told = () if name == "gram" else (w,)
        moved = np.linalg.norm(np.asarray(getattr(one, name)(*told)) - np.asarray(getattr(two, name)(*told)))
        assert moved <= getattr(one.bounds, name)(*told), name


@attack
@given(st.data())
def test_no_pair_moves_the_trials_the_risk_computes_past_bound_and_allowance(data):
    loss = data.draw(st.sampled_from(ALL_LOSSES))
    case = data.draw(neighbours(kind=loss.kind))
    one, two = risks(loss, case)
    w = case.weights
    steps = np.random.default_rng(data.draw(SEEDS)).normal(size=(3, w.size)) * 10.0 ** data.draw(
        st.floats(-6, 2)
    )
    lengths = np.linalg.norm(steps, axis=1)
    move = float(np.linalg.norm((one.trials(w, steps) - two.trials(w, steps)) / lengths))
    assert move <= one.bounds.trials(w, steps)
    gamma = 0.6
    move = abs(one.along(w, steps[0]).decrease(gamma) - two.along(w, steps[0]).decrease(gamma))
    assert move <= one.bounds.difference(w, steps[0])
