"""Tables by query: a DuckDB file, or a PostgreSQL server through ADBC (extra `sottovoce[sql]`).

A server is named as libpq finds it, `postgresql:` by the environment (PGHOST, PGUSER, PGPASSWORD, ...) and
`postgresql:NAME` by a service of that name in pg_service.conf. Credentials never stand on the command line,
and no message repeats what a database says: it may quote them, or a record.

A query must treat every row by itself. One that ranks, samples, joins or averages rows lets a record change
others, and the guarantee then does not speak of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, final

from sottovoce.data.sources import Chunk, Source, StreamSource
from sottovoce.errors import DataError, ParameterError

SERVER = "postgresql:"
_SERVICE = re.compile(r"[A-Za-z0-9_.-]*")


def open_query(place: str, query: str) -> Source:
    """The answer to a query as a table, not yet read."""
    return _postgresql(place, query) if place.startswith(SERVER) else _duckdb(place, query)


@final
class QuerySource(Source):
    """The answer to a query; closes what gives it once it is read or forgotten."""

    def __init__(self, answer: Any, *givers: Any, explained: Callable[[str], str] | None = None) -> None:
        self._givers = givers
        self._stream = StreamSource(answer) if explained is None else StreamSource(answer, explained)

    @property
    def names(self) -> tuple[str, ...]:
        return self._stream.names

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        try:
            yield from self._stream.chunks(wanted)
        finally:
            self._close()

    def _close(self) -> None:
        for giver in self._givers:
            with suppress(Exception):
                giver.close()

    def __del__(self) -> None:
        self._close()


def _duckdb(place: str, query: str) -> Source:
    _require_installed("duckdb")
    import duckdb

    connection: Any = None
    with suppress(Exception):
        # without access to files: DuckDB would type their columns by looking at them
        connection = duckdb.connect(place, read_only=True, config={"enable_external_access": "false"})
    if connection is None:
        raise DataError(f"{place} cannot be opened as a DuckDB database. Is another process writing to it?")
    with suppress(Exception):
        return QuerySource(connection.sql(query), connection)
    connection.close()
    raise DataError(
        f"the query does not run on {place}. Try it in duckdb -readonly; it cannot read files outside."
    )


def _postgresql(place: str, query: str) -> Source:
    service = place.removeprefix(SERVER)
    if not _SERVICE.fullmatch(service):
        raise ParameterError(
            "name a PostgreSQL server by postgresql: (from PGHOST, PGUSER, PGPASSWORD and so on) or by "
            "postgresql:SERVICE (from pg_service.conf). Credentials do not belong on a command line."
        )
    _require_installed("adbc_driver_postgresql")
    from adbc_driver_postgresql import dbapi

    connection: Any = None
    with suppress(Exception):
        connection = dbapi.connect(f"postgresql:///?service={service}" if service else "postgresql://")
    if connection is None:
        raise DataError(
            "PostgreSQL cannot be reached. Check the environment or the service file: psql must connect too."
        )
    cursor: Any = None
    state = ""
    try:
        cursor = connection.cursor()
        cursor.execute(query)
        return QuerySource(cursor.fetch_record_batch(), cursor, connection, explained=broken_off)
    except Exception as failure:  # its words may quote credentials or records: none is repeated
        state = str(getattr(failure, "sqlstate", None) or "") or _sign(str(failure))
    for giver in filter(None, (cursor, connection)):
        with suppress(Exception):
            giver.close()
    raise DataError(refused(state))


_REFUSALS = (
    (
        "57014",
        "PostgreSQL cancelled the query, as statement_timeout or its owner told it to. Raise the limit.",
    ),
    ("57P", "PostgreSQL is shutting down or was restarted. Try again once it is up."),
    ("08", "the connection to PostgreSQL was lost. Check the network and the server, and try again."),
    ("28", "PostgreSQL does not let this user in. Check the environment or the service file."),
    (
        "42501",
        "this user of PostgreSQL may not read what the query names. Ask for the right to SELECT from it.",
    ),
    (
        "42",
        "the query is no SQL that PostgreSQL understands, or names what it does not have. Try it in psql.",
    ),
    ("53", "PostgreSQL has no memory, disk or connections left for the query. Try again later."),
)


def refused(state: str) -> str:
    """Why PostgreSQL did not answer, by SQLSTATE, whose classes are public: never in its own words."""
    return next(
        (said for code, said in _REFUSALS if state.startswith(code)),
        "PostgreSQL does not run the query. Try it in psql.",
    )


_SIGNS = (
    ("canceling statement due to", "57014"),
    ("terminating connection", "57P01"),
    ("server closed the connection", "08006"),
    ("could not receive data", "08006"),
    ("no connection to the server", "08003"),
)
"""What the server and libpq say, in English, when it is no record that ends an answer."""


def _sign(failure: str) -> str:
    """The SQLSTATE that one of these phrases stands for; empty where none is among the words."""
    return next((code for sign, code in _SIGNS if sign in failure), "")


def broken_off(failure: str) -> str:
    """Why an answer ended before its last row; the driver hands on words alone then, and no SQLSTATE.

    Only whether one of a few fixed phrases is among them is looked at: others may quote a record."""
    if state := _sign(failure):
        return refused(state)
    return (
        "PostgreSQL ended its answer before the last row: the query fails on a record, or the server in "
        "another language than English. Try it in psql."
    )


def _require_installed(module: str) -> None:
    if find_spec(module) is None:
        raise ParameterError("reading a database needs the extra sql. Install sottovoce[sql].")
