"""Which rows are held out: by their place alone, or by whose they are. No other row has a say in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.accounting import Relation
from sottovoce.arrays import Vector
from sottovoce.data.persons import Persons, held_out_persons, read_keys
from sottovoce.data.validation import column_of
from sottovoce.errors import DataError, ParameterError

_HASH = np.uint64(2654435761)
_MODULUS = np.uint64(2**32)
_DEVIATIONS = 6.0


@final
@dataclass(frozen=True, repr=False)
class Split:
    """Rows to train on and rows to choose with, n records or persons in all.

    People are put on one side by a hash of their key. How many fall on it is then not counted under zero-out
    but bounded: their share of the declared number and six standard deviations."""

    test: NDArray[np.bool_]
    n: int
    keys: list[str | None] | None = None
    most: int | None = None
    weights: NDArray[Any] | None = None

    @classmethod
    def of(
        cls,
        rows: int,
        share: float,
        groups: Any,
        persons: int | None,
        relation: Relation,
        sample_weight: Any = None,
    ) -> Split:
        weights = None if sample_weight is None else column_of(sample_weight, rows, "sample_weight")
        if groups is None:
            if persons is not None:
                raise ParameterError("persons counts the people named by groups: pass groups too.")
            return cls(held_out(rows, share), rows, weights=weights)
        keys = read_keys(groups, rows)
        everyone = Persons.of(keys, rows, persons, lenient=False)
        if relation is Relation.ZERO_OUT and not everyone.declared:
            raise ParameterError(
                "under zero-out declare how many persons there are: fit(..., persons=20_000)."
            )
        test = held_out_persons(keys, share)
        if not 0 < int(test.sum()) < rows:
            raise DataError("the persons cannot be divided into those to train on and those to choose with.")
        most = None if persons is None else _most(everyone.n, 1.0 - share)
        return cls(test, everyone.n, keys, most, weights)

    @property
    def unit(self) -> str:
        return "record" if self.keys is None else "person"

    def facts(self, prefix: str, *, training: bool) -> dict[str, Any]:
        """What a fit is told besides X and y, of the rows to train on, or of all: weights and persons."""
        kept = ~self.test if training else slice(None)
        weighed = {} if self.weights is None else {f"{prefix}sample_weight": self.weights[kept]}
        if self.keys is None:
            return weighed
        keys = [key for key, out in zip(self.keys, self.test, strict=True) if not (training and out)]
        persons = self.most if training else self._declared
        return {f"{prefix}groups": keys, f"{prefix}persons": persons, **weighed}

    @property
    def _declared(self) -> int | None:
        return None if self.most is None else self.n

    def total(self, merits: Vector, steps: int) -> int:
        """Whole steps that the rows held out earn; those of a person are averaged and rounded down."""
        if self.keys is None:
            return int(merits.sum())
        keys = [key for key, out in zip(self.keys, self.test, strict=True) if out]
        return int(Persons.of(keys, len(keys), None, lenient=False).floored(merits / steps, steps).sum())


def held_out(n: int, share: float) -> NDArray[np.bool_]:
    """Which places are held out: by a hash of the row number, the same for every table of n rows."""
    hashed = (np.arange(n, dtype=np.uint64) * _HASH) % _MODULUS
    chosen = hashed < np.uint64(int(share * float(_MODULUS)))
    if not 0 < int(chosen.sum()) < n:
        raise DataError(f"{n} records cannot be divided into a part to train on and a part to choose with.")
    return np.asarray(chosen)


def _most(n: int, share: float) -> int:
    return min(n, math.ceil(n * share + _DEVIATIONS * math.sqrt(n * share * (1.0 - share))))
