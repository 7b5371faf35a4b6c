"""Which rows are held out: by their place alone, or by whose they are. No other row has a say in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.accounting import Relation
from sottovoce.data.persons import Persons, read_keys, require_declared
from sottovoce.data.validation import column_of
from sottovoce.errors import DataError, ParameterError
from sottovoce.evaluation import holdout

_HASH = np.uint64(2654435761)
_MODULUS = np.uint64(2**32)


@final
@dataclass(frozen=True, repr=False)
class Split:
    """Rows to train on and rows to choose with, n records or persons in all.

    Of persons a fixed number is drawn, in secret and without looking, of all that there are or were declared
    to be: how many are on either side is then as public as n. Relabelling persons leaves the law of the draw
    as it is, so that someone who is zeroed out, after whom all later numbers move up, decides nobody else's
    side."""

    test: NDArray[np.bool_]
    n: int
    keys: list[str | None] | None = None
    declared: bool = False
    held: int = 0
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
        simulate: int | None = None,
    ) -> Split:
        weights = None if sample_weight is None else column_of(sample_weight, rows, "sample_weight")
        if groups is None:
            if persons is not None:
                raise ParameterError("persons counts the people named by groups: pass groups too.")
            return cls(held_out(rows, share), rows, weights=weights)
        require_declared(persons, lenient=False, relation=relation)
        keys = read_keys(groups, rows)
        everyone = Persons.of(keys, rows, persons, lenient=False)
        chosen = holdout.held_out(everyone.n, share, simulate)
        test = np.zeros(rows, dtype=bool)
        test[everyone.rows_of(np.flatnonzero(chosen))] = True
        if not 0 < int(test.sum()) < rows:
            raise DataError("the persons cannot be divided into those to train on and those to choose with.")
        return cls(test, everyone.n, keys, everyone.declared, int(chosen.sum()), weights)

    @property
    def unit(self) -> str:
        return "record" if self.keys is None else "person"

    @property
    def counted(self) -> bool:
        """Whether the persons were counted and not declared."""
        return self.keys is not None and not self.declared

    def facts(self, prefix: str, *, training: bool) -> dict[str, Any]:
        """What a fit is told besides X and y, of the rows to train on, or of all: weights and persons."""
        kept = ~self.test if training else slice(None)
        weighed = {} if self.weights is None else {f"{prefix}sample_weight": self.weights[kept]}
        if self.keys is None:
            return weighed
        keys = [key for key, out in zip(self.keys, self.test, strict=True) if not (training and out)]
        persons = self.n - self.held if training else self.n
        return {f"{prefix}groups": keys, f"{prefix}persons": persons if self.declared else None, **weighed}

    @property
    def people(self) -> Persons | None:
        """Whose rows are held out."""
        if self.keys is None:
            return None
        keys = [key for key, out in zip(self.keys, self.test, strict=True) if out]
        return Persons.of(keys, len(keys), self.held, lenient=False)


def held_out(n: int, share: float) -> NDArray[np.bool_]:
    """Which places are held out: by a hash of the row number, the same for every table of n rows."""
    hashed = (np.arange(n, dtype=np.uint64) * _HASH) % _MODULUS
    chosen = hashed < np.uint64(int(share * float(_MODULUS)))
    if not 0 < int(chosen.sum()) < n:
        raise DataError(f"{n} records cannot be divided into a part to train on and a part to choose with.")
    return np.asarray(chosen)
