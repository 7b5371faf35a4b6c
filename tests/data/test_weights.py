"""Sample weights: declared by a cap, read one by one, and the same in every kernel."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from sottovoce.data.records import Records
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.errors import DataError, ParameterError
from sottovoce.losses import Cauchy, Logistic, PseudoHuber, Savage
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.queries import Preconditioner

N, DIM = 300, 5


def table(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, DIM)) * 0.3, rng.integers(0, 3, N), rng.uniform(0.0, 2.0, N)


def declared(kind, codes):
    if kind == "softmax":
        return codes, {"labels": (0, 1, 2)}
    if kind.kind.name == "MARGIN":
        return np.where(codes > 0, 1, -1), {"labels": (-1, 1)}
    return codes / 2.0, {"target": (0.0, 1.0)}


def risk_of(kind, X, y, what, weights=None, cap=2.0):
    given = {} if weights is None else {"sample_weight": weights, "weight_cap": cap}
    records = Records.from_arrays(X, y, **what, **given)
    return SoftmaxRisk(records) if kind == "softmax" else Risk(records, kind)


def answers(risk, seed=5):
    rng = np.random.default_rng(seed)
    w, steps = rng.normal(size=risk.dim), rng.normal(size=(2, risk.dim))
    return {
        "value": risk.value(w),
        "gradient": risk.gradient(w),
        "both": np.append(*reversed(risk.value_and_gradient(w))),
        "hessian": risk.hessian(w),
        "gram": risk.gram(),
        "diagonal": risk.gram_diagonal(),
        "moments": risk.moments(),
        "trials": risk.trials(w, steps),
        "line": risk.along(w, steps[0]).decrease(0.7),
    }


KINDS = [Logistic(), Savage(), PseudoHuber(0.5), Cauchy(), "softmax"]


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_record_counts_by_its_weight_in_every_sum(kind, csr, kernels, monkeypatch):
    """Weights of 0, 1 and 2 are records left out, given once and given twice; n stays."""
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    X, codes, _ = table()
    counts = np.random.default_rng(1).integers(0, 3, N)
    y, what = declared(kind, codes)
    again = np.repeat(np.arange(N), counts)
    wrap = sparse.csr_array if csr else np.asarray
    weighted = answers(risk_of(kind, wrap(X), y, what, counts))
    repeated = answers(risk_of(kind, wrap(X[again]), y[again], what))
    for name, answer in weighted.items():
        np.testing.assert_allclose(
            answer * N, repeated[name] * again.size, rtol=1e-9, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_equal_weights_only_scale_the_mean(kind, kernels, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    X, codes, _ = table()
    y, what = declared(kind, codes)
    plain, half = answers(risk_of(kind, X, y, what)), answers(risk_of(kind, X, y, what, np.full(N, 0.5)))
    for name, answer in half.items():
        np.testing.assert_allclose(answer, 0.5 * plain[name], rtol=1e-10, atol=1e-12, err_msg=name)


def test_subsets_keep_the_weights_of_their_records():
    X, codes, weights = table()
    y, what = declared(Logistic(), codes)
    for wrap in (np.asarray, sparse.csr_array):
        risk = risk_of(Logistic(), wrap(X), y, what, weights)
        odd = np.arange(1, N, 2)
        part = risk_of(Logistic(), wrap(X)[odd], y[odd], what, weights[odd])
        np.testing.assert_allclose(risk.subset(odd).gradient(np.ones(DIM)), part.gradient(np.ones(DIM)))


def test_weights_are_clipped_to_the_declared_cap_each_by_itself():
    X, codes, _ = table()
    y, what = declared(Logistic(), codes)
    given = np.linspace(-1.0, 4.0, N)
    risk = risk_of(Logistic(), X, y, what, given, cap=1.5)
    clipped = risk_of(Logistic(), X, y, what, np.clip(given, 0.0, 1.5), cap=1.5)
    assert np.array_equal(risk.gradient(np.ones(DIM)), clipped.gradient(np.ones(DIM)))
    assert (risk.problem.weight, risk.problem.lightest) == (1.5, 0.0)
    assert "weight_cap=1.5" in repr(risk.records)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_not_finite_blanks_its_record_or_refuses_the_data(wrong):
    X, codes, weights = table()
    y, what = declared(Logistic(), codes)
    weights[7] = wrong
    with pytest.raises(DataError) as refusal:
        Records.from_arrays(X, y, **what, sample_weight=weights, weight_cap=2.0)
    assert str(wrong) not in str(refusal.value).replace("NaN, infinity", "")
    blanked = Records.from_arrays(X, y, **what, sample_weight=weights, weight_cap=2.0, invalid="zero")
    assert blanked._rows.weights[7] == 0.0
    assert not blanked._rows.block(0).features[7].any()


@pytest.mark.parametrize("cap", [0.0, -1.0, np.nan, np.inf, "1", True, None, 1e9])
def test_a_cap_that_is_none_is_refused(cap):
    X, codes, weights = table()
    y, what = declared(Logistic(), codes)
    with pytest.raises(ParameterError, match="weight_cap"):
        Records.from_arrays(X, y, **what, sample_weight=weights, weight_cap=cap)


@pytest.mark.parametrize("wrong", [np.ones(N - 1), np.ones((N, 1)), np.zeros(N, "M8[s]"), "text", object()])
def test_weights_of_another_shape_or_type_are_refused(wrong):
    X, codes, _ = table()
    y, what = declared(Logistic(), codes)
    with pytest.raises(DataError, match="sample_weight"):
        Records.from_arrays(X, y, **what, sample_weight=wrong)


def test_the_callers_weights_are_only_read():
    X, codes, _ = table()
    y, what = declared(Logistic(), codes)
    weights = np.linspace(-1.0, 9.0, N)
    kept = weights.copy()
    Records.from_arrays(X, y, **what, sample_weight=weights, invalid="zero")
    assert np.array_equal(weights, kept)
    assert weights.flags.writeable


def test_one_weight_changes_no_other_and_none_of_the_rows():
    X, codes, weights = table()
    y, what = declared(Logistic(), codes)
    one = Records.from_arrays(X, y, **what, sample_weight=weights, weight_cap=2.0)._rows
    weights[3] = 1e300
    two = Records.from_arrays(X, y, **what, sample_weight=weights, weight_cap=2.0)._rows
    assert np.array_equal(np.delete(one.weights, 3), np.delete(two.weights, 3))
    assert np.array_equal(one.block(0).features, two.block(0).features)


def test_a_parquet_file_takes_weights_in_the_order_of_its_rows(tmp_path):
    rng = np.random.default_rng(2)
    y = rng.choice(["no", "yes"], N)
    columns = {"a": rng.uniform(-1.0, 1.0, N), "b": rng.uniform(0.0, 3.0, N), "y": y}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=70)
    schema = Schema((Numeric("a", -1, 1), Numeric("b", 0, 2)), Target("y", classes=("no", "yes")))
    weights = rng.uniform(0.0, 1.0, N)
    for memory in (0, 10**8):
        streamed = Records.from_parquet(
            tmp_path / "rows.parquet", schema, memory=memory, sample_weight=weights
        )
        rows = np.concatenate([block.features[:] for block in streamed._rows.read()])
        held = Records.from_arrays(rows, y, labels=("no", "yes"), constant=True, sample_weight=weights)
        one, other, w = Risk(streamed, Logistic()), Risk(held, Logistic()), np.ones(streamed.dim)
        last = streamed.dim - 1
        assert streamed.constant == held.constant == last
        shift = np.append(np.full(last, 0.1), 0.0)
        preconditioner = Preconditioner(scale=np.full(last + 1, 2.0), cap=0.7, shift=shift, constant=last)
        for query in (one.gradient, one.hessian):
            np.testing.assert_allclose(query(w), getattr(other, query.__name__)(w), atol=1e-12)
        np.testing.assert_allclose(one.moments(), other.moments(), atol=1e-12)
        capped = [risk.preconditioned(preconditioner) for risk in (one, other)]
        np.testing.assert_allclose(capped[0].gradient(w), capped[1].gradient(w), atol=1e-12)
