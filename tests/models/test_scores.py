"""Second moments of scores: the numbers of their formulas, for every loss, weight and layout."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax

from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.losses import Logistic, Poisson, PseudoHuber, Sigmoid
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.queries import Information, Preconditioner, ScoreMoment

RNG = np.random.default_rng(0)
N, DIM = 60, 3
X = RNG.normal(size=(N, DIM)).astype(np.float32) * 0.4
Q = RNG.uniform(0.1, 2.0, N)
W = np.array([0.5, -1.0, 2.0])


def mean_outer(factors, rows):
    return (rows * factors[:, None]).T @ rows / N


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_a_records_weight_and_class_weight_enter_squared(layout):
    y = np.where(RNG.random(N) < 0.5, 1, -1)
    records = Records.from_arrays(
        layout(X), y, labels=(-1, 1), radius=4.0, sample_weight=Q, weight_cap=2.0, intercept=False
    )
    t = y * (X @ W)
    plain = Risk(records, Logistic())
    np.testing.assert_allclose(plain.score_moment(W), mean_outer((Q * expit(-t)) ** 2, X), rtol=1e-6)
    np.testing.assert_allclose(plain.information(W), mean_outer(Q**2 * expit(t) * expit(-t), X), rtol=1e-6)
    classes = Risk(records, Logistic(), class_weights={-1: 0.5, 1: 3.0})
    counted = Q * expit(-t) * np.where(y > 0, 3.0, 0.5)
    np.testing.assert_allclose(classes.score_moment(W), mean_outer(counted**2, X), rtol=1e-6)


def test_residuals_and_classes_have_the_moments_of_their_scores():
    y = np.clip(X @ W + RNG.normal(size=N), -1, 1)
    risk = Risk(Records.from_arrays(X, y, target=(-1.0, 1.0), radius=4.0, intercept=False), PseudoHuber())
    r = X @ W - y
    np.testing.assert_allclose(risk.score_moment(W), mean_outer(r**2 / (1 + r**2), X), rtol=1e-5)
    labels = RNG.integers(0, 3, N)
    several = SoftmaxRisk(Records.from_arrays(X, labels, labels=(0, 1, 2), radius=4.0, intercept=False))
    weights = RNG.normal(size=(3, DIM))
    gaps = softmax(X @ weights.T, axis=1) - np.eye(3)[labels]
    terms = (gaps[:, :, None] * X[:, None, :]).reshape(N, -1)
    np.testing.assert_allclose(several.score_moment(weights.ravel()), terms.T @ terms / N, atol=1e-7)
    np.testing.assert_allclose(
        several.information(weights.ravel()), several.hessian(weights.ravel()), atol=1e-12
    )


def test_in_other_coordinates_influence_enters_squared():
    y = np.where(RNG.random(N) < 0.5, 1, -1)
    risk = Risk(Records.from_arrays(X, y, labels=(-1, 1), radius=4.0, intercept=False), Logistic())
    preconditioner = Preconditioner(scale=np.array([1.0, 2.0, 5.0]), cap=1.0)
    z = X * preconditioner.scale
    rho = np.linalg.norm(z, axis=1)
    omega = np.minimum(1.0, np.minimum(1.0 / rho, 2.0 / rho**2))
    t = y * (z @ W)
    inside = risk.preconditioned(preconditioner)
    np.testing.assert_allclose(inside.score_moment(W), mean_outer((omega * expit(-t)) ** 2, z), rtol=1e-6)
    np.testing.assert_allclose(
        inside.information(W), mean_outer(omega**2 * expit(t) * expit(-t), z), rtol=1e-6
    )


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_a_persons_scores_are_summed_before_they_are_squared(layout):
    keys = RNG.integers(17, size=N)
    people = list(dict.fromkeys(keys.tolist()))
    shares = 1.0 / np.bincount(keys)[keys]

    def due(scores):
        sums = np.stack([(shares[:, None] * scores)[keys == person].sum(axis=0) for person in people])
        return sums.T @ sums / len(people)

    y = np.where(RNG.random(N) < 0.5, 1, -1)
    given = {"radius": 4.0, "intercept": False, "groups": keys}
    risk = Risk(Records.from_arrays(layout(X), y, labels=(-1, 1), **given), Logistic())
    found = risk.score_moment(W)
    np.testing.assert_allclose(found, due((-y * expit(-y * (X @ W)))[:, None] * X), atol=1e-7)
    assert np.array_equal(found, found.T)
    weighted = Risk(risk.records, Logistic(), class_weights={-1: 0.5, 1: 3.0})
    counted = -y * expit(-y * (X @ W)) * np.where(y > 0, 3.0, 0.5)
    np.testing.assert_allclose(weighted.score_moment(W), due(counted[:, None] * X), atol=1e-7)
    labels = RNG.integers(0, 3, N)
    several = SoftmaxRisk(Records.from_arrays(layout(X), labels, labels=(0, 1, 2), **given))
    weights = RNG.normal(size=(3, DIM))
    gaps = softmax(X @ weights.T, axis=1) - np.eye(3)[labels]
    terms = (gaps[:, :, None] * X[:, None, :]).reshape(N, -1)
    np.testing.assert_allclose(several.score_moment(weights.ravel()), due(terms), atol=1e-7)
    with pytest.raises(ParameterError, match="not independent"):
        Information(W).admitted(risk.problem)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_a_persons_scores_of_counts_hold_the_counts(layout):
    """(phi' - y) x, of which 984a9f2 took phi' x: robust standard errors of .0188 where .0139 was right."""
    keys, high = RNG.integers(17, size=N), 8.0
    y = RNG.integers(0, 9, N) / high
    given = {"radius": 4.0, "intercept": False, "target": (0.0, 1.0)}
    people = Risk(Records.from_arrays(layout(X), y, groups=keys, **given), Poisson(high))
    slopes = np.exp(np.minimum(X @ W - np.log(high), 0.0)) - y
    assert np.max(X @ W) < np.log(high)
    scores = (slopes / np.bincount(keys)[keys])[:, None] * X
    sums = np.stack([scores[keys == person].sum(axis=0) for person in dict.fromkeys(keys.tolist())])
    np.testing.assert_allclose(people.score_moment(W), sums.T @ sums / len(sums), atol=1e-7)
    alone = Risk(Records.from_arrays(layout(X), y, groups=np.arange(N), **given), Poisson(high))
    rows = Risk(Records.from_arrays(layout(X), y, **given), Poisson(high))
    np.testing.assert_allclose(alone.score_moment(W), rows.score_moment(W), atol=1e-7)


def test_no_information_of_a_loss_that_is_no_likelihood():
    y = np.where(RNG.random(N) < 0.5, 1, -1)
    risk = Risk(Records.from_arrays(X, y, labels=(-1, 1), radius=4.0), Sigmoid())
    with pytest.raises(ParameterError, match="likelihood"):
        Information(risk.start).admitted(risk.problem)
    assert ScoreMoment(risk.start).admitted(risk.problem).w.size == DIM
