"""to_sql in a real PostgreSQL server predicts as the model does, on values that were made to be misread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.exports.test_exports import ROWS, TARGETS, alike, hostile, model_of, schema_of
from tests.servers import server  # noqa: F401 - a fixture


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_sql_in_postgresql_predicts_as_the_model(target: str, server: Path) -> None:  # noqa: F811
    from adbc_driver_postgresql import dbapi

    model = model_of(schema_of(target))
    table = hostile(ROWS, np.random.default_rng(3), model.schema)
    table["place"] = np.arange(ROWS)
    table["sector"] = table["sector"].map(lambda cell: None if cell is None else str(cell))
    table["member"] = table["member"].astype(float)
    given = pa.Table.from_pandas(table.drop(columns="y"), preserve_index=False)
    with dbapi.connect("postgresql:///?service=claims") as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("hostile", given, mode="create")
        connection.commit()
        cursor.execute(f"SELECT * FROM ({model.to_sql('hostile')}) AS found ORDER BY place")
        found: pd.DataFrame = cursor.fetch_arrow_table().to_pandas()
    chances = found.filter(like="probability of").to_numpy()
    alike(model, table, found.prediction.to_numpy(), chances)
