"""Records on Dask workers: the same answers from any partitions, whatever becomes of the workers."""

from __future__ import annotations

import os
import pickle
import signal
import time
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy import sparse

import sottovoce as sv
from sottovoce import fitting
from sottovoce.accounting import QueryKind
from sottovoce.data import dask as distributed
from sottovoce.data import partitioned as parts
from sottovoce.data.dask_partitions import Part, fingerprint
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import ClusterError, DataError, ParameterError
from sottovoce.privacy import rounding
from sottovoce.privacy.noise import noise_for
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries import Preconditioner

N, DIM = 5000, 6
SECRET = 12345.678


def start(n_workers=2, **options):
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", **options)


@pytest.fixture(scope="module")
def client():
    with start(processes=False) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def processes():
    with start(processes=True) as cluster, Client(cluster) as client:
        yield client


def arrays(kind="binary", n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, DIM)) * (rng.random((n, DIM)) < 0.6)
    y = {
        "binary": rng.choice([-1, 1], n),
        "several": rng.choice([0, 1, 2], n),
        "number": rng.normal(size=n),
    }[kind]
    return X, y


def declared(kind):
    return (
        {"target": (-2.0, 2.0)}
        if kind == "number"
        else {"labels": (-1, 1) if kind == "binary" else (0, 1, 2)}
    )


def split(X, y, parts):
    """Uneven chunks."""
    cuts = np.linspace(0, 1, parts + 1) ** 1.5
    sizes = tuple(np.diff(np.round(cuts * len(y)).astype(int)).tolist())
    return da.from_array(X, chunks=(sizes, (2, DIM - 2))), da.from_array(y, chunks=(sizes,))


def risk_of(records):
    if records.target is not None:
        return sv.Risk(records, sv.losses.Cauchy(), sv.regularizers.L2(0.01))
    if len(records.labels) > 2:
        return sv.SoftmaxRisk(records, sv.regularizers.L2(0.01))
    return sv.Risk(records, sv.losses.Sigmoid(), sv.regularizers.Tukey(0.01))


def answers(records):
    risk = risk_of(records)
    rng = np.random.default_rng(1)
    w, p = rng.normal(size=risk.dim), rng.normal(size=risk.dim)
    value, gradient = risk.value_and_gradient(w)
    line = risk.along(w, p)
    return {
        "value": risk.value(w),
        "gradient": risk.gradient(w),
        "both": np.array([value, *gradient]),
        "hessian": risk.hessian(w),
        "gram": risk.gram(),
        "diagonal": risk.gram_diagonal(),
        "eigenvalue": risk.smallest_eigenvalue(w),
        "trials": risk.trials(w, np.stack([p, 0.1 * p])),
        "line": np.array([line.decrease(0.5), line.decrease(0.25)]),
        "part": risk.subset(np.arange(5, risk.n, 7)).gradient(w),
        "few": risk.subset(np.array([3])).gradient(w),
    }


def test_weights_and_other_coordinates_are_those_of_the_rows_in_memory(client):
    X, y = arrays()
    weights = np.random.default_rng(3).uniform(0.0, 2.0, N)
    chunked = split(X, y, 5)
    what = {"sample_weight": da.from_array(weights, chunks=700), "weight_cap": 1.5, "intercept": True}
    far = sv.Records.from_dask(*chunked, labels=(-1, 1), radius=2.0, client=client, **what)
    near = sv.Records.from_arrays(X, y, labels=(-1, 1), radius=2.0, **{**what, "sample_weight": weights})
    shift = np.append(np.full(DIM, 0.2), 0.0)
    preconditioner = Preconditioner(scale=np.linspace(0.5, 2.0, DIM + 1), cap=1.2, shift=shift, constant=DIM)
    one, other = (sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(0.1)) for records in (far, near))
    close(answers(far), answers(near))
    np.testing.assert_allclose(one.moments(), other.moments(), rtol=1e-12)
    inside, beside = one.preconditioned(preconditioner), other.preconditioned(preconditioner)
    u = np.linspace(-1.0, 1.0, DIM + 1)
    for ask in ("value", "gradient", "hessian"):
        np.testing.assert_allclose(getattr(inside, ask)(u), getattr(beside, ask)(u), atol=1e-12)
    for limit in (0.6, 0.2):
        limited = [risk.limited_gradient(4.0 * u, limit) for risk in (inside, beside)]
        np.testing.assert_allclose(*limited, atol=1e-12)
    np.testing.assert_allclose(inside.gram(), beside.gram(), atol=1e-12)
    np.testing.assert_allclose(inside.gram_diagonal(), beside.gram_diagonal(), atol=1e-12)
    some = np.arange(3, N, 11)
    np.testing.assert_allclose(inside.subset(some).gradient(u), beside.subset(some).gradient(u), atol=1e-12)
    assert inside.bounds.gradient(u) == pytest.approx(beside.bounds.gradient(u), rel=1e-9)


def close(one, other, rtol=1e-12):
    for name, numbers in one.items():
        scale = np.max(np.abs(one["hessian" if name == "eigenvalue" else name]))
        np.testing.assert_allclose(other[name], numbers, rtol=0, atol=rtol * scale, err_msg=name)


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize("kind", ["binary", "several", "number"])
def test_partitions_give_the_numbers_of_rows_in_memory(kind, parts, client):
    X, y = arrays(kind)
    held = sv.Records.from_arrays(X, y, intercept=True, **declared(kind))
    spread = sv.Records.from_dask(*split(X, y, parts), intercept=True, client=client, **declared(kind))
    assert (spread.n, spread.dim, spread.labels, spread.target) == (
        held.n,
        held.dim,
        held.labels,
        held.target,
    )
    assert repr(spread) == repr(held)
    close(answers(held), answers(spread))


def test_many_partitions_are_added_by_a_tree(client, monkeypatch):
    monkeypatch.setattr(distributed, "FAN_IN", 3)
    X, y = arrays()
    close(
        answers(sv.Records.from_arrays(X, y, labels=(-1, 1))),
        answers(sv.Records.from_dask(*split(X, y, 20), labels=(-1, 1), client=client)),
    )


def test_the_tree_of_most_parts_meets_no_more_additions_than_the_allowance_counts():
    assert parts.LEVELS * (parts.FAN_IN - 1) <= rounding.JOINING
    left, levels = parts.MOST_PARTS, 1
    while left > parts.FAN_IN:
        left, levels = -(-left // parts.FAN_IN), levels + 1
    assert levels == parts.LEVELS


def test_neither_partitions_nor_empty_ones_are_seen_in_the_noise(client):
    """A record replaced can empty a partition that is cut by value; 70 of them used to widen the noise."""
    X, y = arrays(n=400)
    held = risk_of(sv.Records.from_arrays(X, y, labels=(-1, 1))).bounds
    filled = split(X, y, 70)
    sizes = (0, *filled[0].chunks[0][:-1], 0, filled[0].chunks[0][-1])
    emptied = da.from_array(X, chunks=(sizes, (DIM,))), da.from_array(y, chunks=(sizes,))
    w = np.full(DIM, 0.1)
    for lazy in (filled, emptied, split(X, y, 2)):
        spread = risk_of(sv.Records.from_dask(*lazy, labels=(-1, 1), client=client))
        assert spread.bounds.arithmetic == held.arithmetic
        assert spread.bounds.gradient(w) == held.gradient(w)
        batch = spread.subset(np.arange(0, 400, 150)).bounds
        assert batch.arithmetic == replace(held.arithmetic, n=3)


def test_more_partitions_than_rounding_is_bounded_for_are_refused(client, monkeypatch):
    monkeypatch.setattr(distributed, "MOST_PARTS", 3)
    with pytest.raises(ParameterError, match="repartition"):
        sv.Records.from_dask(*split(*arrays(n=100), 4), labels=(-1, 1), client=client)


def test_sparse_chunks_stay_sparse(client):
    X, y = arrays()
    lazy, targets = split(X, y, 3)
    lazy = lazy.rechunk({1: -1}).map_blocks(sparse.csr_array)
    spread = sv.Records.from_dask(lazy, targets, labels=(-1, 1), client=client)
    assert spread.sparse
    close(answers(sv.Records.from_arrays(sparse.csr_array(X), y, labels=(-1, 1))), answers(spread))


SCHEMA = Schema(
    (Numeric("age", 0, 90), Categorical("region", ("north", "south"))), Target("y", classes=("no", "yes"))
)


def frame(n=3000):
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 120, n),
            "unused": rng.normal(size=n),
            "region": rng.choice(["north", "south", "elsewhere"], n),
            "y": rng.choice(["no", "yes"], n),
        }
    )


def test_a_dataframe_is_encoded_by_its_schema_on_the_workers(client):
    table = frame()
    features = sv.BoundedEncoder(SCHEMA).transform(table)
    held = sv.Records.from_arrays(features, table["y"].to_numpy(dtype=str), labels=("no", "yes"))
    lazy = dd.from_pandas(table, npartitions=4)
    emptied = lazy[lazy["age"] < 1000].map_partitions(lambda part: part)
    for given in (lazy, dd.concat([lazy.loc[lazy["age"] > 1000], emptied])):
        close(answers(held), answers(sv.Records.from_dask(given, schema=SCHEMA, client=client)))


def test_the_current_client_serves_if_none_is_named(client):
    X, y = arrays()
    assert sv.Records.from_dask(*split(X, y, 2), labels=(-1, 1)).n == N


def test_an_invalid_row_is_refused_without_its_value(client):
    X, y = arrays(n=100)
    y = y.astype(float)
    y[57] = SECRET
    with pytest.raises(DataError) as refused:
        sv.Records.from_dask(*split(X, y, 3), labels=(-1, 1), client=client)
    assert "12345" not in str(refused.value)
    blanked = sv.Records.from_dask(*split(X, y, 3), labels=(-1, 1), invalid="zero", client=client)
    assert blanked.n == 100


def test_what_does_not_fit_together_is_refused(client):
    X, y = arrays(n=100)
    lazy, targets = split(X, y, 3)
    with pytest.raises(ParameterError, match="dask array"):
        sv.Records.from_dask(X, y, labels=(-1, 1), client=client)
    with pytest.raises(ParameterError, match="exactly one"):
        sv.Records.from_dask(lazy, targets, client=client)
    with pytest.raises(ParameterError, match="dataframe"):
        sv.Records.from_dask(lazy, schema=SCHEMA, client=client)
    with pytest.raises(ParameterError, match="schema"):
        sv.Records.from_dask(lazy, schema=SCHEMA, labels=("no", "yes"), client=client)
    with pytest.raises(ParameterError, match="Client"):
        sv.Records.from_dask(lazy, targets, labels=(-1, 1), client="tcp://nowhere")
    with pytest.raises(DataError, match="region"):
        sv.Records.from_dask(
            dd.from_pandas(frame()[["age", "y"]], npartitions=2), schema=SCHEMA, client=client
        )
    with pytest.raises(DataError, match="chunks"):
        sv.Records.from_dask(lazy[lazy[:, 0] > 0], targets[:50].rechunk(50), labels=(-1, 1), client=client)
    with pytest.raises(DataError, match="no rows"):
        sv.Records.from_dask(
            dd.from_pandas(frame(n=50), npartitions=1).query("age > 1000"), schema=SCHEMA, client=client
        )


def test_only_a_worker_s_part_can_be_pickled(client):
    for X in (arrays()[0], sparse.csr_array(arrays()[0])):
        rows = sv.Records.from_arrays(X, arrays()[1], labels=(-1, 1))._rows
        part = Part(rows, fingerprint(rows))
        again = pickle.loads(pickle.dumps(part))
        assert again.fingerprint == part.fingerprint == fingerprint(again.rows)
        assert repr(again) == "Part(private)"
        assert again.__sizeof__() == part.__sizeof__() > 8 * N
        one, other = part.rows.block(0), again.rows.block(0)
        assert np.array_equal(one.targets, other.targets)
        assert abs(one.features - other.features).max() == 0
    records = sv.Records.from_dask(*split(*arrays(), 2), labels=(-1, 1), client=client)
    for held in (records, records._rows, risk_of(records)):
        with pytest.raises(DataError, match="private data"):
            pickle.dumps(held)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_a_fingerprint_tells_every_entry_target_weight_and_place(form):
    X, y = arrays(n=300)

    def print_of(X, y, weights=None):
        rows = sv.Records.from_arrays(form(X), y, labels=(-1, 1), sample_weight=weights)._rows
        return fingerprint(rows)

    known = print_of(X, y)
    assert known == print_of(X.copy(), y.copy())
    nudged, other = X.copy(), y.copy()
    nudged[299, np.flatnonzero(X[299])[0]] *= 1.5
    other[299] *= -1
    longer = np.concatenate((X, X)), np.concatenate((y, y))
    counted = np.full(300, 0.5)
    for changed in ((nudged, y), (X, other), (X[::-1], y[::-1]), (X[:-1], y[:-1]), longer, (X, y, counted)):
        assert print_of(*changed) != known
    weighed = print_of(X, y, counted)
    counted[299] = 0.25
    assert print_of(X, y, counted) != weighed


SOURCE = {}


def read_source(name, number):
    """Every second row of what the source holds now."""
    return SOURCE[name][number::2]


@pytest.mark.parametrize("what", ["rows", "one entry", "nothing"])
def test_a_source_that_changed_is_refused_when_a_lost_partition_is_made_again(what):
    X, y = arrays(n=2000)
    SOURCE.update(X=X, y=y)

    def lazy(name, width):
        read = dask.delayed(read_source, pure=False)
        return da.concatenate([da.from_delayed(read(name, k), (1000, *width), float) for k in range(2)])

    with start(n_workers=1, processes=False) as cluster, Client(cluster) as client:
        records = sv.Records.from_dask(lazy("X", (DIM,)), lazy("y", ()), labels=(-1, 1), client=client)
        risk, w = risk_of(records), np.full(DIM, 0.1)
        batch = risk.subset(np.arange(0, 2000, 3))
        before, few = risk.gradient(w), batch.gradient(w)
        if what == "rows":
            SOURCE.update(X=np.concatenate((X, X)), y=np.concatenate((y, y)))
        elif what == "one entry":
            nudged = X.copy()
            nudged[1999, 0] += 1.0
            SOURCE["X"] = nudged
        cluster.scale(2)
        client.wait_for_workers(2)
        client.sync(cluster.workers[0].close)
        if what == "nothing":
            assert np.array_equal(risk.gradient(w), before)
            assert np.array_equal(batch.gradient(w), few)
            return
        for ask in (risk.gradient, batch.gradient, risk.subset(np.arange(0, 2000, 5)).gradient):
            with pytest.raises(DataError, match="gave other rows") as refused:
                ask(w)
            assert not any(character.isdigit() for character in str(refused.value))


def fit(records, **options):
    budget = sv.Budget(epsilon=1.0, delta=1e-6)
    return sv.minimize(risk_of(records), budget=budget, simulate=5, **options)


def test_a_worker_that_dies_during_a_pass_changes_neither_answer_nor_charge(processes, tmp_path):
    X, y = arrays()
    wanted = fit(sv.Records.from_dask(*split(X, y, 4), labels=(-1, 1), client=processes), method="majorize")
    records = sv.Records.from_dask(*split(X, y, 4), labels=(-1, 1), client=processes)
    total, marks = type(records._rows).total, iter([str(tmp_path / "died")])

    def lethal(self, kernel, *arguments, **named):
        mark = next(marks, None)
        if mark is None:
            return total(self, kernel, *arguments, **named)

        def once(rows, *given, **by_name):
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return kernel(rows, *given, **by_name)
            return os.kill(os.getpid(), signal.SIGKILL)

        return total(self, once, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(records._rows), "total", lethal)
        found = fit(records, method="majorize")
    assert (tmp_path / "died").exists()
    assert np.array_equal(found.weights, wanted.weights)
    assert [row.mu_squared for row in found.trace] == [row.mu_squared for row in wanted.trace]
    assert found.stop == wanted.stop


def test_when_the_cluster_is_gone_nothing_is_released_and_the_charge_stays():
    X, y = arrays()
    with start(processes=False) as cluster, Client(cluster) as client:
        risk = risk_of(sv.Records.from_dask(*split(X, y, 2), labels=(-1, 1), client=client))
    ledger = sv.Ledger(sv.Budget(epsilon=1.0, delta=1e-6))
    run = ledger.run(sv.Budget(epsilon=0.5, delta=1e-7), "gone")
    oracle = Oracle(risk, run, noise_for(None))
    with pytest.raises(ClusterError, match="stays charged") as gone:
        oracle.gradient(np.zeros(DIM), run.share(3))
    assert gone.value.__cause__ is None
    assert [grant.event.query for grant in ledger.history] == [QueryKind.GRADIENT]
    assert ledger.units_spent > 0
    with pytest.raises(ClusterError):
        risk.subset(np.arange(10)).gradient(np.zeros(DIM))


def test_a_cluster_without_workers_is_given_up(monkeypatch):
    X, y = arrays()
    with start(processes=False) as cluster, Client(cluster) as client:
        risk = risk_of(sv.Records.from_dask(*split(X, y, 2), labels=(-1, 1), client=client))
        monkeypatch.setattr(distributed, "PATIENCE", 1.0)
        monkeypatch.setattr(distributed, "_POLL", 0.2)
        cluster.scale(0)
        while client.nthreads():
            time.sleep(0.05)
        with pytest.raises(ClusterError, match="TimeoutError"):
            risk.gradient(np.zeros(DIM))


def test_a_failing_task_passes_on_its_type_and_nothing_else(client):
    records = sv.Records.from_dask(*split(*arrays(), 2), labels=(-1, 1), client=client)

    def failing(rows):
        raise ValueError(f"row {rows.block(0).features[0]}")

    with pytest.raises(ClusterError, match=r"\(ValueError\)") as failed:
        records._rows.total(failing)
    assert "row" not in str(failed.value).split("(ValueError)")[0]
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Dask and pandas, between themselves
@pytest.mark.parametrize(
    ("target", "weighing"),
    [
        (SCHEMA.target, {}),
        (
            Target("y", classes=("yes", "no"), class_weight={"yes": 2.0}),
            {"weight": "unused", "weight_cap": 1.5},
        ),
        (Target("score", low=-1.0, high=4.0), {}),
    ],
)
def test_fit_on_a_cluster_gives_the_model_of_fit_in_memory(target, weighing, client, tmp_path):
    table = frame().assign(score=np.random.default_rng(2).normal(1.0, 2.0, 3000))
    table.to_parquet(tmp_path / "rows.parquet", index=False)
    schema = Schema(SCHEMA.columns, target, **weighing)
    options = {"epsilon": 1.0, "delta": 1e-6, "simulate": 4}
    one, other = (
        fitting.fit(tmp_path / "rows.parquet", schema, reading=sv.ReadOptions(dask=dask), **options)
        for dask in (None, client.scheduler.address)
    )
    np.testing.assert_allclose(other.result.weights, one.result.weights, rtol=0, atol=1e-11)
    with pytest.raises(ParameterError, match="Parquet"):
        fitting.fit(
            tmp_path / "rows.csv", schema, reading=sv.ReadOptions(dask=client.scheduler.address), **options
        )


def test_connected_starts_and_ends_a_local_cluster():
    with distributed.connected("local") as client:
        assert client.nthreads()
        address = client.scheduler.address
        with distributed.connected(address) as other:
            assert other.nthreads() == client.nthreads()
        assert client.nthreads()
    assert client.status == "closed"


def test_persons_over_partition_borders_are_gathered_by_their_keys(client):
    """Nothing is shuffled: keys come to the client, and rows of one person may lie in every partition."""
    X, y = arrays(n=900)
    keys = np.array([f"w{number % 70}" for number in range(900)])
    held = sv.Records.from_arrays(X, y, labels=(-1, 1), groups=keys, persons=80)
    spread = sv.Records.from_dask(
        *split(X, y, 6), labels=(-1, 1), groups=da.from_array(keys, chunks=200), persons=80, client=client
    )
    assert held.n == spread.n == 80
    close(answers(held), answers(spread))
    part = np.array([0, 5, 69, 79])
    w = np.linspace(-1.0, 1.0, DIM)
    one, other = (risk_of(records).subset(part, n=10).gradient(w) for records in (held, spread))
    np.testing.assert_allclose(one, other, atol=1e-9)
    with pytest.raises(ParameterError, match="in one place"):
        sv.minimize(risk_of(spread), budget=sv.Budget(1.0, 1e-5), inference=0.3)
    blank = da.from_array(np.where(keys == "w3", "", keys), chunks=200)
    with pytest.raises(DataError, match="count nothing"):
        sv.Records.from_dask(*split(X, y, 6), labels=(-1, 1), groups=blank, client=client)


def test_workers_are_started_here_and_not_beside_a_scheduler():
    for wrong in ({"workers": 0}, {"workers": True}, {"workers": 2, "dask": "tcp://127.0.0.1:1"}):
        with pytest.raises(ParameterError, match="workers"):
            sv.ReadOptions(**wrong)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Dask and pandas, between themselves
def test_local_workers_give_the_model_of_fit_in_memory(tmp_path):
    frame().to_parquet(tmp_path / "rows.parquet", index=False)
    options = {"epsilon": 1.0, "delta": 1e-6, "simulate": 4}
    one, other = (
        fitting.fit(tmp_path / "rows.parquet", SCHEMA, reading=sv.ReadOptions(workers=workers), **options)
        for workers in (None, 3)
    )
    np.testing.assert_allclose(other.result.weights, one.result.weights, rtol=0, atol=1e-11)


@pytest.mark.slow
def test_a_worker_killed_one_added_and_one_slowed_change_no_bit_of_the_weights():
    """The command for 5 x 10^7 rows, `python -m benchmarks.disturbed`, on a few of them."""
    from benchmarks.disturbed import disturbed

    found = disturbed(60_000, pause=0.3)
    assert found["workers killed"] == 1
    assert found["workers added"] == 1
    assert found["largest difference of weights"] == 0.0
