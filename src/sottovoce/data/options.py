"""How a table is read: declared by whoever reads it, and decided by none of its records."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import final

from sottovoce.data.headers import checked_decimal, checked_delimiter
from sottovoce.data.validation import require_rule_for_invalid
from sottovoce.errors import ParameterError

MOST_WORKERS = 1024


@final
@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a table is read.

    Args:
        invalid: "raise" refuses a table with unusable rows; "zero" blanks them, and takes unusable fields for
            missing.
        delimiter: The mark between fields of a CSV file.
        decimal: The decimal mark of a CSV file.
        dask: The address of a scheduler whose workers read a Parquet file and keep its rows; "local" starts
            some here.
        workers: So many worker processes are started here.
        spool: Where encoded rows of a Parquet file go that do not fit into memory, as for
            `Records.from_parquet`.
    """

    invalid: str = "raise"
    delimiter: str = ","
    decimal: str = "."
    dask: str | None = None
    workers: int | None = None
    spool: bool | str | os.PathLike[str] = True

    def __post_init__(self) -> None:
        require_rule_for_invalid(self.invalid)
        object.__setattr__(self, "delimiter", checked_delimiter(self.delimiter))
        if checked_decimal(self.decimal) == self.delimiter:
            raise ParameterError("delimiter and decimal must differ: one of them is what the other is.")
        if self.workers is None:
            return
        counted = isinstance(self.workers, int) and not isinstance(self.workers, bool)
        if self.dask not in (None, "local") or not counted or not 1 <= self.workers <= MOST_WORKERS:
            raise ParameterError(
                f"workers must be from 1 to {MOST_WORKERS}, started here: name no scheduler.",
                argument="workers",
            )

    @property
    def lenient(self) -> bool:
        """Whether an unusable field is taken for missing, and nobody told."""
        return self.invalid == "zero"

    @property
    def scheduler(self) -> str | None:
        """Where Dask is asked to read; None where it is not."""
        return self.dask if self.workers is None else "local"


def checked_reading(reading: ReadOptions) -> ReadOptions:
    if not isinstance(reading, ReadOptions):
        raise ParameterError(
            'reading must be ReadOptions, for example ReadOptions(invalid="zero").', argument="reading"
        )
    return reading


AS_WRITTEN = ReadOptions()
"""Commas between fields, points in numbers, no unusable row."""
