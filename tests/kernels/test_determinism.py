"""Wherever rows are held and however many threads read them, a simulated run releases the same answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

import sottovoce as sv
from sottovoce.data import blocks
from sottovoce.data import files as tables
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.privacy.noise import noise_for
from sottovoce.privacy.oracle import Oracle
from tests.accuracy import Accuracy

N = 3000
SCHEMA = Schema(
    (*(Numeric(f"x{j}", -2, 2) for j in range(6)), Categorical("site", ("a", "b", "c"))),
    Target("y", classes=("no", "yes")),
)
PLACES = (
    "1 thread",
    "2 threads",
    "parquet",
    "parquet, half kept",
    "parquet, spooled",
    "dask 1",
    "dask 3",
    "dask 7",
)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(8)
    columns = {f"x{j}": rng.normal(size=N) for j in range(6)}
    columns["site"] = rng.choice(["a", "b", "c", "d"], N)
    columns["y"] = np.where(columns["x0"] + 0.5 * rng.normal(size=N) > 0, "yes", "no")
    where = tmp_path_factory.mktemp("data") / "rows.parquet"
    pq.write_table(pa.table(columns), where, row_group_size=701)
    return where


def records_at(place, path, client, monkeypatch):
    """The same rows, in short blocks so that few of them make many sums."""
    import dask.dataframe as dd

    monkeypatch.setattr(blocks, "dense_block_length", lambda dim: 64)
    monkeypatch.setenv("SOTTOVOCE_THREADS", "2" if place == "2 threads" else "1")
    if place.startswith("parquet"):
        held = {"memory": 60_000 if "half" in place else 0, "spool": "spooled" in place}
        return sv.Records.from_parquet(path, SCHEMA, **held)
    table = tables.read(path, SCHEMA)
    if "thread" in place:
        return sv.Records.from_arrays(table.features, table.target, labels=SCHEMA.target.classes)
    frame = dd.from_pandas(pq.read_table(path).to_pandas(), npartitions=int(place[-1]))
    return sv.Records.from_dask(frame, schema=SCHEMA, client=client)


def released(records):
    """One of each query, at seeded noise."""
    risk = sv.Risk(records, sv.losses.Sigmoid(), sv.regularizers.Tukey(1e-3))
    run = sv.Ledger(sv.Budget(epsilon=8.0, delta=1e-6)).run(sv.Budget(epsilon=8.0, delta=1e-6), "all")
    oracle = Oracle(risk, run, noise_for(11))
    rng = np.random.default_rng(3)
    w, p = rng.normal(size=risk.dim), rng.normal(size=risk.dim)
    units = run.share(12)
    answers = {
        "gradient": oracle.gradient(w, units).value,
        "hessian": oracle.hessian(w, units).value,
        "gram": oracle.gram(units).value,
        "diagonal": oracle.gram_diagonal(units).value,
        "norm": oracle.gradient_norm(w, units).value,
        "eigenvalue": oracle.smallest_eigenvalue(w, units).value,
        "trials": oracle.trials(w, np.stack([p, -p]), units).value,
        "grid": oracle.grid(w, p, 1.0, 0.5, 4, units).value,
        "value": oracle.value(w, units).value,
        "backtrack": oracle.backtrack(w, p, np.array([1.0, 0.5, 0.25]), np.zeros(3), units) or -1,
    }
    fitted = sv.minimize(risk, budget=sv.Budget(epsilon=1.0, delta=1e-6), method="majorize", simulate=2)
    return answers | {"weights": fitted.weights}, len(fitted.trace), fitted.stop


def agree(one, other, rtol):
    answers, steps, stop = one
    again, steps_again, stop_again = other
    assert (steps, stop) == (steps_again, stop_again)
    for name, numbers in answers.items():
        distance = np.linalg.norm(np.subtract(numbers, again[name]))
        assert distance <= rtol * np.linalg.norm(numbers), name


@pytest.fixture(scope="module")
def wanted(path, client):
    """What rows in memory release by one thread and the reference."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOTTOVOCE_KERNELS", "reference")
        return released(records_at("1 thread", path, client, patch))


@pytest.mark.parametrize(("kernels", "rtol"), [("reference", 1e-12), ("compiled", 1e-6)])
@pytest.mark.parametrize("place", PLACES)
def test_released_answers_are_the_same_wherever_rows_are_held(
    place, kernels, rtol, wanted, path, client, monkeypatch
):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    agree(wanted, released(records_at(place, path, client, monkeypatch)), rtol)


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
@pytest.mark.parametrize("place", PLACES)
def test_the_allowance_covers_what_places_and_paths_differ_by(place, kernels, path, client, monkeypatch):
    w = np.random.default_rng(5).normal(size=10)
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    loss = sv.losses.Logistic()
    one = sv.Risk(records_at("1 thread", path, client, monkeypatch), loss)
    wanted = one.gradient(w)
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    other = sv.Risk(records_at(place, path, client, monkeypatch), loss)
    assert other.bounds.arithmetic.block_length == one.bounds.arithmetic.block_length
    assert other.bounds.gradient(w) == one.bounds.gradient(w)
    slopes = {"slope": 1.0, "curvature": 0.25, "weight_norm": float(np.linalg.norm(w))}
    assert np.linalg.norm(other.gradient(w) - wanted) <= 2.0 * Accuracy(one.bounds.arithmetic).gradient(
        **slopes
    )
