"""Columns of a pandas, polars or pyarrow table, in the type they have: none is ever inferred.

Arrow gives a column of Python objects one type and one decimal scale by looking at all of them, so objects
are handed on as they are, and so are the categories of a pandas column.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, final

import numpy as np

from sottovoce.data.cells import Coded, one_by_one
from sottovoce.errors import DataError


@final
class Dataframe:
    """A table whose columns can be read by `cells`."""

    def __init__(self, table: Any) -> None:
        import narwhals as nw

        self._held: Any = None
        with suppress(Exception):
            self._held = nw.from_native(table, eager_only=True)
        if not isinstance(self._held, nw.DataFrame):
            raise DataError(
                "a table must be the path of a .csv or .parquet file, a pandas, polars or pyarrow table "
                "whose column names are distinct, or an object with an Arrow stream (__arrow_c_stream__)."
            )

    @property
    def n(self) -> int:
        return len(self._held)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._held.columns)

    def column(self, name: str) -> Any:
        found = series_column(self._held.get_column(name))
        if found is None:
            raise DataError(f"column {name!r} cannot be read.")
        return found


def series_column(series: Any) -> Any:
    """A column of narwhals as `cells` reads it; None where it cannot be read."""
    import narwhals as nw
    from narwhals.dependencies import is_pandas_like_series

    native = series.to_native()
    with suppress(Exception):
        if is_pandas_like_series(native):
            return _pandas(native)
        if series.dtype != nw.Object:  # of which polars would hand over memory addresses
            return series.to_arrow()
    with suppress(Exception):
        return one_by_one(series.to_list())
    return None


def _pandas(series: Any) -> Any:
    import pyarrow as pa

    if hasattr(series, "cat"):
        return Coded(_pandas(series.cat.categories.to_series()), series.cat.codes.to_numpy())
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    if hasattr(series.array, "__arrow_array__"):
        return pa.array(series.array)
    return one_by_one(series.to_list())
