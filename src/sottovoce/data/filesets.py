"""Which files a table is made of: one, those of a folder, those of a pattern, or several that are named.

Their names and how many rows each has are as public as the table's name and n. Files come in the order of
their names, or as they are named, and each is read by itself: none decides how another is read."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sottovoce.errors import DataError, ParameterError

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")


def is_parquet(path: str | os.PathLike[str]) -> bool:
    return os.fspath(path).lower().endswith(PARQUET)


def is_files(table: Any) -> bool:
    """Whether a table is given by names of files."""
    if isinstance(table, list | tuple):
        return bool(table) and all(isinstance(part, str | os.PathLike) for part in table)
    return isinstance(table, str | os.PathLike)


def files_of(table: Any) -> tuple[Path, ...]:
    """The files that a path, a folder, a pattern such as 'claims-*.csv', or a list of these names.

    All must be of one kind, Parquet or not, and each must be named once. A single name is taken as it is."""
    given = table if isinstance(table, list | tuple) else (table,)
    found = [file for part in given for file in _expanded(Path(part))]
    if len(found) > 1:
        if len({is_parquet(file) for file in found}) > 1:
            raise ParameterError("the files of a table are all Parquet, or all CSV.")
        if len({os.path.realpath(file) for file in found}) < len(found):
            raise ParameterError("a file is named twice: its records would count twice.")
        if len({_partition(file.parts[:-1]) for file in found}) > 1:
            raise _partitioned(found[0].parent)
    return tuple(found)


def state_of(table: Any) -> str:
    """Tells files, in their present state, from all others, so that a run goes on with the same ones.

    A digest of names, places on the disk and times of change, which no program can set back; of nothing that
    is in them, so not of their sizes: it is kept in journals and ledgers. Empty for what is no file."""
    if not is_files(table):
        return ""
    with suppress(OSError, DataError, ParameterError):
        facts = [(file.name, *_place(file)) for file in files_of(table)]
        return hashlib.sha256(repr(facts).encode()).hexdigest()
    return ""


def called(table: Any) -> str:
    """The name of a table, for people."""
    if not is_files(table):
        return "the table"
    first, *others = table if isinstance(table, list | tuple) else (table,)
    return Path(first).name + (f" and {len(others)} more" if others else "")


def _expanded(path: Path) -> list[Path]:
    if path.is_dir():
        if _partition(folder.name for folder in path.iterdir() if folder.is_dir()):
            raise _partitioned(path)
        kinds = [
            sorted(file for file in path.iterdir() if file.name.lower().endswith(kind) and file.is_file())
            for kind in (PARQUET, CSV)
        ]
        found = [file for kind in kinds for file in kind]
        if not found:
            raise DataError(f"there is no .parquet file and no .csv file in {path}.")
        return found
    if glob.has_magic(str(path)) and not path.exists():
        matching = sorted(map(Path, glob.glob(str(path))))
        if not matching:
            raise DataError(f"there is no file {path}.")
        return matching
    return [path]


def _partitioned(path: Path) -> DataError:
    """Files that were put into folders by what is in them, `region=north/part-0.parquet`, are refused.

    What is charged holds for a record that is replaced where it stands. Here a record with another cell would
    stand in another file, every row after it would move, and where a row stands decides how its product with
    the weights is rounded."""
    return DataError(
        f"{path} is partitioned by a column, so where a record stands follows from its content, and other "
        "records move with it. Write one table that has the column, in the order of something that is no "
        "part of a record's content, such as a number given at entry; in DuckDB: SELECT * FROM "
        "read_parquet('FOLDER/**', hive_partitioning = true) ORDER BY entry_number."
    )


def _partition(folders: Iterable[str]) -> tuple[str, ...]:
    """Names of folders that state a column and a value."""
    return tuple(name for name in folders if "=" in name.strip("="))


def _place(file: Path) -> tuple[int, ...]:
    found = file.stat()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
