"""Risk: its numbers are those of the formulas, and it gives away nothing else."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from sottovoce.data.records import Records
from sottovoce.errors import DataError, ParameterError
from sottovoce.losses import (
    Cauchy,
    GemanMcClure,
    Kind,
    LogCosh,
    Logistic,
    PseudoHuber,
    Savage,
    Sigmoid,
    SoftplusHinge,
    Welsch,
)
from sottovoce.models.linear import Risk
from sottovoce.models.over_sums import Line
from sottovoce.regularizers import L2, Tukey

LOSSES = [
    Logistic(),
    Sigmoid(),
    Savage(),
    SoftplusHinge(),
    PseudoHuber(0.7),
    LogCosh(),
    Cauchy(0.5),
    GemanMcClure(2.0),
    Welsch(0.8),
]
REGULARIZERS = [L2(0.3), Tukey(0.2)]
FORMS = ["dense", "csr"]


def make(loss, regularizer=None, *, form="dense", intercept=False, n=150, dim=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dim)) * (rng.random((n, dim)) < 0.6)
    if loss.kind is Kind.MARGIN:
        y, declared = rng.choice(["no", "yes"], size=n), {"labels": ("no", "yes")}
    else:
        y, declared = rng.normal(size=n), {"target": (-1.0, 1.5)}
    X = sparse.csr_array(X) if form == "csr" else X
    records = Records.from_arrays(X, y, radius=1.7, intercept=intercept, **declared)
    return Risk(records, loss) if regularizer is None else Risk(records, loss, regularizer)


class Naive:
    """The same risk, written down as its definition, from the stored rows."""

    def __init__(self, risk):
        rows = risk.records._rows
        blocks = [rows.block(i) for i in range(rows.blocks)]
        dense = [b.features.toarray() if sparse.issparse(b.features) else b.features for b in blocks]
        self.X = np.vstack(dense).astype(np.float64)
        self.y = np.concatenate([b.targets for b in blocks])
        self.risk = risk
        self.free = risk.records.intercept

    def t(self, w):
        z = self.X @ w
        return self.y * z if self.risk.loss.kind is Kind.MARGIN else z - self.y

    def penalized(self, w):
        return w[:-1] if self.free else w

    def value(self, w):
        return self.risk.loss.value(self.t(w)).mean() + self.risk.regularizer.value(self.penalized(w))

    def gradient(self, w):
        sign = self.y if self.risk.loss.kind is Kind.MARGIN else 1.0
        data = self.X.T @ (sign * self.risk.loss.first(self.t(w))) / len(self.X)
        pull = self.risk.regularizer.gradient(self.penalized(w))
        return data + np.append(pull, [0.0] * self.free)

    def hessian(self, w):
        data = (self.X.T * self.risk.loss.second(self.t(w))) @ self.X / len(self.X)
        bend = self.risk.regularizer.curvature(self.penalized(w))
        return data + np.diag(np.append(bend, [0.0] * self.free))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", [False, True])
def test_every_loss_with_every_regularizer_matches_its_definition(loss, regularizer, form, intercept):
    risk = make(loss, regularizer, form=form, intercept=intercept)
    naive = Naive(risk)
    rng = np.random.default_rng(7)
    close = {"rtol": 1e-11, "atol": 1e-13}
    for scale in (0.0, 1.0, 30.0):
        w = scale * rng.normal(size=risk.dim)
        P = rng.normal(size=(4, risk.dim)) * np.array([[1.0], [0.1], [1e-3], [10.0]])
        assert risk.value(w) == pytest.approx(naive.value(w), rel=1e-12)
        np.testing.assert_allclose(risk.gradient(w), naive.gradient(w), **close)
        value, gradient = risk.value_and_gradient(w)
        assert value == pytest.approx(risk.value(w), rel=1e-13)
        np.testing.assert_allclose(gradient, risk.gradient(w), rtol=1e-13, atol=1e-16)
        np.testing.assert_allclose(risk.hessian(w), naive.hessian(w), **close)
        wanted = [naive.value(w) - naive.value(w + p) for p in P]
        np.testing.assert_allclose(risk.trials(w, P), wanted, rtol=1e-9, atol=1e-10)
        line = risk.along(w, P[0])
        for gamma in (0.0, 1e-3, 1.0, -2.0):
            want = naive.value(w) - naive.value(w + gamma * P[0])
            assert line.decrease(gamma) == pytest.approx(want, rel=1e-9, abs=1e-10)
        assert risk.smallest_eigenvalue(w) == pytest.approx(
            np.linalg.eigvalsh(naive.hessian(w))[0], abs=1e-11
        )
    np.testing.assert_allclose(risk.gram(), naive.X.T @ naive.X / risk.n, **close)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda r: type(r).__name__)
def test_derivatives_match_finite_differences(loss, regularizer):
    risk = make(loss, regularizer, intercept=True)
    w = np.random.default_rng(8).normal(size=risk.dim)
    h = 1e-5
    steps = h * np.eye(risk.dim)
    slopes = [(risk.value(w + e) - risk.value(w - e)) / (2 * h) for e in steps]
    bends = [(risk.gradient(w + e) - risk.gradient(w - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(risk.gradient(w), slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(risk.hessian(w), bends, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("form", FORMS)
def test_hessian_and_gram_are_symmetric_to_the_last_bit(loss, form):
    risk = make(loss, REGULARIZERS[1], form=form, n=3000, dim=11)
    for matrix in (risk.hessian(np.ones(11)), risk.gram()):
        assert np.array_equal(matrix, matrix.T)


def test_the_intercept_is_never_regularized():
    for strong in (L2(1e3), Tukey(1e3)):
        plain, penalized = make(Logistic(), L2(0.0), intercept=True), make(Logistic(), strong, intercept=True)
        w = np.zeros(7)
        w[-1] = 5.0
        assert penalized.value(w) == plain.value(w)
        assert np.array_equal(penalized.gradient(w), plain.gradient(w))
        assert penalized.hessian(w)[-1, -1] == plain.hessian(w)[-1, -1]
        assert penalized.trials(np.zeros(7), w[None])[0] == plain.trials(np.zeros(7), w[None])[0]
        assert penalized.along(np.zeros(7), w).decrease(1.0) == plain.along(np.zeros(7), w).decrease(1.0)


def test_the_second_label_is_the_positive_one():
    X = np.array([[1.0], [0.5]])
    records = Records.from_arrays(X, ["yes", "yes"], labels=("no", "yes"))
    assert Risk(records, Logistic()).gradient(np.zeros(1))[0] < 0.0


def test_short_steps_are_told_apart_by_differences_row_by_row():
    risk = make(Logistic(), L2(0.0), n=20_000)
    w = np.random.default_rng(9).normal(size=risk.dim)
    direction = -risk.gradient(w)
    direction /= np.linalg.norm(direction)
    slope = -risk.gradient(w) @ direction
    for length in (1e-6, 1e-8):
        assert risk.trials(w, length * direction[None])[0] == pytest.approx(length * slope, rel=1e-5)
        assert risk.along(w, direction).decrease(length) == pytest.approx(length * slope, rel=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_answers_stay_finite_at_the_largest_weights_allowed(form):
    for loss in LOSSES:
        risk = make(loss, L2(1.0), form=form)
        w = np.full(risk.dim, 4e97)
        value, gradient = risk.value_and_gradient(w)
        assert np.isfinite([value, *gradient]).all()
        assert np.isfinite(risk.hessian(w)).all()
        assert np.isfinite(risk.trials(w, -2.0 * w[None])).all()
        assert np.isfinite(risk.along(w, w).decrease(1.0))


def test_queries_leave_the_askers_arrays_alone():
    risk = make(Sigmoid(), Tukey(0.1), intercept=True)
    w, P = np.ones(7), np.ones((2, 7))
    w.flags.writeable = P.flags.writeable = False
    risk.value_and_gradient(w)
    risk.hessian(w)
    risk.trials(w, P)
    line = risk.along(w, P[0])
    assert line.decrease(0.5) == line.decrease(0.5)


BAD_WEIGHTS = [
    np.ones(5),
    np.ones((1, 6)),
    np.ones((6, 1)),
    1.0,
    np.array([1, 1, 1, 1, 1, np.nan]),
    np.array([1, 1, 1, 1, 1, np.inf]),
    np.full(6, 1e100),
    np.full(6, 1e308),
    np.full(6, 1j),
    np.array(["1"] * 6),
    np.array([None] * 6),
    None,
]


@pytest.mark.parametrize("bad", BAD_WEIGHTS)
def test_weights_of_the_wrong_shape_or_not_finite_are_refused(bad):
    risk = make(Logistic())
    w = np.zeros(6)
    for ask in (risk.value, risk.gradient, risk.value_and_gradient, risk.hessian, risk.smallest_eigenvalue):
        with pytest.raises(ParameterError, match="w must"):
            ask(bad)
    for ask in (risk.trials, risk.along):
        with pytest.raises(ParameterError, match="w must"):
            ask(bad, w[None] if ask == risk.trials else w)
    with pytest.raises(ParameterError, match="direction"):
        risk.along(w, bad)
    with pytest.raises(ParameterError, match="direction"):
        risk.trials(w, [bad])


def test_directions_and_lengths_out_of_their_domain_are_refused():
    risk = make(Logistic())
    for directions in (np.ones(6), np.ones((0, 6)), np.ones((2, 5)), np.ones((1, 2, 6))):
        with pytest.raises(ParameterError, match="direction"):
            risk.trials(np.zeros(6), directions)
    line = risk.along(np.zeros(6), 10.0 * np.eye(6)[0])
    for gamma in (np.nan, np.inf, -np.inf, 1e100, 1e308):
        with pytest.raises(ParameterError, match="gamma"):
            line.decrease(gamma)


def test_a_loss_meets_the_targets_it_needs_or_the_error_names_both():
    X = np.eye(3)
    regression = Records.from_arrays(X, [0.0, 1.0, 2.0], target=(0, 2))
    two = Records.from_arrays(X, [0, 1, 0], labels=(0, 1))
    three = Records.from_arrays(X, [0, 1, 2], labels=(0, 1, 2))
    for loss in LOSSES:
        for records in (regression, two, three):
            fits = records is two if loss.kind is Kind.MARGIN else records is regression
            if fits:
                Risk(records, loss)
                continue
            with pytest.raises(ParameterError) as caught:
                Risk(records, loss)
            declared = {id(regression): "target", id(two): "labels", id(three): "labels"}[id(records)]
            assert loss.name in str(caught.value)
            assert declared in str(caught.value)


def test_parts_of_the_wrong_type_are_refused():
    records = make(Logistic()).records
    for parts in ((np.eye(2), Logistic()), (records, "logistic"), (records, Logistic(), 0.1)):
        with pytest.raises(ParameterError):
            Risk(*parts)


def test_a_matrix_too_large_to_build_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr("sottovoce.problem.LARGEST_MATRIX", 5)
    for form in FORMS:
        risk = make(Logistic(), form=form)
        for ask in (risk.gram, lambda risk=risk: risk.hessian(np.zeros(6))):
            with pytest.raises(ParameterError, match="majorize"):
                ask()
        risk.gradient(np.zeros(6))


def test_wide_sparse_records_need_no_dense_table():
    rng = np.random.default_rng(10)
    X = sparse.random_array((300, 200_000), density=1e-4, rng=rng, format="csr")
    risk = Risk(Records.from_arrays(X, rng.choice([0, 1], 300), labels=(0, 1)), Sigmoid(), L2(1e-3))
    assert risk.value(np.ones(200_000)) > 0.0
    assert risk.trials(np.ones(200_000), -np.ones((1, 200_000))).shape == (1,)
    with pytest.raises(ParameterError, match="columns"):
        risk.gram()


def test_public_facts_are_readable_and_read_only():
    risk = make(Cauchy(), Tukey(0.1), intercept=True)
    assert (risk.n, risk.dim) == (150, 7)
    assert isinstance(risk.loss, Cauchy)
    assert risk.regularizer == Tukey(0.1)
    for fact in ("records", "loss", "regularizer", "n", "dim"):
        with pytest.raises(AttributeError):
            setattr(risk, fact, None)


def test_the_problem_holds_the_public_constants():
    risk = make(Cauchy(0.5), Tukey(0.1), intercept=True)
    problem = risk.problem
    assert (problem.n, problem.dim, problem.radius) == (150, 7, 1.7)
    assert (problem.slope, problem.third) == (risk.loss.slope, risk.loss.third)
    assert problem.label_reach == 1.5
    assert problem.intercept
    assert problem.regularizer is risk.regularizer


@pytest.mark.parametrize("escape", [pickle.dumps, copy.copy, copy.deepcopy])
def test_risk_and_line_refuse_to_be_copied_or_pickled(escape):
    risk = make(Logistic())
    for held in (risk, risk.along(np.zeros(6), np.ones(6))):
        with pytest.raises(DataError, match="private data"):
            escape(held)


def test_reprs_show_public_facts_only():
    risk = make(Logistic(), L2(0.5))
    line = risk.along(np.full(6, 0.987654), np.ones(6))
    assert isinstance(line, Line)
    assert repr(risk) == "Risk(n=150, dim=6, loss=Logistic(), regularizer=L2(strength=0.5))"
    assert repr(line) == f"Line({risk!r})"


def test_every_exact_answer_says_that_it_is_for_the_owner():
    for name in (
        "value",
        "gradient",
        "value_and_gradient",
        "hessian",
        "gram",
        "smallest_eigenvalue",
        "trials",
        "along",
    ):
        assert "owner only" in getattr(Risk, name).__doc__
    assert "owner only" in Line.decrease.__doc__
    assert "outside any privacy guarantee" in Risk.__doc__
