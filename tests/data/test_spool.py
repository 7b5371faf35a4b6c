"""Encoded rows on disk: without a name, for their owner alone, gone after a crash, refused without room."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections import namedtuple
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.data import parquet as reading
from sottovoce.data import spool as spooling
from sottovoce.data.files import read_compact
from sottovoce.data.parquet_rows import SpooledRows, StreamedRows
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.data.spool import ArrayForm, Spool
from sottovoce.errors import DataError, ParameterError
from tests.data.test_streams import risk_of, schema_for, table_for

SCHEMA = schema_for("binary")


@pytest.fixture
def path(tmp_path):
    where = tmp_path / "table.parquet"
    pq.write_table(table_for("binary"), where, row_group_size=3001)
    return where


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    """A piece of every block."""
    monkeypatch.setattr(reading, "PIECE_BYTES", 1)


@pytest.fixture
def folder(tmp_path):
    where = tmp_path / "spool"
    where.mkdir()
    return where


def test_the_file_has_no_name_and_is_its_owners_alone(path, folder):
    records = sv.Records.from_parquet(path, SCHEMA, memory=0, spool=folder)
    assert isinstance(records._rows, SpooledRows)
    state = os.fstat(records._rows._spool._file.fileno())
    assert state.st_size >= records.n * records._rows.layout.row_bytes
    assert state.st_mode & 0o077 == 0
    assert state.st_nlink == 0
    assert list(folder.iterdir()) == []


def test_records_that_are_gone_give_their_room_back(path, folder):
    records = sv.Records.from_parquet(path, SCHEMA, memory=0, spool=folder)
    file = records._rows._spool._file
    del records
    gc.collect()
    assert file.closed


def test_a_killed_process_leaves_nothing(path, folder):
    code = f"""
import os, signal, numpy as np, sottovoce as sv
from tests.data.test_spool import SCHEMA, risk_of
risk = risk_of(sv.Records.from_parquet({str(path)!r}, SCHEMA, memory=0, spool={str(folder)!r}))
risk.gradient(np.ones(risk.dim))
print("alive", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "alive"
    assert done.returncode != 0
    assert list(folder.iterdir()) == []


def test_a_failed_reading_leaves_nothing(tmp_path, folder):
    table = table_for("binary", n=3000)
    y = table.column("y").to_pylist()
    y[2999] = "undeclared"
    bad = tmp_path / "bad.parquet"
    pq.write_table(table.set_column(table.column_names.index("y"), "y", pa.array(y)), bad)
    with pytest.raises(DataError):
        sv.Records.from_parquet(bad, SCHEMA, memory=0, spool=folder)
    assert list(folder.iterdir()) == []


def test_a_file_that_changes_after_it_was_spooled_is_refused(path, folder):
    risk = risk_of(sv.Records.from_parquet(path, SCHEMA, memory=0, spool=folder))
    risk.gradient(np.ones(risk.dim))
    os.utime(path, ns=(1, 1))
    for ask in (
        lambda: risk.gradient(np.ones(risk.dim)),
        lambda: risk.gram(),
        lambda: risk.subset(np.array([risk.n - 1])),
    ):
        with pytest.raises(DataError, match="changed"):
            ask()


def test_what_is_kept_whole_in_memory_needs_its_file_no_more(path, folder):
    risk = risk_of(sv.Records.from_parquet(path, SCHEMA, spool=folder))
    path.unlink()
    assert np.isfinite(risk.gradient(np.ones(risk.dim))).all()


def test_passes_over_a_spool_use_every_thread_and_streams_one(path):
    rows = [sv.Records.from_parquet(path, SCHEMA, memory=0, spool=spool)._rows for spool in (True, False)]
    assert [held.streamed for held in rows] == [False, True]
    assert isinstance(rows[1], StreamedRows)


def test_too_little_room_is_refused_before_a_row_is_read(path, folder, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(spooling.shutil, "disk_usage", lambda _: usage(10**6, 0, 1000))
    monkeypatch.setattr("sottovoce.data.parquet._batches", lambda *_: pytest.fail("a row was read"))
    with pytest.raises(ParameterError, match=r"1e-06 GB are free.*spool=False"):
        sv.Records.from_parquet(path, SCHEMA, memory=0, spool=folder)


def test_nothing_tells_how_many_rows_persons_have(tmp_path, folder, monkeypatch):
    """Of two files with the same persons, one with rows enough for many more pieces."""
    usage = namedtuple("usage", "total used free")
    schema = Schema((Numeric("x", 0, 1),), Target("y", ("a", "b")), person="who")
    said = []
    for rows in (20, 40_000):
        path = tmp_path / f"{rows}" / "persons.parquet"
        path.parent.mkdir()
        who = [f"p{row % 4}" for row in range(rows)]
        pq.write_table(pa.table({"x": [0.5] * rows, "y": ["a", "b"] * (rows // 2), "who": who}), path)
        told = []
        monkeypatch.setattr(
            "sottovoce.data.parquet_rows.waiting",
            lambda _, words: told.append(words) or nullcontext(),  # noqa: B023
        )
        records = sv.Records.from_parquet(path, schema, memory=0, spool=folder, progress=True)
        told.append(repr(records))
        held = read_compact(path, schema)
        told += [repr(held), repr(held.features)]
        with monkeypatch.context() as patch:
            patch.setattr(spooling.shutil, "disk_usage", lambda _: usage(10**6, 0, 10))
            with pytest.raises(ParameterError) as refused:
                sv.Records.from_parquet(path, schema, memory=0, spool=folder)
        said.append([*told, str(refused.value)])
    assert said[0] == said[1]


def test_a_disk_that_fills_up_is_refused_without_context(folder):
    spool = Spool(folder, forms=[ArrayForm(np.dtype(np.float32), (8, 2))], blocks=1)

    class Full:
        def seek(self, place):
            raise OSError(28, "No space left on device")

    spool._file = Full()
    with pytest.raises(ParameterError, match="nothing more can be written") as refused:
        spool.append([np.ones((8, 2), dtype=np.float32)])
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


@pytest.mark.parametrize("wrong", ["absent", 1, None, b"x"])
def test_a_place_that_is_no_folder_is_refused(wrong, path, tmp_path):
    with pytest.raises(ParameterError, match="spool"):
        sv.Records.from_parquet(path, SCHEMA, spool=tmp_path / wrong if wrong == "absent" else wrong)


def test_blocks_come_back_in_any_order_and_cannot_be_written(folder):
    rng = np.random.default_rng(0)
    blocks = [
        (rng.normal(size=(length, 3)).astype(np.float32), rng.integers(0, 9, (length, 5, 3), dtype=np.uint16))
        for length in (500, 500, 7)
    ]
    forms = ArrayForm(np.dtype(np.float32), (500, 3)), ArrayForm(np.dtype(np.uint16), (500, 5, 3))
    spool = Spool(folder, forms=forms, blocks=3)
    for block in blocks:
        spool.append(block)
    for index in (2, 0, 1, 0):
        for found, given in zip(spool.block(index), blocks[index], strict=True):
            assert np.array_equal(found, given)
            assert not found.flags.writeable
    with pytest.raises(DataError, match="never copied"):
        pickle.dumps(spool)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="mappings are listed on Linux alone")
def test_no_block_stays_mapped_once_a_pass_is_over(path, folder):
    risk = risk_of(sv.Records.from_parquet(path, SCHEMA, memory=0, spool=folder))
    held = risk.records._rows.block(0)
    assert str(folder) in Path("/proc/self/maps").read_text()
    del held
    risk.gradient(np.ones(risk.dim))
    assert str(folder) not in Path("/proc/self/maps").read_text()


def test_a_batch_reads_the_blocks_it_needs_and_gives_the_same_rows(path, folder, monkeypatch):
    rows = sv.Records.from_parquet(path, SCHEMA, memory=0, spool=folder)._rows
    indices = np.array([3, rows.n - 2, rows.n - 1])
    whole = np.concatenate([block.features[:] for block in rows.read()])
    read, block = [], Spool.block
    monkeypatch.setattr(Spool, "block", lambda spool, index: read.append(index) or block(spool, index))
    taken = rows.take(indices)
    assert np.array_equal(taken.block(0).features[:], whole[indices])
    assert np.array_equal(taken.targets, rows.targets[indices])
    assert read == [0, rows.blocks - 1]
    assert rows.take(np.array([], dtype=np.int64)).n == 0


@pytest.mark.parametrize("memory", [0, 2**19])
def test_pieces_of_several_blocks_hold_the_same_blocks(path, folder, monkeypatch, memory):
    whole = sv.Records.from_parquet(path, SCHEMA)._rows
    single = sv.Records.from_parquet(path, SCHEMA, memory=memory, spool=folder)._rows
    bytes_ = whole.layout.row_bytes * whole.block_length
    monkeypatch.setattr(reading, "PIECE_BYTES", 2 * bytes_)
    paired = sv.Records.from_parquet(path, SCHEMA, memory=memory, spool=folder)._rows
    assert whole.blocks >= 3
    assert [len(piece.targets) for piece in paired.run(0, 3)] == [
        2 * whole.block_length,
        whole.n - 2 * whole.block_length,
    ]
    for rows in (single, paired):
        for index in range(whole.blocks):
            one, other = whole.block(index), rows.block(index)
            assert np.array_equal(one.features[:], other.features[:])
            assert np.array_equal(one.targets, other.targets)
        pieces = [piece.features[:] for piece in rows.run(1, rows.blocks)]
        later = [whole.block(index).features[:] for index in range(1, whole.blocks)]
        assert np.array_equal(np.concatenate(pieces), np.concatenate(later))
