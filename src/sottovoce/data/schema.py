"""A table as declared in TOML, JSON or Python, without looking at its rows."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from sottovoce.accounting.checks import writable
from sottovoce.arrays import Vector
from sottovoce.data.cell import Label, Spelling
from sottovoce.data.cells import Codes
from sottovoce.data.columns import Categorical, Column, Target, check_name, declared_missing
from sottovoce.data.dates import DatePart
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.data.reading import Reading
from sottovoce.data.schema_file import column_of, lines_of, parsed, table_of, target_of
from sottovoce.data.survival import AT_RISK, INTERVAL, PERSON
from sottovoce.data.template import quoted, template
from sottovoce.data.weights import counts, counts_of, declared_cap
from sottovoce.errors import ParameterError
from sottovoce.results.inference.terms import checked_within

__all__ = ["Binned", "Categorical", "DatePart", "Numeric", "Schema", "Spline", "Target"]

INTERCEPT = "intercept"
_MARGIN = 2.0**-21
"""Rows stay this far below norm 1, so that rounding to float32 pushes none past what Records leave alone."""


@final
@dataclass(frozen=True)
class Schema:
    """Columns in the order of the encoded features, what to predict from them, and whose rows they are.

    `person` names the column of keys by which rows belong to people: then the guarantee is theirs. `weight`
    names the column that says what a row counts, up to `weight_cap`. `within` is what standard
    errors assume of effects that noise hides, see `inference.terms`.

    Public by declaration: it must come from what is known without the data, never from its minima, maxima or
    distinct values."""

    columns: tuple[Column, ...]
    target: Target | None = None
    missing: tuple[Label, ...] = field(default=(), kw_only=True)
    trim: bool = field(default=True, kw_only=True)
    fold: bool = field(default=False, kw_only=True)
    interactions: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    person: str | None = field(default=None, kw_only=True)
    weight: str | None = field(default=None, kw_only=True)
    weight_cap: float | None = field(default=None, kw_only=True)
    within: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        if not columns or not all(isinstance(column, Column) for column in columns):
            raise ParameterError("a schema needs one or more columns, each Numeric(...) or Categorical(...).")
        if self.target is not None and not isinstance(self.target, Target):
            raise ParameterError(
                'target must be Target("name", classes=(...)) or Target("name", low=, high=).',
                argument="target",
            )
        survival = None if self.target is None else self.target.survival
        if survival is not None:
            interval = Categorical(INTERVAL, survival.intervals)
            if interval not in columns:
                columns = (*columns, interval)
        names = [column.name for column in columns] + ([self.target.name] if self.target else [])
        names += [*survival.columns] if survival is not None else []
        for special in (*self.keyed_by, *self.weighed_by):
            check_name(special)
            names.append(special)
        for name in names:
            if names.count(name) > 1:
                raise ParameterError(
                    f"{name!r} is declared twice. A column is a feature, the target, the person or the "
                    "weight or exposure, once."
                )
        if (self.weight is None) != (self.weight_cap is None):
            raise ParameterError(
                "weight and weight_cap go together: the column of weights, and the most that a row may count "
                "by it, from what is known without the data."
            )
        if self.weight_cap is not None:
            object.__setattr__(self, "weight_cap", declared_cap(self.weight_cap, self.weight))
        if self.within is not None:
            object.__setattr__(self, "within", checked_within(self.within))
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "missing", declared_missing(self.missing, "the schema"))
        if not isinstance(self.trim, bool) or not isinstance(self.fold, bool):
            raise ParameterError("trim and fold must be true or false.")
        if survival is not None and {*survival.columns} & {*self.names}:
            raise ParameterError("the time to an event, or of entry, is read for a feature too.")
        if self.person in self.names:
            raise ParameterError(f"{self.person!r} is read for a feature and names the person.")
        if self.weight in self.names:
            raise ParameterError(f"{self.weight!r} is read for a feature and holds the weights.")
        if self.target is not None and self.target.exposure in self.names:
            raise ParameterError(f"{self.target.exposure!r} is read for a feature and holds the exposures.")
        if self.target is not None and self.target.name in self.names:
            raise ParameterError(f"{self.target.name!r} is read for a feature and is the target.")
        object.__setattr__(self, "interactions", self._declared_pairs())
        self._require_shapes()
        self._require_distinct_features()
        writable("a schema", json.dumps(self.to_dict(), ensure_ascii=False))

    def _require_shapes(self) -> None:
        """Shapes and directions are those of a column's whole effect on one score."""
        crossed = {name for pair in self.interactions for name in pair}
        classes = () if self.target is None else self.target.classes or ()
        for column in self.columns:
            directed = getattr(column, "monotone", None) is not None
            if column.name in crossed and (directed or getattr(column, "shape", None) == "curve"):
                raise ParameterError(
                    f"column {column.name!r} enters an interaction, so no curve or direction is its own. "
                    "Leave the interaction out, or the shape and monotone."
                )
            if directed and len(classes) > 2:
                raise ParameterError(
                    f"column {column.name!r}: monotone is for two classes, a range or counts; of "
                    f"{len(classes)} classes each has a score of its own."
                )

    def _require_distinct_features(self) -> None:
        """Coefficients are known by the names of features: two of one name could not be told apart."""
        seen: set[str] = set()
        for name in self.features:
            if name in seen:
                raise ParameterError(
                    f"two features would be called {name!r}, such as a column of this name and a category of "
                    "another. Rename a column, in the schema and in the table."
                )
            seen.add(name)

    def _declared_pairs(self) -> tuple[tuple[str, str], ...]:
        pairs = self.interactions
        known = {column.name for column in self.columns}
        if not isinstance(pairs, list | tuple) or not all(
            isinstance(pair, list | tuple)
            and len(pair) == 2
            and all(isinstance(name, str) and name in known for name in pair)
            and pair[0] != pair[1]
            for pair in pairs
        ):
            raise ParameterError(
                'interactions must be pairs of two declared columns, such as [["age", "sex"]].',
                argument="interactions",
            )
        if len({frozenset(pair) for pair in pairs}) < len(pairs):
            raise ParameterError("an interaction is declared twice.")
        return tuple((first, second) for first, second in pairs)

    @property
    def declared_columns(self) -> tuple[Column, ...]:
        """The columns but that of intervals, which a time to event adds."""
        timed = self.target is not None and self.target.survival is not None
        return tuple(column for column in self.columns if not (timed and column.name == INTERVAL))

    @property
    def read_columns(self) -> tuple[str, ...]:
        """Every column of the table that is read, features or not."""
        aim = self.target
        told = () if aim is None else (aim.name, *(aim.survival.columns if aim.survival else ()))
        sources = (column.source for column in self.declared_columns)
        return tuple(dict.fromkeys((*sources, *told, *self.keyed_by, *self.weighed_by)))

    @property
    def of_periods(self) -> Schema:
        """The schema of the rows that a time to event makes of records, see `survival.Periods`."""
        person = PERSON if self.person is None else self.person
        return replace(self, person=person, weight=AT_RISK, weight_cap=self.weight_cap or 1.0)

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the table that features are read from, each once."""
        return tuple(dict.fromkeys(column.source for column in self.columns))

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded features: those of the columns, of interactions, and the intercept."""
        blocks = {column.name: column.features for column in self.columns}
        pairs = [
            f"{left} x {right}"
            for first, second in self.interactions
            for left in blocks[first]
            for right in blocks[second]
        ]
        return (*(name for block in blocks.values() for name in block), *pairs, INTERCEPT)

    @property
    def blocks(self) -> int:
        """Blocks of features of norm at most 1: columns, interactions and the intercept.

        The features of an interaction are all products of those of its two columns; their norm is the
        product of both norms."""
        return len(self.columns) + len(self.interactions) + 1

    @property
    def unit(self) -> float:
        """What a feature of 1 is encoded as: every block has norm at most 1, and so the row."""
        return (1.0 - _MARGIN) / math.sqrt(self.blocks)

    @property
    def spelling(self) -> Spelling:
        return Spelling(trim=self.trim, fold=self.fold)

    def reading(self, column: Column | Target) -> Reading:
        """How the cells of a column are read."""
        own = column.missing if isinstance(column, Column) else ()
        return Reading(self.spelling, (*self.missing, *own))

    @property
    def keyed_by(self) -> tuple[str, ...]:
        """The column of persons' keys, if there is one."""
        return () if self.person is None else (self.person,)

    @property
    def weighed_by(self) -> tuple[str, ...]:
        """The columns that say what rows count: of weights and of exposures, if there are any."""
        exposure = None if self.target is None else self.target.exposure
        return tuple(name for name in (self.weight, exposure) if name is not None)

    def amended(
        self,
        *,
        person: str | None = None,
        weight: str | None = None,
        weight_cap: float | None = None,
        class_weight: Mapping[Label, float] | None = None,
        within: float | None = None,
    ) -> Schema:
        """The schema with these in place of what it says; what is None stays.

        Args:
            person: The column of people's keys.
            weight: The column of what rows count.
            weight_cap: The most that a row counts.
            class_weight: What the rows of a class count.
            within: The most that an effect may be off which noise hides.
        """
        given = {"person": person, "weight": weight, "weight_cap": weight_cap, "within": within}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if class_weight is not None:
            if self.target is None:
                raise ParameterError("class_weight needs a target of classes, which the schema lacks.")
            changes["target"] = replace(self.target, class_weight=class_weight)
        return replace(self, **changes)

    @property
    def is_weighted(self) -> bool:
        """Whether rows count by a column or by their class."""
        return bool(self.weighed_by) or (self.target is not None and self.target.class_weight is not None)

    def numbers(self, column: Any) -> Vector:
        """The cells of a column of weights or exposures; NaN where one is no number or means missing."""
        return Reading(self.spelling, self.missing).numbers(column)

    def weights(self, column_of: Callable[[str], Any]) -> Vector | None:
        """What rows count by their weight over its cap and by their exposure over the longest, within [0, 1];
        NaN where a cell is no number. None where neither is declared."""
        found: Vector | None = None
        if self.weight is not None:
            found = counts_of(self.numbers(column_of(self.weight)), self.weight_cap or 1.0)
        if self.target is not None and self.target.exposure is not None:
            shares = self.target.exposed(self.numbers(column_of(self.target.exposure)))
            found = shares if found is None else found * shares
        return found

    def counts(self, n: int, weights: Vector | None, codes: Codes) -> Vector:
        """What n rows count by `weights` and by their places among the classes, see `weights.counts`."""
        shares = self.target.class_weights if self.target else ()
        return counts(n, weights=weights, cap=1.0, codes=codes, class_weights=shares)

    def labels_of(self, name: str) -> tuple[Label, ...] | None:
        """Declared categories or classes of a column; None where it is declared a number."""
        if self.target is not None and self.target.name == name:
            return self.target.labels
        named = [column for column in self.columns if column.source == name]
        return named[0].labels if named else None

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration, in hexadecimal: names this schema in models and reports."""
        text = json.dumps(self.to_dict(), sort_keys=False, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, in the shape of the TOML and JSON files."""
        raw: dict[str, Any] = {"missing": list(self.missing)} if self.missing else {}
        raw |= ({} if self.trim else {"trim": False}) | ({"fold": True} if self.fold else {})
        raw |= {"interactions": [list(pair) for pair in self.interactions]} if self.interactions else {}
        raw |= {} if self.person is None else {"person": self.person}
        raw |= {} if self.weight is None else {"weight": self.weight, "weight_cap": self.weight_cap}
        raw |= {} if self.within is None else {"within": self.within}
        raw["columns"] = {column.name: column.to_dict() for column in self.declared_columns}
        if self.target is not None:
            raw["target"] = self.target.to_dict()
        return raw

    @classmethod
    def from_dict(cls, raw: object) -> Schema:
        """The schema of `to_dict`, or ParameterError that names what is missing."""
        options = ("person", "weight", "weight_cap", "within", "missing", "trim", "fold", "interactions")
        table = table_of(raw, "a schema", None)
        if not set(table) <= {*options, "columns", "target"}:
            raise ParameterError(
                f"a schema: a key is unknown; use {', '.join(options)}, columns, target. Is it another file?"
            )
        columns = table_of(table.get("columns"), "[columns]", None)
        target = table.get("target")
        return cls(
            columns=tuple(column_of(name, part) for name, part in columns.items()),
            target=None if target is None else target_of(target),
            **{name: table[name] for name in options if name in table},
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a .toml or .json file."""
        where = Path(path)
        raw, refusal = parsed(where)
        if refusal:  # raised here, where the parser's own, which holds the file, is forgotten
            raise ParameterError(refusal)
        return cls.from_dict(raw)

    def to_toml(self) -> str:
        """The declaration as TOML, which `load` reads back to an equal schema."""
        options = {name: part for name, part in self.to_dict().items() if name not in ("columns", "target")}
        parts = [lines_of(options)] if options else []
        parts += [
            f"[columns.{quoted(column.name)}]\n{lines_of(column.to_dict())}"
            for column in self.declared_columns
        ]
        if self.target is not None:
            parts.append(f"[target]\n{lines_of(self.target.to_dict())}")
        return "\n".join(parts)

    @staticmethod
    def template(names: Iterable[str]) -> str:
        """TOML with types and bounds left to fill in, from column names alone."""
        return template(names)
