"""Tables by query: what a database gives is what its table holds, and nothing it says is repeated."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.cli.tables import table_of
from sottovoce.data.databases import open_query
from sottovoce.data.files import read
from sottovoce.data.schema import Categorical, Numeric, Target
from sottovoce.errors import DataError
from tests.attacks.doors.product.postgres import violations
from tests.servers import server  # noqa: F401 - a fixture

SCHEMA = sv.Schema(
    (Numeric("age", 0, 100), Categorical("sector", ("a", "b"))), Target("y", ("no", "yes")), missing=("?",)
)
FRAME = pd.DataFrame({"age": [10.0, None, 250.0], "sector": ["a", " b", "?"], "y": ["no", "yes", "yes"]})
FILL = (
    "CREATE TABLE claims (age DOUBLE PRECISION, sector VARCHAR(9), y VARCHAR(9)); INSERT INTO claims VALUES "
)
FILL += "(10, 'a', 'no'), (NULL, ' b', 'yes'), (250, '?', 'yes')"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "claims.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(FILL)
    return path


def test_a_query_gives_the_rows_of_its_table(database: Path) -> None:
    table = read(table_of([database], "SELECT * FROM claims"), SCHEMA)
    assert np.array_equal(table.features, sv.BoundedEncoder(SCHEMA).transform(FRAME))


def test_a_query_cannot_read_files_whose_columns_a_database_would_type(database: Path) -> None:
    (database.parent / "a.csv").write_text("age,sector,y\n1,a,no\n")
    query = f"SELECT * FROM read_csv('{database.parent}/a.csv')"
    with pytest.raises(sv.errors.DataError, match="does not run"):
        open_query(str(database), query)


def test_a_query_cannot_change_the_database(database: Path) -> None:
    with pytest.raises(sv.errors.DataError):
        read(open_query(str(database), "DELETE FROM claims RETURNING *"), SCHEMA)
    with duckdb.connect(database, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (3,)


@pytest.mark.parametrize("query", ["SELECT * FROM secret_table", "SELECT 'secret'::INTEGER AS age"])
def test_no_refusal_repeats_what_a_database_says(database: Path, query: str) -> None:
    with pytest.raises(sv.errors.DataError) as caught:
        read(open_query(str(database), query), SCHEMA)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_credentials_on_the_command_line_are_refused_and_not_repeated() -> None:
    with pytest.raises(sv.errors.ParameterError, match="PGPASSWORD") as caught:
        table_of([Path("postgresql://me:secret@host/db")], "SELECT 1")
    assert "secret" not in str(caught.value)


def test_a_database_without_a_query_names_the_option(database: Path) -> None:
    for place in (database, Path("postgresql:claims")):
        with pytest.raises(sv.errors.ParameterError, match="--query"):
            read(table_of([place], None), SCHEMA)


@pytest.mark.slow
def test_a_real_postgresql_gives_the_rows_of_its_table(
    server: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect("postgresql:///?service=claims") as connection, connection.cursor() as cursor:
        for statement in FILL.split("; "):
            cursor.execute(statement)
        connection.commit()
    table = read(table_of([Path("postgresql:claims")], "SELECT * FROM claims"), SCHEMA)
    assert np.array_equal(table.features, sv.BoundedEncoder(SCHEMA).transform(FRAME))
    with pytest.raises(sv.errors.DataError, match="no SQL that PostgreSQL understands") as caught:
        table_of([Path("postgresql:claims")], "SELECT secret FROM claims")
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(sv.errors.DataError, match="cannot be reached") as caught:
        table_of([Path("postgresql:claims")], "SELECT * FROM claims")
    assert "wrong" not in str(caught.value)


@pytest.mark.slow
def test_no_record_of_a_real_postgresql_changes_how_another_is_read(server: Path) -> None:  # noqa: F811
    assert violations(300, 0) == []


SLOW = "SELECT g AS a, pg_sleep(0.02)::text AS s FROM generate_series(1, 10000) g"
FAILS = "SELECT CASE WHEN g = 900000 THEN 1 / (g - 900000) ELSE g END AS a FROM generate_series(1, 1000000) g"


def read_all(query: str) -> None:
    for _ in open_query("postgresql:claims", query).chunks(("a",)):
        pass


@pytest.mark.slow
def test_a_real_postgresql_that_ends_its_answer_says_why_and_quotes_nothing(
    server: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A timeout, a lost connection, a record on which the query fails, and SQL that is none."""
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=300")
    with pytest.raises(DataError, match="cancelled") as late:
        read_all(SLOW)
    monkeypatch.setenv("PGOPTIONS", "")
    with pytest.raises(DataError, match="fails on a record") as failing:
        read_all(FAILS)
    with pytest.raises(DataError, match="no SQL") as nonsense:
        read_all("SELECT nothing")

    def end() -> None:
        from adbc_driver_postgresql import dbapi

        others = "query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()"
        ended: list[Any] = []
        while not ended:
            with dbapi.connect("postgresql:///?service=claims") as asked, asked.cursor() as cursor:
                cursor.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
                ended = cursor.fetchall()

    ending = threading.Thread(target=end)
    ending.start()
    with pytest.raises(DataError, match="shutting down or was restarted") as lost:
        read_all(SLOW)
    ending.join()
    for told in (late, failing, nonsense, lost):
        assert "zero" not in str(told.value) + repr(told.value.__context__)
