"""A model as all exports see it: declared columns, and what each feature adds to each score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Matrix
from sottovoce.data.cell import Label, small
from sottovoce.data.columns import Categorical, Column
from sottovoce.data.dates import DatePart
from sottovoce.data.schema import Schema
from sottovoce.errors import ParameterError


@final
@dataclass(frozen=True)
class Scorecard:
    """score_k = constant_k + sum over blocks of <weights_k, features>, features in units of 1.

    Of two classes the second has positive scores; of more each has a score of its own; a number is its score;
    an expected count is e^score, `highest` at most, which only counts have. `facts` are words that travel
    with every export: the guarantee first."""

    schema: Schema
    classes: tuple[Label, ...] | None
    probabilities: bool
    weights: Matrix
    constants: NDArray[np.float64]
    facts: dict[str, str]
    highest: float | None = None

    @classmethod
    def of(cls, model: Any) -> Scorecard:
        """The scorecard of a `Model`."""
        unit = model.schema.unit
        scaled = unit * np.asarray(model.weights, dtype=np.float64)
        weights, constants = scaled[:, :-1], scaled[:, -1]
        classes = tuple(model.classes_.tolist()) if model.is_classifier else None
        middle, reach = model.scale
        weights, constants = reach * weights, middle + reach * constants
        facts = {
            "guarantee": str(model.result.guarantee),
            **({"caveats": "; ".join(model.result.caveats)} if model.result.caveats else {}),
            "simulated": "yes: NOT private" if model.result.simulated else "no",
            "data set": model.dataset,
            "target": model.schema.target.name,
            **_told(model.schema.target),
            "created": model.created,
            "schema": model.schema.digest,
            "sottovoce": model.versions.get("sottovoce", ""),
        }
        highest = model.schema.target.high if model.is_count else None
        if model.loss == "cloglog":
            raise ParameterError(
                "exports know the logit alone, and this model's hazards have a complementary log-log. Use "
                'the model file, or fit with link = "logit".'
            )
        chances = hasattr(model, "predict_proba")
        return cls(model.schema, classes, chances, weights, constants, facts, highest)

    @property
    def blocks(self) -> list[tuple[tuple[Column, ...], Matrix]]:
        """Columns or pairs of them, and weights[output, features of the first, of the second]."""
        named = {column.name: column for column in self.schema.columns}
        parts: list[tuple[Column, ...]] = [(column,) for column in self.schema.columns]
        parts += [(named[first], named[second]) for first, second in self.schema.interactions]
        found, place = [], 0
        for part in parts:
            shape = tuple(len(column.features) for column in part)
            width = int(np.prod(shape))
            found.append((part, self.weights[:, place : place + width].reshape(-1, *shape)))
            place += width
        return found

    def apart(self, name: str, alike: Callable[[str], str] = str) -> str:
        """The name, primed until no column that is read has one `alike`: for what an export computes."""
        taken = {alike(column.source) for column in self.schema.columns}
        while alike(name) in taken:
            name += "'"
        return name

    def refuse_formats(self, format_name: str) -> None:
        """Formats that know dates read them as ISO 8601 spells them."""
        for column in self.schema.columns:
            if isinstance(column, DatePart) and column.format is not None:
                raise ParameterError(
                    f"{format_name} reads dates as ISO 8601 spells them, and column {column.name!r} declares "
                    "another format. Convert the column to a date, and fit without a format."
                )

    def refuse_dates(self, format_name: str) -> None:
        """Formats that know no dates name the way out."""
        for column in self.schema.columns:
            if isinstance(column, DatePart):
                raise ParameterError(
                    f"{format_name} cannot read dates, and column {column.name!r} is part of one. Put the "
                    "part into the table and declare it categorical, or use to_sql."
                )


def _told(target: Any) -> dict[str, str]:
    """What a prediction is of, where the name of the target does not say it."""
    if target.exposure is not None:
        return {"rate": f"per unit of {target.exposure}"}
    if target.survival is not None:
        return {"hazard": f"in the interval of {target.survival.time} named"}
    return {}


def is_text(column: Categorical) -> bool:
    """Whether the categories are text, so that the table's column must be."""
    return isinstance(column.categories[0], str)


def to_the_letter(schema: Schema, labels: tuple[Label, ...]) -> bool:
    """Whether spaces and case tell labels apart, so that they cannot be read past."""
    plain = [schema.spelling.plain(label) for label in labels if isinstance(label, str)]
    return len(set(plain)) < len(plain)


def missing_texts(schema: Schema, column: Column) -> tuple[str, ...]:
    """Texts that mean missing, as they are once trimmed and folded; the empty one among them."""
    listed = schema.reading(column).missing
    texts = [schema.spelling.plain(label) if isinstance(label, str) else f"{label:g}" for label in listed]
    return tuple(dict.fromkeys(["", *texts]))


def missing_numbers(schema: Schema, column: Column) -> tuple[float, ...]:
    """Numbers that mean missing."""
    return tuple(schema.reading(column).absent.numbers)


def letters_folded(schema: Schema, column: Categorical) -> tuple[str, str]:
    """Large letters, and the small ones they are read as, that a declared category or missing text has."""
    known = {letter for text in map(str, column.categories) for letter in map(small, text)}
    known |= {letter for text in missing_texts(schema, column) for letter in text}
    pairs = sorted((letter.upper(), letter) for letter in known if small(letter.upper()[:1]) == letter)
    kept = [(large, letter) for large, letter in pairs if len(large) == 1 and large != letter]
    return "".join(large for large, _ in kept), "".join(letter for _, letter in kept)
