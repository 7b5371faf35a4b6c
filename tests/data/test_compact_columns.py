"""Columns written straight into tiles: the rows, targets and refusals of the reference, whatever the type."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.data.compact import Compact
from sottovoce.data.compact_columns import TileWriter
from sottovoce.data.layout import RowLayout
from sottovoce.data.numbers import Binned, Spline
from sottovoce.data.pieces import Piece, PieceReader, zeros
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import DataError

N = 700
WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
FLOATS = [pa.float16(), pa.float32(), pa.float64()]
USUAL = [pa.int8(), pa.int64(), pa.float64()]
KINDS = [
    kind if kind in USUAL else pytest.param(kind, marks=pytest.mark.slow, id=str(kind))
    for kind in (*WHOLE, *FLOATS)
]
"""Types; each that is compiled for by itself and less usual is left to the slow tests."""
HOSTILE = [0.0, -0.0, 0.5, 3.0, -7.25, 1e300, -1e300, np.nan, np.inf, -np.inf, 5e-324, 2.0**53 + 2]
WORDS = ["a", "b", " b ", "B", "", "NA", "c", "1", "1.0", "ä", "secret"]

NUMBERS = (
    Numeric("x", -5, 90),
    Numeric("x", 0, 50, transform="sqrt"),
    Numeric("x", 0, 9, indicator=True),
    Numeric("x", -3, 3, missing=(3, -1)),
    Numeric("x", -2, 2, centre=1.0, scale=4.0),
    Binned("x", (0.0, 3.0, 7.0)),
    Binned("x", (1.0,), indicator=True),
    Spline("x", 0, 10, (2.0, 5.0)),
    Spline("x", 0, 10, (2.0, 5.0), transform="log1p", indicator=True),
    Categorical("x", (0, 1, 2, 3)),
    Categorical("x", (3, 0, -1, 200), indicator=True),
    Categorical("x", (0.5, 3.0, 7.0)),
    Categorical("x", (10_000_000, 3)),
    Categorical("x", (True, False)),
)
TEXTS = (
    Categorical("x", ("a", "b", "c")),
    Categorical("x", ("b", "1"), indicator=True),
    Categorical("x", ("a", "NA"), missing=("c",), indicator=True),
)


def typed(kind, seed=0, n=N):
    """Numbers that the type can hold, a tenth missing."""
    rng = np.random.default_rng(seed)
    held = np.dtype(kind.to_pandas_dtype())
    if held.kind == "f":
        drawn = np.where(rng.random(n) < 0.3, rng.choice(HOSTILE, n), rng.integers(-9, 99, n) / 2.0)
        with np.errstate(over="ignore"):
            values = drawn.astype(held)
    else:
        ends = np.array([np.iinfo(held).min, np.iinfo(held).max, 0, 1], dtype=held)
        values = np.where(rng.random(n) < 0.2, rng.choice(ends, n), rng.integers(0, 12, n, dtype=held))
    return pa.array(values, type=kind, mask=rng.random(n) < 0.1)


def words(kind, seed=0, n=N):
    rng = np.random.default_rng(seed)
    drawn = [None if rng.random() < 0.1 else WORDS[k] for k in rng.integers(0, len(WORDS), n)]
    plain = pa.array(drawn, pa.large_string() if kind == "large" else pa.string())
    return plain.dictionary_encode() if kind == "dictionary" else plain


def both(schema, batch, *, lenient=True):
    """Rows and targets of a batch by either way, written into memory full of other things."""
    layout, found = RowLayout.of(schema), []
    options = {"lenient": lenient, "encode": lambda values: np.asarray(values, dtype=np.float64)}
    for compiled in (False, True):
        reader = PieceReader(
            schema, {name: name for name in batch.schema.names}, 1.0, **options, compiled=compiled
        )
        assert (reader._writer is not None) == (compiled and not schema.interactions)
        room, targets = Compact.room(layout, batch.num_rows), np.full(batch.num_rows, 77.0)
        room.numbers[:], room.codes[:] = np.nan, 3
        reader.read(Piece((batch,)), room, targets)
        found.append((room.numbers, room.codes, targets))
    return found


def agree(schema, batch):
    one, other = both(schema, batch)
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


def batch_of(x, y=None, **more):
    target = pa.array(np.arange(len(x)) % 3, pa.int64()) if y is None else y
    return pa.RecordBatch.from_pydict({"x": x, **more, "y": target})


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_number_of_any_type_is_read_as_by_the_reference(kind):
    for seed, column in enumerate(NUMBERS):
        agree(Schema((column,), Target("y", classes=(0, 1))), batch_of(typed(kind, seed)))


@pytest.mark.parametrize("kind", ["plain", "large", "dictionary"])
def test_a_word_is_read_as_by_the_reference(kind):
    for seed, column in enumerate(TEXTS):
        schema = Schema((column,), Target("y", classes=(0, 1)))
        agree(schema, batch_of(words(kind, seed)))


def test_other_types_are_read_as_by_the_reference():
    rng = np.random.default_rng(1)
    columns = [
        (pa.array(rng.random(N) < 0.5, mask=rng.random(N) < 0.1), Categorical("x", (True, False))),
        (pa.array(rng.random(N) < 0.5), Numeric("x", 0, 1)),
        (pa.nulls(N), Numeric("x", 0, 1)),
        (pa.nulls(N, pa.int8()), Numeric("x", 0, 1, indicator=True)),
        (typed(pa.int32()).dictionary_encode(), Numeric("x", -5, 90)),
        (typed(pa.int8()).dictionary_encode(), Categorical("x", (0, 1, 2))),
        (words("plain"), Numeric("x", 0, 2)),
        (pa.array([None, "a"] * (N // 2)).dictionary_encode("encode"), TEXTS[1]),
    ]
    for held, column in columns:
        agree(Schema((column,), Target("y", classes=(0, 1))), batch_of(held))


@pytest.mark.parametrize("kind", [*KINDS, "plain", "dictionary"], ids=str)
def test_a_target_of_any_type_is_read_as_by_the_reference(kind):
    y = words(kind) if isinstance(kind, str) else typed(kind)
    x = typed(pa.int8())
    targets = [Target("y", classes=(1, 0)), Target("y", classes=(2, 0.5, 3)), Target("y", low=-1, high=2)]
    if isinstance(kind, str):
        targets = [Target("y", classes=("b", "a")), Target("y", low=0, high=1)]
    for aim in targets:
        schema = Schema((Numeric("x", 0, 9), Categorical("x2", (1, 2))), aim)
        one, other = (
            PieceReader(
                schema,
                {"x": "x", "x2": "x2", "y": "y"},
                1.0,
                lenient=True,
                compiled=compiled,
                encode=lambda values: np.array([hash(value) % 97 for value in values.tolist()], float),
            )
            for compiled in (False, True)
        )
        batch, found = batch_of(x, y, x2=typed(pa.int8(), 5)), []
        for reader in (one, other):
            room, targets_ = Compact.room(RowLayout.of(schema), N), np.empty(N)
            reader.read(Piece((batch,)), room, targets_)
            found.append((room.numbers, room.codes, targets_))
        assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("n", [1, 255, 256, 257, 700])
@pytest.mark.parametrize("offset", [0, 3, 8])
def test_slices_of_any_length_and_offset_leave_blank_padding(n, offset):
    columns = (
        Numeric("x", 0, 9),
        Numeric("z", -9, 9),
        Categorical("c", (0, 1, 2)),
        Categorical("w", ("a", "b")),
    )
    schema = Schema(columns, Target("y", classes=(0, 1)))
    m = n + offset
    batch = batch_of(
        typed(pa.int8(), 1, m),
        z=typed(pa.float64(), 2, m),
        c=typed(pa.int64(), 3, m),
        w=words("dictionary", 4, m),
    ).slice(offset)
    agree(schema, batch)
    numbers, codes, _ = both(schema, batch)[1]
    used, none = n % RowLayout.of(schema).tile, RowLayout.of(schema).none
    if used:
        assert not numbers[-1, :, used:].any()
        assert np.all(codes[-1, :, used:] == none[:, None])


def test_a_place_outside_its_dictionary_is_none_and_reads_nothing_else():
    schema = Schema((Categorical("x", ("a", "b")),), Target("y", classes=(0, 1)))
    indices = pa.array(np.array([0, 1, 2, -1, 127, -128], dtype=np.int8))
    held = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    room = Compact.room(RowLayout.of(schema), 6)
    TileWriter(schema).write(room, lambda _: held)
    assert room.codes[0, 0, :6].tolist() == [0, 1, 2, 2, 2, 2]


def test_interactions_and_the_reference_setting_take_the_reference_path(monkeypatch):
    columns = Numeric("x", 0, 9), Categorical("c", (0, 1))
    schema = Schema(columns, Target("y", classes=(0, 1)), interactions=(("x", "c"),))
    agree(schema, batch_of(typed(pa.int8()), c=typed(pa.int8())))


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        (pa.array(["a", "b"]), pa.array([0, 1]), "is declared a number but"),
        (pa.array(["secret", "1"]).dictionary_encode(), pa.array([0, 1]), "is declared a number but"),
        (pa.array([b"\xff", b"1"]), pa.array([0, 1]), "not UTF-8"),
        (pa.array([1, 2]), pa.array([0, 7]), "undeclared"),
        (pa.array([1, 2]), pa.array([0, None]), "missing or undeclared"),
        (pa.array([1, 2]), pa.array(["0", "x"]), "undeclared"),
        (pa.array([[1], [2]]), pa.array([0, 1]), "neither"),
    ],
)
def test_what_cannot_be_declared_is_refused_by_either_path(x, y, told, kernels, tmp_path, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": x, "y": y}), path)
    schema = Schema((Numeric("x", 0, 9),), Target("y", classes=(0, 1)))
    with pytest.raises(DataError, match=told) as refused:
        sv.Records.from_parquet(path, schema)
    assert "secret" not in str(refused.value)
    assert refused.value.__context__ is None


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
def test_words_that_are_no_text_are_refused_by_either_path(kernels, tmp_path, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    path = tmp_path / "t.parquet"
    schema = Schema((Categorical("x", ("a", "b")),), Target("y", classes=("no", "yes")))
    for x, told in ((pa.array([b"a", b"\xff"]), "not UTF-8"), (pa.array([1, 2]), "holds numbers")):
        pq.write_table(pa.table({"x": x, "y": ["no", "yes"]}), path)
        with pytest.raises(DataError, match=told):
            sv.Records.from_parquet(path, schema)


@pytest.mark.parametrize("group", [1, 37, 700])
def test_row_groups_with_other_dictionaries_give_the_rows_of_the_table(group, tmp_path, monkeypatch):
    """Each group has the words of its own rows, in the order in which they come, and some are empty."""
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    n, path = 701, tmp_path / "t.parquet"
    table = pa.table({"x": words("plain", 6, n), "z": typed(pa.int64(), 7, n), "y": words("plain", 8, n)})
    with pq.ParquetWriter(path, table.schema) as writer:
        for start in range(0, n, group):
            writer.write_table(table.slice(start, group))
            writer.write_table(table.slice(0, 0))
    schema = Schema((Categorical("x", ("a", "b", "c")), Numeric("z", 0, 9)), Target("y", classes=("b", "a")))
    held = sv.Records.from_table(table, schema, invalid="zero")._rows
    for memory, spool in itertools.product((0, 10**9), (True, False)):
        read = sv.Records.from_parquet(path, schema, invalid="zero", memory=memory, spool=spool)._rows
        assert np.array_equal(
            np.concatenate([block.features[:] for block in read.read()]),
            np.concatenate([block.features[:] for block in held.read()]),
        )
        assert np.array_equal(read.targets, held.targets)


@pytest.mark.parametrize("coded", [False, True])
def test_a_batch_is_refused_for_its_own_words_whatever_came_before(coded):
    schema = Schema((Numeric("x", 0, 9),), Target("y", classes=(0, 1)))
    reader = PieceReader(schema, {"x": "x", "y": "y"}, 1.0, lenient=False, compiled=True, encode=zeros)
    for x, refused in ((["1", "2"], False), (["1", "secret"], True), (["3", "4"], False)):
        held = pa.array(x).dictionary_encode() if coded else pa.array(x)
        batch, room = batch_of(held, pa.array([0, 1])), Compact.room(RowLayout.of(schema), 2)
        with pytest.raises(DataError, match="no number") if refused else nullcontext():
            reader.read(Piece((batch,)), room, np.empty(2))


def test_no_row_is_let_in_that_is_longer_than_the_radius(monkeypatch):
    schema = Schema((Numeric("x", 0, 9), Categorical("c", (1, 2))), Target("y", classes=(0, 1)))
    reader = PieceReader(
        schema, {"x": "x", "c": "c", "y": "y"}, 1.0, lenient=True, compiled=True, encode=zeros
    )
    room, batch = Compact.room(RowLayout.of(schema), N), batch_of(typed(pa.int64()), c=typed(pa.int8()))
    reader.read(Piece((batch,)), room, np.empty(N))
    assert room.squares().max() > 0.99 * 2 / 3
    for long in (np.float32(0.82), np.float32(np.nan)):
        written = TileWriter.write

        def lengthen(self, out, column_of, long=long, written=written):
            written(self, out, column_of)
            out.numbers[2, 0, 187] = long

        with monkeypatch.context() as planted:
            planted.setattr(TileWriter, "write", lengthen)
            with pytest.raises(DataError, match="exceed the radius"):
                reader.read(Piece((batch,)), room, np.empty(N))
