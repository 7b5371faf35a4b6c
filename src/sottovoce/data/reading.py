"""How the cells of one declared column are read: which spellings are one text, which values mean none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from sottovoce.arrays import Mask, Vector
from sottovoce.data import cells
from sottovoce.data.cell import LETTERS, Codebook, Label, Spelling, codebook


@final
@dataclass(frozen=True)
class Reading:
    """Spelling, and values declared `missing`: a cell that has one of them is no number and no category."""

    spelling: Spelling = LETTERS
    missing: tuple[Label, ...] = ()

    @cached_property
    def absent(self) -> Codebook:
        """The values that mean missing."""
        return codebook(self.missing, self.spelling)

    def numbers(self, column: Any) -> Vector:
        """Each cell as float64; NaN where it is no number or one that means missing."""
        found = cells.numbers(column)
        if self.missing:
            found[cells.codes(column, self.missing, self.spelling) >= 0] = np.nan
        return found

    def codes(self, column: Any, labels: Sequence[Label]) -> cells.Codes:
        """Position of each cell among the labels, -1 for none. A declared label is never missing."""
        return cells.codes(column, labels, self.spelling)

    def is_missing(self, column: Any) -> Mask:
        """Which cells are none at all (null, NaN, empty text) or have a value that means missing."""
        empty = cells.codes(column, ("",), Spelling(trim=self.spelling.trim)) >= 0
        coded = cells.codes(column, self.missing, self.spelling) >= 0 if self.missing else empty
        return np.asarray(empty | coded | ~cells.holds(column))
