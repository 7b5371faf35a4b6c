"""Parquet read at every pass: the numbers of the same rows in memory, within a bound on memory."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.data import files as tables
from sottovoce.data import parquet as streams
from sottovoce.data import parquet_rows
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import DataError, ParameterError
from sottovoce.kernels import influence
from sottovoce.queries import Preconditioner

COLUMNS = (Numeric("age", 0, 90), Categorical("region", ("north", "south", "west")), Numeric("dose", -1, 1))
N = 20_000
SECRET = "hunter2"


def schema_for(kind):
    target = {
        "binary": Target("y", classes=("no", "yes")),
        "several": Target("y", classes=("a", "b", "c")),
        "number": Target("y", low=-2.0, high=2.0),
    }[kind]
    return Schema(COLUMNS, target)


def table_for(kind, n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = {
        "binary": rng.choice(["no", "yes"], n),
        "several": rng.choice(["a", "b", "c"], n),
        "number": rng.normal(size=n),
    }[kind]
    return pa.table(
        {
            "dose": rng.normal(size=n),
            "region": rng.choice(["north", "south", "west", "nowhere"], n),
            "y": y,
            "unused": rng.normal(size=n),
            "age": rng.integers(0, 120, n),
        }
    )


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    """A piece of every block."""
    monkeypatch.setattr("sottovoce.data.parquet.PIECE_BYTES", 1)


@pytest.fixture
def file(tmp_path):
    def write(kind, *, table=None, group=3001):
        path = tmp_path / f"{kind}.parquet"
        pq.write_table(table if table is not None else table_for(kind), path, row_group_size=group)
        return path

    return write


def in_memory(path, schema):
    return sv.Records.from_table(path, schema)


def risk_of(records):
    if records.target is not None:
        return sv.Risk(records, sv.losses.Cauchy(), sv.regularizers.L2(0.01))
    if len(records.labels) > 2:
        return sv.SoftmaxRisk(records, sv.regularizers.L2(0.01))
    return sv.Risk(records, sv.losses.Sigmoid(), sv.regularizers.L2(0.01))


def answers(records):
    risk = risk_of(records)
    rng = np.random.default_rng(1)
    w, p = rng.normal(size=risk.dim), rng.normal(size=risk.dim)
    value, gradient = risk.value_and_gradient(w)
    preconditioner = Preconditioner(scale=np.geomspace(0.5, 2.0, records.dim), cap=0.5)
    return {
        "value": risk.value(w),
        "gradient": risk.gradient(w),
        "both": (value, *gradient),
        "hessian": risk.hessian(w),
        "gram": risk.gram(),
        "diagonal": risk.gram_diagonal(),
        "moments": risk.moments(),
        "counts": influence.counts(records._rows, preconditioner, 1.0),
        "trials": risk.trials(w, np.stack([p, 0.1 * p])),
        "part": risk.subset(np.arange(5, risk.n, 7)).gradient(w),
        "bound": risk.bounds.gradient(w),
    }


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
@pytest.mark.parametrize(
    ("memory", "spool"), [(0, True), (0, False), (300_000, True), (300_000, False), (10**9, True)]
)
@pytest.mark.parametrize("kind", ["binary", "several", "number"])
def test_a_file_gives_the_numbers_of_its_rows_in_memory(kind, memory, spool, kernels, file, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    schema, path = schema_for(kind), file(kind)
    held, read = in_memory(path, schema), sv.Records.from_parquet(path, schema, memory=memory, spool=spool)
    assert (read.n, read.dim, read.labels, read.target) == (held.n, held.dim, held.labels, held.target)
    one, other = answers(held), answers(read)
    for name, numbers in one.items():
        assert np.array_equal(numbers, other[name]), name
    w, p = np.ones(risk_of(held).dim), np.full(risk_of(held).dim, -0.3)
    lines = [risk_of(records).along(w, p).decrease(0.5) for records in (held, read)]
    assert lines[0] == pytest.approx(lines[1], rel=1e-12)


def test_no_more_rows_are_kept_than_fit(file):
    path, schema = file("binary"), schema_for("binary")
    rows = [sv.Records.from_parquet(path, schema, memory=bytes_)._rows for bytes_ in (0, 200_000, 10**9)]
    kept = [sum(block.nbytes for block in held._kept) for held in rows]
    assert kept[0] == 0
    assert 0 < kept[1] <= 200_000
    assert N <= kept[2] / rows[2].layout.row_bytes < N + rows[2].layout.tile


@pytest.mark.parametrize("group", [1, 999, 8192, N])
def test_row_groups_may_end_anywhere(group, file):
    table = table_for("binary", n=2500 if group == 1 else N)
    path, schema = file("binary", table=table, group=group), schema_for("binary")
    one = in_memory(path, schema)._rows
    for memory, spool in ((0, False), (0, True), (180_000, False), (180_000, True)):
        other = sv.Records.from_parquet(path, schema, memory=memory, spool=spool)._rows
        for index, block in enumerate(other.read()):
            assert np.array_equal(block.features[:], one.block(index).features[:])
            assert np.array_equal(block.targets, one.block(index).targets)
        assert index + 1 == one.blocks


def test_a_folder_is_its_files_in_the_order_of_their_names(tmp_path):
    table, schema = table_for("binary"), schema_for("binary")
    pq.write_table(table, tmp_path / "all.pq")
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, (first, last) in enumerate([(0, 7000), (7000, 7001), (7001, N)]):
        pq.write_table(table.slice(first, last - first), folder / f"{number}.parquet", row_group_size=2222)
    whole = sv.Records.from_parquet(tmp_path / "all.pq", schema)
    split = sv.Records.from_parquet(folder, schema, memory=250_000)
    one, other = answers(whole), answers(split)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_radius_below_one_clips_as_in_memory(file):
    path, schema = file("binary"), schema_for("binary")
    table = tables.read(path, schema)
    held = sv.Records.from_arrays(table.features, table.target, radius=0.4, labels=("no", "yes"))
    read = sv.Records.from_parquet(path, schema, 0.4, memory=0)
    assert read.radius == 0.4
    assert np.array_equal(answers(held)["gradient"], answers(read)["gradient"])


def test_a_whole_fit_reads_the_file_as_often_as_it_needs(file):
    path, schema = file("binary"), schema_for("binary")
    weights = [
        sv.minimize(risk_of(records), budget=sv.Budget(epsilon=1.0, delta=1e-6), simulate=3).weights
        for records in (in_memory(path, schema), sv.Records.from_parquet(path, schema, memory=0))
    ]
    assert np.array_equal(*weights)


@pytest.mark.parametrize("kind", ["binary", "several", "number"])
def test_fit_reads_a_parquet_file_as_it_reads_the_table_in_memory(kind, file, monkeypatch, tmp_path):
    """Beyond memory too, spooled or not: the model is the same to the last bit."""
    table = table_for(kind, n=3000)
    path, schema = file(kind, table=table), schema_for(kind)
    given = {"epsilon": 1.0, "delta": 1e-6, "simulate": 3, "method": "majorize"}
    wanted = sv.fit(table, schema, **given).result.weights
    bounded = parquet_rows.bounded
    monkeypatch.setattr(
        parquet_rows, "bounded", lambda *args, **named: bounded(*args, **{**named, "memory": 10_000})
    )
    for spool in (True, False, tmp_path):
        assert np.array_equal(
            sv.fit(path, schema, reading=sv.ReadOptions(spool=spool), **given).result.weights, wanted
        )


def test_fit_finds_columns_of_a_parquet_file_whose_names_have_spaces_around_them(file):
    table = table_for("binary", n=500)
    spaced = table.rename_columns([f" {name} " for name in table.column_names])
    given = {"epsilon": 1.0, "delta": 1e-6, "simulate": 3, "method": "majorize"}
    wanted = sv.fit(table, schema_for("binary"), **given).result.weights
    found = sv.fit(file("binary", table=spaced), schema_for("binary"), **given).result.weights
    assert np.array_equal(found, wanted)


def test_a_file_that_changes_is_refused_before_and_during_a_pass(file, monkeypatch):
    path, schema = file("binary"), schema_for("binary")
    risk = risk_of(sv.Records.from_parquet(path, schema, memory=0, spool=False))
    later = risk_of(sv.Records.from_parquet(path, schema, memory=0, spool=False))
    batches = streams._batches

    def touching(*arguments):
        yield from batches(*arguments)
        os.utime(path, ns=(1, 1))

    monkeypatch.setattr(streams, "_batches", touching)
    with pytest.raises(DataError, match="changed"):
        risk.gradient(np.ones(risk.dim))
    monkeypatch.undo()
    with pytest.raises(DataError, match="changed"):
        later.gradient(np.ones(risk.dim))
    path.unlink()
    with pytest.raises(DataError, match="no longer there"):
        later.gradient(np.ones(risk.dim))


def test_an_abandoned_reading_leaves_no_thread(file):
    rows = sv.Records.from_parquet(file("binary"), schema_for("binary"), memory=0, spool=False)._rows
    source = rows.read()
    next(source)
    source.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sottovoce-read")]


def test_the_reader_stays_a_few_items_ahead_and_keeps_their_order(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", "3")
    made, gate = [], threading.Event()

    def source():
        for item in range(20):
            made.append(item)
            yield item
        gate.set()

    def slowly(item):
        time.sleep(0.02 * (item % 3))
        return 10 * item

    items = streams.ahead(source(), slowly, depth=3)
    assert next(items) == 0
    assert not gate.wait(0.2)
    assert len(made) <= 6
    assert list(items) == list(range(10, 200, 10))


def bad_target():
    table = table_for("binary", n=3000)
    y = table.column("y").to_pylist()
    y[1777] = SECRET
    return table.set_column(table.column_names.index("y"), "y", pa.array(y))


def test_an_invalid_row_is_refused_without_a_word_or_blanked(file):
    path, schema = file("binary", table=bad_target()), schema_for("binary")
    with pytest.raises(DataError) as refused:
        sv.Records.from_parquet(path, schema)
    assert SECRET not in str(refused.value)
    assert "1777" not in str(refused.value)
    assert refused.value.__cause__ is None
    blanked = sv.Records.from_parquet(path, schema, invalid="zero", memory=0)
    features = np.concatenate([block.features[:] for block in blanked._rows.read()])
    assert not features[1777].any()
    assert blanked._rows.targets[1777] == -1.0
    assert SECRET not in repr(blanked)


def test_what_cannot_be_read_is_refused_by_name(file, tmp_path):
    path, schema = file("binary"), schema_for("binary")
    with pytest.raises(ParameterError, match="target"):
        sv.Records.from_parquet(path, Schema(COLUMNS))
    with pytest.raises(DataError, match="height"):
        sv.Records.from_parquet(path, Schema((*COLUMNS, Numeric("height", 0, 3)), schema.target))
    with pytest.raises(ParameterError, match="memory"):
        sv.Records.from_parquet(path, schema, memory=-1)
    with pytest.raises(ParameterError, match="invalid"):
        sv.Records.from_parquet(path, schema, invalid="drop")
    with pytest.raises(DataError, match="no file"):
        sv.Records.from_parquet(tmp_path / "absent.parquet", schema)
    with pytest.raises(DataError, match=r"no \.parquet file"):
        sv.Records.from_parquet(tmp_path / "..", schema)
    (tmp_path / "text.parquet").write_text("age,dose\n1,2\n")
    with pytest.raises(DataError, match="Parquet"):
        sv.Records.from_parquet(tmp_path / "text.parquet", schema)
    pq.write_table(table_for("binary").slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(DataError, match="no rows"):
        sv.Records.from_parquet(tmp_path / "empty.parquet", schema)
