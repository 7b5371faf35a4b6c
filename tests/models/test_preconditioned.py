"""A risk in other coordinates is the risk of the rows z = M x; and no record counts more than its caps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.losses import Logistic, PseudoHuber
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.regularizers import Tukey

N, FEATURES = 300, 4
COLUMNS = FEATURES + 1
KINDS = ("margin", "residual", "softmax")


def declared(kind, rng):
    if kind == "margin":
        return rng.choice([-1, 1], N), {"labels": (-1, 1)}
    if kind == "residual":
        return rng.uniform(-1.0, 1.0, N), {"target": (-1.0, 1.0)}
    return rng.integers(0, 3, N), {"labels": (0, 1, 2)}


def a_preconditioner(turned, seed=3):
    rng = np.random.default_rng(seed)
    shift = np.append(rng.normal(size=FEATURES) * 0.1, 0.0)
    turn = rng.normal(size=(COLUMNS, COLUMNS)) * 0.5 if turned else None
    return Preconditioner(
        scale=np.append(rng.uniform(0.5, 4.0, FEATURES), 0.3),
        cap=1.5,
        shift=shift,
        constant=COLUMNS - 1,
        turn=turn,
    )


class Case:
    """A risk, its reshaping, and the same written out with dense z."""

    def __init__(self, kind, *, csr=False, weighted=False, turned=False, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N, FEATURES)) * [1.0, 0.1, 3.0, 0.2] + [0.0, 2.0, 0.0, 0.3]
        X[:20] *= 1e-3
        self.y, what = declared(kind, rng)
        weights = rng.uniform(-0.2, 2.2, N) if weighted else None
        counted = {"sample_weight": weights, "weight_cap": 2.0} if weighted else {}
        table = sparse.csr_array(X) if csr else X
        records = Records.from_arrays(table, self.y, radius=2.0, intercept=True, **what, **counted)
        self.kind, self.classes, self.preconditioner = (
            kind,
            3 if kind == "softmax" else 1,
            a_preconditioner(turned),
        )
        if kind == "softmax":
            self.risk = SoftmaxRisk(records, Tukey(0.1))
        else:
            self.risk = Risk(records, Logistic() if kind == "margin" else PseudoHuber(0.5), Tukey(0.1))
        blocks = [records._rows.block(i).features for i in range(records._rows.blocks)]
        x = np.concatenate([block.toarray() if csr else block for block in blocks]).astype(np.float64)
        self.z = x @ self.preconditioner.matrix.T
        lengths = np.linalg.norm(self.z, axis=1)
        omega = np.minimum(1.0, np.minimum(1.5 / lengths, 2.0 * 1.5**2 / lengths**2))
        self.counts = omega if weights is None else omega * np.clip(weights, 0.0, 2.0)
        self.preconditioned = self.risk.preconditioned(self.preconditioner)
        self.u = rng.normal(size=self.classes * COLUMNS) * 0.2
        self.steps = rng.normal(size=(2, self.u.size)) * 0.1

    def value(self, u):
        w = u.reshape(self.classes, -1) @ self.preconditioner.matrix
        scores = self.z @ u.reshape(self.classes, -1).T
        if self.kind == "softmax":
            losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(N), self.y]
        else:
            t = scores[:, 0] * self.y if self.kind == "margin" else scores[:, 0] - self.y
            losses = self.risk.loss.value(t)
        return float(self.counts @ losses) / N + self.risk.regularizer.value(w[:, :-1].ravel())

    def slope(self, f, h=1e-5):
        units = np.eye(self.u.size)
        return np.array([(f(self.u + h * e) - f(self.u - h * e)) / (2.0 * h) for e in units])


@pytest.fixture(params=["reference", "compiled"])
def kernels(request, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", request.param)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("csr", "weighted", "turned"), [(0, 0, 0), (0, 1, 1), (1, 1, 0), (1, 0, 1)])
def test_every_answer_is_that_of_the_rows_in_the_new_coordinates(kind, csr, weighted, turned):
    case = Case(kind, csr=csr, weighted=weighted, turned=turned)
    f, u = case.preconditioned, case.u
    gram = (case.z * case.counts[:, None]).T @ case.z / N
    drops = [case.value(u) - case.value(u + p) for p in case.steps]
    assert f.value(u) == pytest.approx(case.value(u), rel=1e-10)
    np.testing.assert_allclose(f.trials(u, case.steps), drops, atol=1e-10)
    assert f.along(u, case.steps[0]).decrease(1.0) == pytest.approx(drops[0], abs=1e-10)
    np.testing.assert_allclose(f.gram(), gram, atol=1e-10)
    np.testing.assert_allclose(f.gram_diagonal(), np.diag(gram), atol=1e-10)
    np.testing.assert_allclose(f.moments()[0], case.counts @ case.z / N, atol=1e-10)
    np.testing.assert_allclose(f.moments()[1], np.diag(gram), atol=1e-10)
    np.testing.assert_allclose(f.gradient(u), case.slope(case.value), atol=2e-8)
    np.testing.assert_allclose(f.hessian(u), case.slope(f.gradient), atol=1e-6)
    half = np.arange(0, N, 2)
    assert f.subset(half).gradient(u) + f.subset(half + 1).gradient(u) == pytest.approx(
        2.0 * f.gradient(u), abs=1e-10
    )


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(("csr", "turned"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_no_record_counts_more_than_the_caps_allow(csr, turned):
    case = Case("margin", csr=csr, turned=turned)
    preconditioner = case.preconditioner
    lengths, counts = np.linalg.norm(case.z, axis=1), case.preconditioned.sums._records._rows.weights
    assert np.all(lengths <= preconditioner.longest(2.0))
    assert np.all(counts * lengths <= preconditioner.cap)
    assert np.all(counts * lengths**2 <= preconditioner.ceiling * preconditioner.cap**2)
    np.testing.assert_allclose(counts, case.counts, rtol=1e-6)
    assert np.any(counts == 1.0)
    assert np.any(case.counts * lengths < 0.9 * preconditioner.cap * (lengths > preconditioner.cap))


def test_no_row_of_the_ball_is_longer_than_the_longest_and_one_is_nearly():
    rng = np.random.default_rng(5)
    for turned in (False, True):
        for shift in (0.0, 3.0):
            scale, turn = rng.uniform(0.5, 2.0, COLUMNS), rng.normal(size=(COLUMNS, COLUMNS))
            centre = np.append(np.full(FEATURES, shift), 0.0)
            preconditioner = Preconditioner(
                scale=scale, cap=1.0, shift=centre, constant=FEATURES, turn=turn if turned else None
            )
            found = 2.0 * np.linalg.norm(preconditioner.matrix, 2)
            assert found <= preconditioner.longest(2.0) <= 1.3 * found
            size = np.abs(preconditioner.turn if turned else np.eye(COLUMNS)) @ np.diag(scale)
            size = size @ (np.eye(COLUMNS) + np.outer(centre, np.eye(COLUMNS)[-1]))
            assert np.linalg.norm(size, 2) <= preconditioner.stretch


def test_the_longest_counts_what_cancels_in_a_turned_preconditioner():
    """Entries of M that cancel to 0 in float64 and not exactly."""
    far, third = 1e15 / 3.0, 1.0 / 3.0
    turn = np.array([[third, far * third], [0.0, 1e-3]])
    preconditioner = Preconditioner(
        scale=np.ones(2), cap=1.0, shift=np.array([far, 0.0]), constant=1, turn=turn
    )
    exact = float(Fraction(turn[0, 1]) - Fraction(far) * Fraction(third))
    assert preconditioner.matrix[0, 1] != exact
    assert preconditioner.longest(1.0) >= np.hypot(third, exact)
    with pytest.raises(ValueError, match="read-only"):
        preconditioner.matrix[0, 0] = 0.0


def test_weights_go_to_coordinates_and_back():
    for turned in (False, True):
        preconditioner, rng = a_preconditioner(turned), np.random.default_rng(1)
        u, g = rng.normal(size=2 * COLUMNS), rng.normal(size=2 * COLUMNS)
        np.testing.assert_allclose(preconditioner.from_user(preconditioner.to_user(u)), u, rtol=1e-9)
        assert preconditioner.to_coordinates(g) @ u == pytest.approx(g @ preconditioner.to_user(u), rel=1e-12)


def test_the_penalty_majorant_is_above_every_hessian_of_the_penalty():
    for kind in ("margin", "softmax"):
        case = Case(kind)
        penalty = case.preconditioned.problem.regularizer
        rng = np.random.default_rng(2)
        for _ in range(20):
            bends = penalty.curvature(rng.normal(size=case.u.size))[:COLUMNS, :COLUMNS]
            assert np.linalg.eigvalsh(penalty.majorant() - bends).min() >= -1e-12
        assert np.linalg.eigvalsh(penalty.majorant()).max() <= penalty.curvature_high * (1 + 1e-12)


def test_a_blank_row_has_no_length_and_moves_no_centre():
    X = np.array([[1.0, 2.0], [np.nan, 0.0], [0.5, -1.0]])
    records = Records.from_arrays(X, [1, 1, -1], labels=(-1, 1), radius=5.0, intercept=True, invalid="zero")
    preconditioner = Preconditioner(scale=np.ones(3), cap=0.1, shift=np.array([7.0, -7.0, 0.0]), constant=2)
    weights = Risk(records, Logistic()).preconditioned(preconditioner).sums._records._rows.weights
    assert weights[1] == 1.0
    assert np.all(weights[[0, 2]] < 0.1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": np.array([1.0, 0.0])},
        {"scale": np.array([1.0, np.nan])},
        {"cap": 0.0},
        {"cap": np.nan},
        {"ceiling": 0.5},
        {"shift": np.array([1.0, 0.0])},
        {"shift": np.array([1.0, 1.0]), "constant": 1},
        {"shift": np.array([np.inf, 0.0]), "constant": 1},
        {"shift": np.array([1.0, 0.0]), "constant": 2},
        {"turn": np.eye(3)},
        {"turn": np.full((2, 2), np.nan)},
    ],
)
def test_a_preconditioner_that_is_none_is_refused(wrong):
    with pytest.raises(ParameterError):
        Preconditioner(**({"scale": np.ones(2), "cap": 1.0} | wrong))


def test_a_preconditioner_of_other_columns_is_refused_and_none_is_laid_upon_another():
    case = Case("margin")
    with pytest.raises(ParameterError, match="columns"):
        case.risk.preconditioned(Preconditioner(scale=np.ones(2), cap=1.0))
    with pytest.raises(ParameterError, match="already"):
        case.preconditioned.preconditioned(case.preconditioner)
