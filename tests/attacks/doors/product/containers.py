"""What a table comes in, and the door that reads it."""

from __future__ import annotations

import atexit
import gzip
import io
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import dask
import dask.array as da
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.features.marginals import coded
from tests.attacks.doors import places
from tests.attacks.doors.clusters import _partitioned, client
from tests.attacks.doors.engine import Answer, Reading
from tests.attacks.doors.probes import BUDGET, Look, listening, rows_of
from tests.attacks.doors.product.changes import Table
from tests.attacks.doors.product.kinds import Kind
from tests.attacks.doors.product.stores import Store, objects

PEOPLE = 50
"""Persons that are declared: their number is not counted."""


@dataclass(frozen=True)
class Case:
    """What both neighbours share: the declaration, how x is kept, the rule for invalid rows, and numbers that
    decide how the table is cut."""

    kind: Kind
    store: Store
    meaning: str
    persons: bool
    invalid: str
    cuts: tuple[float, float]
    change: str = ""
    tail: tuple[Store, frozenset[int]] | None = None
    """Another type of column x, and the numbers of the records that it holds, in a file of their own."""

    @property
    def schema(self) -> sv.Schema:
        return self.kind.schema(self.meaning, self.persons)

    @property
    def counted(self) -> dict[str, Any]:
        return {"persons": PEOPLE} if self.schema.person else {}

    @property
    def options(self) -> dict[str, Any]:
        return {"invalid": self.invalid, **self.counted}


@dataclass(frozen=True)
class Container:
    """`build` makes a table of records: what it raises is its own library's affair, and the case is drawn
    again. `read` opens the door. A container takes some families of types and, if said, some kinds; one that
    is `mixed` has the last records in a type of their own."""

    name: str
    families: tuple[str, ...]
    build: Callable[[Case, Table], Any]
    read: Callable[[Case, Any], Reading]
    share: int
    kinds: tuple[str, ...] = ()
    takes: Callable[[Store, Any], bool] = field(default=lambda store, cell: True)
    persons: bool | None = None
    lenient: bool = True
    mixed: bool = False
    longest: int = 16


def reading(records: sv.Records) -> Reading:
    return Reading(rows_of(records), public=repr(records))


def _columns(case: Case, table: Table, x: Any) -> dict[str, Any]:
    """Column x beside those that the schema also declares."""
    found: dict[str, Any] = {"x": x, "o": [record.o for record in table]}
    if case.schema.target.name == "y":  # type: ignore[union-attr]
        found["y"] = [record.y for record in table]
    if case.schema.target.name == "c":  # type: ignore[union-attr]
        found["c"] = [record.k for record in table]
    survival = case.schema.target.survival  # type: ignore[union-attr]
    if survival is not None and survival.time == "t":
        found["t"] = [30.0] * len(table)
    if case.schema.person == "p":
        found["p"] = [f"q{record.p}" for record in table]
    return found


def _x(table: Table) -> list[Any]:
    return [record.x for record in table]


def _cut(case: Case, n: int) -> tuple[int, int]:
    first, second = sorted(int(share * (n + 1)) for share in case.cuts)
    return first, second


def _from_table(case: Case, table: Any) -> Reading:
    return reading(sv.Records.from_table(table, case.schema, **case.options))


def _coded(case: Case, table: Any) -> Reading:
    """As marginals are asked of it: the bin of every number, the level of every category."""
    records = sv.Records.from_table(table, coded(case.schema), **case.options)
    return Reading({"bins": rows_of(records)["features"]}, public=repr(records))


def _encoded(case: Case, table: Any) -> Reading:
    return Reading({"features": sv.BoundedEncoder(case.schema).transform(table)})


def _arrow(case: Case, table: Table) -> pa.Table:
    columns = _columns(case, table, case.store.make(_x(table)))
    return pa.table(
        {name: pa.array(cells) if isinstance(cells, list) else cells for name, cells in columns.items()}
    )


def _chunked(case: Case, table: Table) -> pa.Table:
    first, second = _cut(case, len(table))
    parts = [part for part in (table[:first], table[first:second], table[second:]) if part]
    return pa.concat_tables([_arrow(case, part) for part in parts])


def _streamed(case: Case, table: pa.Table) -> Reading:
    return _from_table(case, pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))


def _stored(case: Case, table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=1 + int(9 * case.cuts[0]))
    return file.getvalue()


def _parquet(case: Case, table: Table) -> list[bytes]:
    return [_stored(case, _arrow(case, table))]


def _folder(case: Case, table: Table) -> list[bytes]:
    """Two files; where the case has a tail, a third whose column x has that type."""
    kept, tail, last = table, (), case
    if case.tail is not None:
        store, numbers = case.tail
        kept = tuple(record for record in table if record.number not in numbers)
        tail, last = table[len(kept) :], replace(case, store=store)
    first, _ = _cut(case, len(kept))
    made = [_stored(case, _arrow(case, part)) for part in (kept[:first], kept[first:]) if part]
    return [*made, *([_stored(last, _arrow(last, tail))] if tail else [])]


@cache
def _place() -> Path:
    """A folder for this process: both sides have one path, so that refusals are alike."""
    folder = Path(tempfile.mkdtemp(prefix="doors"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _written(files: list[bytes], read: Callable[[Path], Reading], name: str = "t.parquet") -> Reading:
    for old in _place().iterdir():
        old.unlink()
    for number, content in enumerate(files):
        (_place() / f"{number}{name}").write_bytes(content)
    return read(_place() / f"0{name}" if len(files) == 1 else _place())


def _read_file(case: Case, files: list[bytes]) -> Reading:
    return _written(files, lambda path: _from_table(case, path))


def _read_folder(case: Case, files: list[bytes]) -> Reading:
    return _written(files, lambda path: _from_table(case, path if path.is_dir() else [path]))


def _read_parquet(case: Case, files: list[bytes]) -> Reading:
    compiled = "compiled" if case.cuts[1] < 0.5 else "reference"
    with mock.patch.dict("os.environ", {"SOTTOVOCE_KERNELS": compiled}):
        return _written(
            files,
            lambda path: reading(sv.Records.from_parquet(path, case.schema, memory=64, **case.options)),
        )


_NUMBERS = count()


def _is_utf8(store: Store, cell: Any) -> bool:
    """Whether a library that knows text in UTF-8 alone can hold the cell."""
    if not isinstance(cell, bytes):
        return True
    with suppress(UnicodeDecodeError):
        return bool(cell.decode() or True)
    return False


def _known_to_polars(store: Store, cell: Any) -> bool:
    return _is_utf8(store, cell) and store.name != "decimal256(60, 2)"


@cache
def _database() -> Any:
    return duckdb.connect(config={"threads": 1})


def _duckdb(case: Case, table: Table) -> str:
    """A table of DuckDB's own: what it refuses to hold is its affair."""
    held = _arrow(case, table)  # noqa: F841 - the query names it
    name = f"kept{next(_NUMBERS) % 2}"
    _database().execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM held")
    return name


def _read_duckdb(case: Case, name: str) -> Reading:
    return _from_table(case, _database().sql(f"SELECT * FROM {name}"))


def _pandas(how: Callable[[Case, Table], pd.Series]) -> Callable[[Case, Table], pd.DataFrame]:
    return lambda case, table: pd.DataFrame(_columns(case, table, how(case, table)))


def _typed(case: Case, table: Table) -> pd.Series:
    made = case.store.make(_x(table))
    if case.store.family == "arrow":
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([made])))
    return pd.Series(made)


def _inferred(case: Case, table: Table) -> pd.Series:
    return pd.Series(_x(table))


def _objects(case: Case, table: Table) -> pd.Series:
    return pd.Series(objects(_x(table)), dtype=object)


def _categories(case: Case, table: Table) -> pd.Series:
    """pandas makes one category of cells that say they are equal, by chance of their hashes: a column in
    which a record was given another's cell that way differs before it comes to our door."""
    made = pd.Series(case.store.make(_x(table))).astype("category")
    owners = {id(record.x) for record in table}
    for record, cell in zip(table, made, strict=True):
        if id(cell) in owners and cell is not record.x and type(cell) is not type(record.x):
            raise ValueError("pandas merged two cells")
    return made


def _lazy(how: Callable[[Case, Table], pd.Series]) -> Callable[[Case, Table], Any]:
    def build(case: Case, table: Table) -> Any:
        frame = _pandas(how)(case, table)
        first, second = _cut(case, len(frame))
        with dask.config.set({"dataframe.convert-string": False}):
            return _partitioned(frame, (first, second - first, len(frame) - second))

    return build


def _dask(case: Case, lazy: Any) -> Reading:
    with dask.config.set({"dataframe.convert-string": False}):
        records = sv.Records.from_dask(lazy, schema=case.schema, client=client(), **case.options)
        return reading(records)


ARRAYS = ("numeric", "target", "class", "weight", "person key")
"""Kinds that need no schema."""


def _arrays(case: Case, table: Table, hold: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """What from_arrays is told: column x is a feature, the target, the weights or the keys."""
    x, name = hold(_x(table)), case.kind.name
    o = [record.o for record in table]
    told: dict[str, Any] = {"X": [[number] for number in o], "y": [record.y for record in table]}
    if name == "numeric":
        told["X"] = (x, o)
    elif name in ("target", "class"):
        told["y"] = x
    else:
        told["sample_weight" if name == "weight" else "groups"] = x
    if case.persons and name != "person key":
        told["groups"] = [f"q{record.p}" for record in table]
    return told


def _declared(case: Case) -> dict[str, Any]:
    aim = case.schema.target
    assert aim is not None
    cap = {"weight_cap": 5.0} if case.kind.name == "weight" else {}
    return {"labels": aim.classes, "target": aim.range, "radius": 20.0, **cap, **case.options}


def _lists(case: Case, table: Table) -> dict[str, Any]:
    told = _arrays(case, table, list)
    if isinstance(told["X"], tuple):
        told["X"] = [list(row) for row in zip(*told["X"], strict=True)]
    return told


def _numpy(case: Case, table: Table) -> dict[str, Any]:
    told = _arrays(case, table, case.store.make)
    if isinstance(told["X"], tuple):
        x, o = told["X"]
        told["X"] = np.stack([x, np.array(o).astype(x.dtype)], axis=1)
    else:
        told["X"] = np.array(told["X"])
    return told | {"y": np.array(told["y"])}


def _from_arrays(case: Case, told: dict[str, Any]) -> Reading:
    return reading(sv.Records.from_arrays(**told, **_declared(case)))


def _dask_arrays(case: Case, told: dict[str, Any]) -> Reading:
    first, second = _cut(case, len(told["y"]))
    cuts = (first, second - first, len(told["y"]) - second)
    lazy = {
        name: da.from_array(np.asarray(given), chunks=(cuts, -1)[: np.ndim(given)])
        for name, given in told.items()
    }
    return reading(
        sv.Records.from_dask(lazy.pop("X"), lazy.pop("y"), client=client(), **lazy, **_declared(case))
    )


def _frame_of_float32(case: Case, table: Table) -> tuple[pd.DataFrame, list[str]]:
    """A frame of float32; one cell of another type makes its column what pandas makes of both."""
    pieces = [
        pd.Series(np.array([record.x]) if isinstance(record.x, np.float32) else [record.x])
        for record in table
    ]
    frame = pd.DataFrame({"x": pd.concat(pieces, ignore_index=True)})
    frame["o"] = np.array([record.o for record in table], dtype=np.float32)
    return frame, [record.y for record in table]


def _estimator(case: Case, given: tuple[pd.DataFrame, list[str]]) -> Reading:
    look = Look()
    model = sv.PrivateClassifier(
        classes=("no", "yes"),
        method=look,
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        ledger=sv.Ledger(BUDGET),
    )
    model.fit(*given)
    return Reading(rows_of(look.risks[0].records))


def _examples(case: Case, table: Table) -> dict[str, Any]:
    """Lists of numbers as they are; of arrays every plain record is one row at a kink of the module."""
    keys = [f"q{record.p}" for record in table]
    if case.store.family == "python":
        rows: Any = [[record.x, record.o] for record in table]
        return {"data": (rows, [float(record.y == "yes") for record in table]), "groups": keys}
    X = np.tile(_kinked(case.cuts).row, (len(table), 1))
    plain = case.store.plain[case.meaning]
    for row, record, x in zip(X, table, case.store.make(_x(table)).astype(np.float64), strict=True):
        if record.x is not plain(record.k) and record.x != plain(record.k):
            row[0] = x
    return {"X": X, "groups": keys}


@lru_cache(maxsize=2)
def _kinked(cuts: tuple[float, float]) -> Any:
    return places._kinked(np.random.default_rng([int(2**30 * cut) for cut in cuts]))


def _torch(case: Case, told: dict[str, Any]) -> Reading:
    if "X" in told:
        risk = places._risk(_kinked(case.cuts), told["X"], groups=told["groups"], persons=PEOPLE)
    else:
        import torch

        torch.manual_seed(0)
        module = torch.nn.Linear(2, 1, dtype=torch.float64)
        limits = {"gradient_clip": 1.0, "curvature_clip": 0.5, "loss_bound": 2.0}
        risk = sv.autodiff.TorchRisk(module, places._squares, **told, **limits, **case.options)
    w = risk.start
    return Reading(answers={"gradient": Answer(risk.gradient(w), _told(case) * risk.bounds.gradient(w))})


def _told(case: Case) -> float:
    """What of the bound for a replaced person a change may move: half of it if one is gone."""
    return 0.5 if case.change == "person removed" else 1.0


class Kinked:
    """Someone else's network: one matrix product, decided at a tie."""

    classes_ = np.array(["no", "yes"])

    def __init__(self) -> None:
        rng = np.random.default_rng(11)
        self.row = rng.normal(size=(1, 97)).astype(np.float32)
        self.weights = rng.normal(size=(97, 3)).astype(np.float32)
        self.tie = (np.repeat(self.row, 64, axis=0) @ self.weights)[0]

    def predict(self, X: Any) -> Any:
        scores = np.asarray(X, dtype=np.float32)[:, 1:] @ self.weights
        return self.classes_[(scores >= self.tie).sum(axis=1) % 2]


def _tied(case: Case, table: Table) -> dict[str, Any]:
    row = Kinked().row[0]
    x = case.store.make(_x(table)).astype(np.float32)
    X = np.concatenate([x[:, None], np.repeat(row[None], len(table), axis=0)], axis=1)
    return {"X": X, "y": [record.y for record in table], "groups": [f"q{record.p}" for record in table]}


def _evaluated(case: Case, told: dict[str, Any]) -> Reading:
    with listening() as listener:
        evaluation.accuracy(
            Kinked(),
            **told,
            budget=BUDGET,
            ledger=sv.Ledger(BUDGET, unit="person"),
            reading=sv.ReadOptions(invalid=case.invalid),
            **case.counted,
        )
    return Reading(answers=listener.answers)


class Line:
    """A whole line of a text file in place of a field of it."""

    def __init__(self, make: Callable[[list[bytes]], bytes]) -> None:
        self.make = make


LINES: dict[str, Callable[[list[bytes]], bytes]] = {
    "unclosed quote first": lambda fields: b'"' + b",".join(fields),
    "unclosed quote last": lambda fields: b",".join(fields[:-1]) + b',"' + fields[-1],
    "unclosed quote within": lambda fields: b",".join([b'"a""', *fields[1:]]),
    "quote in the middle": lambda fields: b",".join([b'5"2', *fields[1:]]),
    "text after a quote": lambda fields: b",".join([b'"5"2', *fields[1:]]),
    "two quotes": lambda fields: b",".join([b'5"2', *fields[1:-1], b'6"3']),
    "one field fewer": lambda fields: b",".join(fields[:-1]),
    "one field more": lambda fields: b",".join([*fields, b"1"]),
    "one field": lambda fields: b"x",
    "a lone carriage return": lambda fields: b",".join(fields[:-1]) + b"\r" + fields[-1],
    "a quoted carriage return": lambda fields: b'"a\rb",' + b",".join(fields[1:]),
    "commas alone": lambda fields: b"," * (len(fields) - 1),
    "a NUL": lambda fields: b"\0",
    "not UTF-8": lambda fields: b"\xff" * 9,
    "a mark of order": lambda fields: b"\xef\xbb\xbf" + b",".join(fields),
    "a huge field": lambda fields: b",".join([b"7" * (5 * 2**20), *fields[1:]]),
    "a huge quoted field": lambda fields: b",".join([b'"' + b"z" * (9 * 2**20) + b'"', *fields[1:]]),
    "a backslash before a quote": lambda fields: b",".join([b'"a\\"', *fields[1:]]),
    "a comment": lambda fields: b"# " + b",".join(fields),
    "spaces before a quote": lambda fields: b",".join([b' "a', *fields[1:]]),
}


def _quoted(field: bytes) -> bytes:
    return b'"' + field.replace(b'"', b'""') + b'"' if set(field) & set(b',"') else field


def _csv(case: Case, table: Table) -> list[bytes]:
    lines = []
    columns = _columns(case, table, _x(table))
    for cells in zip(*columns.values(), strict=True):
        x, *rest = cells
        plain = [str(cell).encode() for cell in rest]
        if isinstance(x, Line):
            lines.append(x.make([b"1", *plain]))
        else:
            lines.append(b",".join([_quoted(x or b""), *plain]))
    ending = b"\r\n" if case.cuts[0] < 0.2 else b"\n"
    header = ",".join(columns).encode()
    return [ending.join([header, *lines]) + (ending if case.cuts[1] < 0.8 else b"")]


def _read_csv(case: Case, files: list[bytes]) -> Reading:
    return _written(files, lambda path: _from_table(case, path), "t.csv")


def _semicolons(case: Case, table: Table) -> list[bytes]:
    """The same file with semicolons for commas and, in the plain number o, a comma for the point."""
    (content,) = _csv(case, table)
    return [content.replace(b".", b"\1").replace(b",", b";").replace(b"\1", b",")]


def _read_semicolons(case: Case, files: list[bytes]) -> Reading:
    def read(path: Path) -> Reading:
        marks = {"delimiter": ";", "decimal": ","}
        return reading(sv.Records.from_table(path, case.schema, **marks, **case.options))

    return _written(files, read, "t.csv")


def _tabs(case: Case, table: Table) -> list[bytes]:
    return [_csv(case, table)[0].replace(b",", b"\t")]


def _read_tabs(case: Case, files: list[bytes]) -> Reading:
    def read(path: Path) -> Reading:
        return reading(sv.Records.from_table(path, case.schema, delimiter="\t", **case.options))

    return _written(files, read, "t.csv")


def _compressed(case: Case, table: Table) -> list[bytes]:
    return [gzip.compress(content, mtime=0) for content in _several_csv(case, table)]


def _read_compressed(case: Case, files: list[bytes]) -> Reading:
    def read(_: Path) -> Reading:
        return _from_table(case, sorted(_place().iterdir()))

    return _written(files, read, "t.csv.gz")


def _several_csv(case: Case, table: Table) -> list[bytes]:
    """Two files; where a record stands follows from its place alone."""
    first, _ = _cut(case, len(table))
    return [_csv(case, part)[0] for part in (table[:first], table[first:]) if part]


def _read_several_csv(case: Case, files: list[bytes]) -> Reading:
    return _written(files, lambda _: _from_table(case, str(_place() / "*.csv")), "t.csv")


CONTAINERS: tuple[Container, ...] = (
    Container("CSV", ("fields",), _csv, _read_csv, 200),
    Container("CSV, decimal commas", ("fields",), _semicolons, _read_semicolons, 80),
    Container("CSV, tabs", ("fields",), _tabs, _read_tabs, 40),
    Container("CSV files, compressed and listed", ("fields",), _compressed, _read_compressed, 40),
    Container("Arrow table", ("arrow",), _chunked, _from_table, 250),
    Container("Arrow table, marginals", ("arrow",), _chunked, _coded, 80),
    Container("Arrow stream", ("arrow",), _chunked, _streamed, 80),
    Container("Arrow table, encoder", ("arrow",), _arrow, _encoded, 80),
    Container("Parquet file", ("arrow",), _parquet, _read_file, 120),
    Container("Parquet records", ("arrow",), _parquet, _read_parquet, 30),
    Container("Parquet folder", ("arrow",), _folder, _read_parquet, 60),
    Container("Parquet folder, types differ", ("arrow",), _folder, _read_parquet, 60, mixed=True),
    Container("Parquet files in a folder, as a table", ("arrow",), _folder, _read_folder, 40, mixed=True),
    Container("CSV files in a folder", ("fields",), _several_csv, _read_several_csv, 60),
    Container(
        "polars",
        ("arrow",),
        lambda case, table: pl.from_arrow(_arrow(case, table)),
        _from_table,
        120,
        takes=_known_to_polars,
    ),
    Container("DuckDB", ("arrow",), _duckdb, _read_duckdb, 50, takes=_is_utf8),
    Container("pandas, typed", ("arrow", "numpy"), _pandas(_typed), _from_table, 200),
    Container("pandas, inferred", ("python",), _pandas(_inferred), _from_table, 200),
    Container("pandas, objects", ("python",), _pandas(_objects), _from_table, 150),
    Container(
        "pandas, nullable",
        ("python",),
        _pandas(lambda case, table: _objects(case, table).convert_dtypes()),
        _from_table,
        80,
    ),
    Container(
        "pandas, categories",
        ("python", "numpy"),
        _pandas(_categories),
        _from_table,
        80,
    ),
    Container("Dask frame", ("arrow", "numpy"), _lazy(_typed), _dask, 8),
    Container("Dask frame, inferred", ("python",), _lazy(_inferred), _dask, 8),
    Container("Dask array", ("numpy",), _numpy, _dask_arrays, 8, kinds=ARRAYS),
    Container("lists", ("python",), _lists, _from_arrays, 150, kinds=ARRAYS),
    Container("arrays", ("numpy",), _numpy, _from_arrays, 120, kinds=ARRAYS),
    Container(
        "estimator",
        ("python",),
        _frame_of_float32,
        _estimator,
        40,
        kinds=("numeric",),
        persons=False,
        lenient=False,
        takes=lambda store, cell: isinstance(cell, np.float32 | float | int),
    ),
)

NEAR_TIES: tuple[Container, ...] = (
    Container(
        "torch", ("python", "numpy"), _examples, _torch, 8, kinds=("numeric",), persons=True, longest=70
    ),
    Container("evaluation", ("numpy",), _tied, _evaluated, 40, kinds=("numeric",), persons=True),
)
"""Doors whose sums of floats are near a tie: the last bit decides what a record counts."""


def of_kinds(names: list[str]) -> list[Container]:
    """The containers that take some of these kinds, for them alone."""
    taken = [
        replace(container, kinds=tuple(name for name in names if name in (container.kinds or names)))
        for container in CONTAINERS
    ]
    return [container for container in taken if container.kinds]
