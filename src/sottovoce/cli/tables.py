"""The table that a command reads: a file as it is, or a database by a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sottovoce.errors import ParameterError

DATABASES = (".duckdb", ".ddb", ".db")


def table_of(files: list[Path], query: str | None) -> Any:
    """What to pass on as the table."""
    data = files[0]
    if len(files) > 1:
        if query is not None:
            raise ParameterError("--query reads one database.")
        return files
    if query is None:
        if str(data).startswith("postgresql:"):
            raise ParameterError("name what to read of the database: --query 'SELECT ... FROM ...'.")
        return data
    from sottovoce.data.databases import open_query

    if not str(data).startswith("postgresql:") and data.suffix.lower() not in DATABASES:
        raise ParameterError(
            f"--query reads a DuckDB file ({', '.join(DATABASES)}) or postgresql:SERVICE, not {data}."
        )
    if not str(data).startswith("postgresql:") and not data.is_file():
        raise ParameterError(f"there is no file {data}.")
    return open_query(str(data), query)
