"""Records that count by weight and influence: no neighbour moves an answer past its bound; some reach it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sottovoce.accounting.relations import Relation
from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.losses import Kind, Logistic, PseudoHuber, Savage, Sigmoid, SoftplusHinge
from sottovoce.losses.weighted import class_weighted
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.queries import ColumnMoments, Preconditioner
from sottovoce.regularizers import Tukey
from sottovoce.trusted import bands
from tests import charges

LOSSES = [Logistic(), SoftplusHinge(3.0), Sigmoid(), Savage(), PseudoHuber(0.5)]
BOTH = [Relation.REPLACE_ONE, Relation.ZERO_OUT]
FEATURES, RADIUS, CAP = 3, 2.0, 1.0


def contributions(loss, norm, longest, ceiling):
    """phi'(t) omega z in the plane of u and z, for records of every length up to `longest`, C = 1."""
    lengths = np.concatenate([[0.0, 0.5], np.geomspace(1.0, longest, 13)])
    angles = np.concatenate([np.linspace(0.0, 2.0 * np.pi, 49), np.pi / 2 + np.array([-0.05, 0.05, 0.2])])
    rho, theta = (part.ravel() for part in np.meshgrid(lengths, angles))
    omega = np.minimum(1.0, np.minimum(1.0, ceiling / np.maximum(rho, 1.0)) / np.maximum(rho, 1.0))
    z = rho * np.array([np.cos(theta), np.sin(theta)])
    shifts = (0.0,) if loss.kind is Kind.MARGIN else (-1.0, 1.0)
    terms = [loss.first(norm * z[0] - shift) * omega * z for shift in shifts]
    return np.concatenate(terms, axis=1).T


def farthest(points):
    gram = points @ points.T
    squares = np.diag(gram)
    return math.sqrt(float((squares[:, None] + squares - 2.0 * gram).max()))


@pytest.mark.parametrize("ceiling", [2.0, math.inf])
@pytest.mark.parametrize("longest", [1.5, 10.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_two_records_of_capped_influence_lie_further_apart_than_the_gradient_bound(loss, longest, ceiling):
    for norm in (0.0, 0.1, 0.5, 2.0, 20.0):
        public = {"weight_norm": norm, "radius": longest, "influence": 1.0, "n": 1, "target_reach": 1.0}
        public["target_reach"] = 0.0 if loss.kind is Kind.MARGIN else 1.0
        terms = contributions(loss, norm, longest, ceiling)
        replaced = charges.gradient_at(loss, **public)
        zeroed = charges.gradient_at(loss, **public, relation=Relation.ZERO_OUT)
        assert farthest(terms) <= replaced * (1 + 1e-9)
        assert float(np.linalg.norm(terms, axis=1).max()) <= zeroed * (1 + 1e-9)
        if norm == 0.0:
            assert farthest(terms) >= 0.99 * replaced


def test_the_diameter_at_the_cap_is_no_bound_and_the_bound_is_near():
    """C ||u|| = 0.1 and records ten times as long as C."""
    public = {"weight_norm": 0.1, "n": 1}
    found = farthest(contributions(Logistic(), 0.1, 10.0, math.inf))
    assert found > 1.05 * charges.gradient_at(Logistic(), radius=1.0, **public)
    assert found > 0.97 * charges.gradient_at(Logistic(), radius=10.0, influence=1.0, **public)


def test_no_pair_of_rows_moves_the_moments_past_their_joint_bound_and_one_reaches_it():
    rng = np.random.default_rng(0)
    for balance in (0.05, 0.5, 0.6, 1.0, 2.0, 10.0):
        joint, single = (bands.moments_distance(balance, relation, is_capped=False) for relation in Relation)
        rows = rng.normal(size=(2, 20000, 3)) * rng.choice([0.0, 1.0, 5.0], size=(2, 20000, 3))
        norms = np.linalg.norm(rows, axis=2, keepdims=True)
        rows *= np.minimum(1.0, rng.choice([0.5, 1.0], size=norms.shape) / np.maximum(norms, 1e-9))
        terms = np.concatenate([rows, math.sqrt(balance) * rows**2], axis=2)
        assert np.linalg.norm(terms[0] - terms[1], axis=1).max() <= joint * (1 + 1e-12)
        assert np.linalg.norm(terms[0], axis=1).max() <= single * (1 + 1e-12)
        angle = 0.5 * math.asin(min(1.0, 0.5 / balance))
        pair = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), -math.cos(angle)]])
        worst = np.concatenate([pair, math.sqrt(balance) * pair**2], axis=1)
        assert np.linalg.norm(worst[0] - worst[1]) >= joint * (1 - 1e-9)
        one = np.array([1.0, math.sqrt(balance)])
        assert np.linalg.norm(one) >= single * (1 - 1e-9)


def test_capped_records_move_the_moments_past_what_holds_for_plain_rows_and_within_their_own_bound():
    """Opposite records at the same influence C, one of length C, the other of length B C: their means are
    2C apart, and the longer one has B times the shorter one's square."""
    preconditioner, e = Preconditioner(scale=np.full(FEATURES, 4.0), cap=CAP), np.eye(FEATURES)[0]
    sides = [
        risk_of(Logistic(), X, [1, 1, 1], [1.0, 0.0, 0.0]).preconditioned(preconditioner)
        for X in along(0.25 * e, -0.5 * e)
    ]
    for balance in (0.5, 0.6):
        query = ColumnMoments(balance)
        move = float(np.linalg.norm(np.subtract(*(query.exact(side) for side in sides))))
        plain = bands.moments_distance(balance, Relation.REPLACE_ONE, is_capped=False)
        assert move > 1.01 * plain * CAP / 3
        assert move <= query.sensitivity(sides[0].bounds)


@pytest.mark.parametrize("balance", [0.0, -1.0, math.nan, math.inf])
def test_a_balance_that_is_none_is_refused(balance):
    for is_capped in (False, True):
        with pytest.raises(ParameterError, match="balance"):
            bands.moments_distance(balance, Relation.REPLACE_ONE, is_capped=is_capped)


def risk_of(loss, X, y, weights=None, cap=1.0, seed=0):
    """The risk of three records; the last two are the same on both sides."""
    classes = isinstance(loss, str)
    declared = {"labels": (0, 1, 2)} if classes else {"labels": (-1, 1)}
    if not classes and loss.kind is Kind.RESIDUAL:
        declared = {"target": (-1.0, 1.0)}
    given = {} if weights is None else {"sample_weight": weights, "weight_cap": cap}
    records = Records.from_arrays(X, y, radius=RADIUS, **declared, **given)
    return SoftmaxRisk(records, Tukey(0.1)) if classes else Risk(records, loss, Tukey(0.1))


def a_preconditioner(rng, centred):
    scale = rng.uniform(0.5, 3.0, FEATURES)
    shift = np.append(rng.normal(size=FEATURES - 1), 0.0) if centred else None
    return Preconditioner(scale=scale, cap=CAP, shift=shift, constant=FEATURES - 1 if centred else None)


def answers(risk, u, steps):
    """Every query as a vector, with what its bound is called and told."""
    lengths = np.linalg.norm(steps, axis=1)
    factor = math.sqrt(2.0) * risk.problem.influence / risk.problem.energy
    means, squares = risk.moments()
    convex = risk.problem.curvature_low == 0.0
    return {
        "score_moment": (risk.score_moment(u), (u,)),
        **({"information": (risk.information(u), (u,))} if convex else {}),
        "gradient": (risk.gradient(u), (u,)),
        "gradient_norm": (np.linalg.norm(risk.gradient(u)), (u,)),
        "hessian": (risk.hessian(u), (u,)),
        "smallest_eigenvalue": (risk.smallest_eigenvalue(u), (u,)),
        "curvature_product": (risk.curvature_product(u, steps[0] / lengths[0]), (u,)),
        "gram": (risk.gram(), ()),
        "gram_diagonal": (risk.gram_diagonal(), ()),
        "trials": (risk.trials(u, steps) / lengths, (u, steps)),
        "difference": (risk.along(u, steps[0]).decrease(1.0), (u, steps[0])),
        "grid": (
            np.array([risk.along(u, steps[0]).decrease(g) for g in (1.0, 0.5, 0.25)]),
            (u, steps[0], 1.0, 0.5, 3),
        ),
        "value": (risk.value(u), (u,)),
        "moments": (np.concatenate([means, factor * squares]), (2.0,)),
    }


def move_and_bound(one, two, relation, u, steps):
    """For every query how far it moved, and how far it may."""
    bounds = replace(one.bounds, relation=relation)
    here, there = answers(one, u, steps), answers(two, u, steps)
    moved = {}
    for name, (answer, told) in here.items():
        bound = getattr(bounds, name)(*told)
        moved[name] = (float(np.linalg.norm(np.asarray(answer) - np.asarray(there[name][0]))), bound)
    return moved


def hostile_row(rng):
    kinds = [np.zeros(FEATURES), *(4.0 * np.eye(FEATURES)), *(-4.0 * np.eye(FEATURES))]
    return kinds[rng.integers(len(kinds))] if rng.random() < 0.5 else rng.normal(size=FEATURES) * 3.0


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("preconditioned", [False, True])
@pytest.mark.parametrize("loss", [*LOSSES, "softmax"], ids=str)
def test_no_neighbour_moves_any_answer_past_its_bound(loss, preconditioned, relation):
    rng = np.random.default_rng(11)
    for round_ in range(12):
        rest = rng.normal(size=(2, FEATURES))
        targets = np.array([1, 0, 2]) if isinstance(loss, str) else rng.choice([-1, 1], 3)
        pair = [hostile_row(rng), hostile_row(rng)]
        pair[1] = [-pair[0], pair[0], pair[1]][rng.integers(3)]
        cap = [1.0, 2.5][rng.integers(2)]
        weights = rng.choice([0.0, 0.3, cap], 3)
        counts = [np.append(rng.choice([0.0, cap]), weights[1:]) for _ in pair]
        labels = [np.append(rng.choice(targets), targets[1:]) for _ in pair]
        if relation is Relation.ZERO_OUT:
            counts = [np.append(weight, weights[1:]) for weight in (cap, 0.0)]
            labels, pair = [targets] * 2, [pair[0]] * 2
        sides = [
            risk_of(loss, np.vstack([x, rest]), y, q, cap)
            for x, y, q in zip(pair, labels, counts, strict=True)
        ]
        if preconditioned:
            preconditioner = a_preconditioner(np.random.default_rng(round_), centred=bool(round_ % 2))
            sides = [side.preconditioned(preconditioner) for side in sides]
        u = rng.normal(size=sides[0].start.size) * [0.0, 0.1, 3.0][rng.integers(3)]
        steps = rng.normal(size=(2, u.size)) * [1e-3, 1.0][rng.integers(2)]
        for name, (move, bound) in move_and_bound(*sides, relation, u, steps).items():
            assert move <= bound, name


def along(*rows):
    """Three records: the one that is replaced, and two blank ones."""
    return [np.vstack([row, np.zeros((2, FEATURES))]) for row in rows]


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize(("cap", "lengths"), [(1.0, 0.5), (2.5, 2.0)])
def test_orthogonal_opposite_and_single_records_attain_the_bounds(relation, cap, lengths):
    """Scales of 4 and rows of length 0.5 or 2 give rho = 2C or 8C: both caps bind, or the second alone."""
    preconditioner = Preconditioner(scale=np.full(FEATURES, 4.0), cap=CAP)
    e, f = lengths * np.eye(FEATURES)[:2]
    zero_out = relation is Relation.ZERO_OUT
    u, steps = np.zeros(FEATURES), np.eye(FEATURES)[:1]

    def moved(one, two, y=(1, 1)):
        q = [np.array([cap, 0.0, 0.0]), np.array([0.0 if zero_out else cap, 0.0, 0.0])]
        labels = [[label, 1, 1] for label in y]
        X = along(one, one if zero_out else two)
        sides = [
            risk_of(Logistic(), X[i], labels[i], q[i], cap).preconditioned(preconditioner) for i in range(2)
        ]
        return move_and_bound(*sides, relation, u, steps)

    apart = moved(e, f)
    if lengths == 0.5:
        for name in ("score_moment", "information"):
            move, bound = apart[name]
            assert move >= 0.99 * bound, name
    for name in ("hessian", "gram", "gram_diagonal"):
        move, bound = apart[name]
        assert move >= 0.99 * bound, name
    if lengths == 0.5:
        move, bound = moved(e, -e)["gradient"]
        assert move >= 0.99 * bound
        assert bound == pytest.approx((0.5 if zero_out else 1.0) * cap * CAP / 3, rel=1e-6)
    assert apart["gram"][1] == pytest.approx(cap * (2.0 if zero_out else 2.0 * math.sqrt(2.0)) / 3, rel=1e-6)


@pytest.mark.parametrize("relation", BOTH)
def test_softmax_attains_its_gradient_bound_at_zero(relation):
    preconditioner, e = Preconditioner(scale=np.full(FEATURES, 4.0), cap=CAP), np.eye(FEATURES)[0]
    zero_out = relation is Relation.ZERO_OUT
    sides = [
        risk_of("softmax", X, [0, 1, 2], [q, 0.0, 0.0]).preconditioned(preconditioner)
        for X, q in zip(along(0.5 * e, 0.5 * e if zero_out else -0.5 * e), (1.0, 1.0 - zero_out), strict=True)
    ]
    u = np.zeros(3 * FEATURES)
    move, bound = move_and_bound(*sides, relation, u, np.eye(u.size)[:1])["gradient"]
    assert move >= 0.99 * bound
    assert bound == pytest.approx((1 if zero_out else 2) * CAP * math.sqrt(2.0 / 3.0) / 3, rel=1e-6)


@pytest.mark.parametrize("relation", BOTH)
def test_plain_rows_attain_the_bounds_of_their_relation(relation):
    zero_out = relation is Relation.ZERO_OUT
    e, f = RADIUS * np.eye(FEATURES)[:2]
    u = np.zeros(FEATURES)

    def moved(loss, one, two):
        q = ([1.0, 0.0, 0.0], [1.0 - zero_out, 0.0, 0.0])
        X = along(one, one if zero_out else two)
        sides = [risk_of(loss, X[i], [1, 1, 1], q[i]) for i in range(2)]
        return move_and_bound(*sides, relation, u, e[None] / RADIUS)

    for name, pair in {
        "gradient": (e, -e),
        "gram": (e, f),
        "gram_diagonal": (e, f),
        "hessian": (e, f),
        "score_moment": (e, f),
        "information": (e, f),
    }.items():
        move, bound = moved(Logistic(), *pair)[name]
        assert move >= 0.99 * bound, name
    move, bound = moved(PseudoHuber(0.5), e, np.zeros(FEATURES))["smallest_eigenvalue"]
    assert move <= bound


def test_a_record_that_is_zeroed_out_moves_the_value_by_all_its_loss():
    X, u = along(RADIUS * np.eye(FEATURES)[0])[0], -3.0 * np.eye(FEATURES)[0]
    sides = [risk_of(Logistic(), X, [1, 1, 1], [q, 0.0, 0.0]) for q in (1.0, 0.0)]
    move, bound = move_and_bound(*sides, Relation.ZERO_OUT, u, np.eye(FEATURES)[:1])["value"]
    assert 0.99 * bound <= move <= bound
    public = {"weight_norm": 3.0, "radius": RADIUS, "n": 3}
    zeroed = charges.value_at(Logistic(), **public, relation=Relation.ZERO_OUT)
    assert zeroed >= move
    assert zeroed > charges.value_at(Logistic(), **public)


def test_class_weights_and_influence_multiply():
    loss = class_weighted(Logistic(), (-1, 1), {-1: 0.5, 1: 3.0})
    public = {"weight_norm": 0.0, "radius": 10.0, "influence": 1.0, "n": 1}
    assert charges.gradient_at(loss, **public) == pytest.approx(3.0, rel=1e-6)
