"""The product in a real PostgreSQL: `python -m tests.attacks.doors.product.postgres [--cases N] [--seed S]`.

Apart from the other containers, since it needs a server (Debian's postgresql)."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import argparse
import os
import sys
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from sottovoce.data.databases import open_query
from tests.attacks.doors.engine import Reading, attack
from tests.attacks.doors.product.cases import door_of
from tests.attacks.doors.product.changes import Table
from tests.attacks.doors.product.containers import Case, Container, _from_table
from tests.attacks.doors.product.stores import IN_TEXT, Store, _moment
from tests.servers import running

_NUMBERS = count()
WHERE = "postgresql:///?service=claims"


def _store(kind: str, plain: dict[str, Any], *odd: str) -> Store:
    """Cells are literals of SQL."""
    return Store(kind, "sql", plain, list, {cell: cell for cell in ("NULL", *odd)})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_MOMENTS = {"moment": lambda k: _quoted(_moment(k).isoformat(sep=" "))}
_WHOLES = {"number": str, "whole": str, "key": str}
_TEXT = {meaning: (lambda k, say=say: _quoted(say(k))) for meaning, say in IN_TEXT.items()}

STORES = (
    _store(
        "numeric", _WHOLES | {"number": lambda k: f"{k}.1"}, "'NaN'", "'Infinity'", "1e300", "-1e-300", "0.5"
    ),
    _store("double precision", _WHOLES | {"number": lambda k: f"{k}.1"}, "'NaN'", "'-Infinity'", "1e300"),
    _store("real", _WHOLES | {"number": lambda k: f"{k}.1"}, "'NaN'", "'Infinity'", "0.5"),
    _store("integer", _WHOLES, "2147483647", "-2147483648", "0"),
    _store("bigint", _WHOLES, "9223372036854775807", "0"),
    _store("smallint", _WHOLES, "32767", "-32768"),
    _store("text", _TEXT, "''", "'unknown'", "'infinity'", "'1e400'", "'\"'", "repeat('x', 100000)"),
    _store("varchar(40)", _TEXT, "''", "'nan'", "'10000-01-01'"),
    _store(
        "timestamp",
        _MOMENTS,
        "'infinity'",
        "'-infinity'",
        "'10000-01-01'",
        "'0044-03-15 BC'",
        "'294276-01-01'",
    ),
    _store(
        "date", _MOMENTS, "'infinity'", "'-infinity'", "'10000-01-01'", "'0044-03-15 BC'", "'5874897-01-01'"
    ),
    _store("uuid", {"key": lambda k: f"'00000000-0000-0000-0000-000000000{k}'"}, "gen_random_uuid()"),
)


def _built(case: Case, table: Table) -> str:
    from adbc_driver_postgresql import dbapi

    name = f"kept{next(_NUMBERS) % 2}"
    rows = ", ".join(
        f"({place}, {record.x}, {record.o}, '{record.y}', 'q{record.p}')"
        for place, record in enumerate(table)
    )
    with dbapi.connect(WHERE) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.execute(
            f"CREATE TABLE {name} (place int, x {case.store.name}, o double precision, y text, p text)"
        )
        cursor.execute(f"INSERT INTO {name} VALUES {rows}")
        connection.commit()
    return name


def _read(case: Case, name: str) -> Reading:
    return _from_table(case, open_query("postgresql:claims", f"SELECT x, o, y, p FROM {name} ORDER BY place"))


POSTGRESQL = Container("PostgreSQL", ("sql",), _built, _read, 0)


def violations(cases: int, seed: int) -> list[str]:
    """What is found in so many cases, the server's own folder told by the environment."""
    door = door_of(POSTGRESQL, STORES)
    return [str(found) for number in range(cases) for found in attack(door, seed, number).violations]


def environment(folder: Path) -> dict[str, str]:
    return {"PGSERVICEFILE": str(folder / "services"), "PGPASSWORD": "hush"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.doors.product.postgres")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with running() as folder, mock.patch.dict(os.environ, environment(folder)):
        found = violations(given.cases, given.seed)
    print(*found[:20], f"PostgreSQL: {given.cases} cases, {len(found)} violations", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
