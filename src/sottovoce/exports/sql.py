"""A model as one SELECT that scores a table in DuckDB and in PostgreSQL.

Columns must have the declared types: numbers for numbers and for categories that are numbers, text for text,
booleans for booleans, dates or timestamps for parts of dates. The sums are those of the model in float64.

What is computed comes first: of two columns of one name DuckDB takes the first, which is then the model's,
and PostgreSQL refuses. Names of declared columns are never used for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.data.cell import SPACES
from sottovoce.data.columns import Categorical, Column
from sottovoce.data.dates import DatePart
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.errors import ParameterError
from sottovoce.exports.scorecard import (
    Scorecard,
    is_text,
    letters_folded,
    missing_numbers,
    missing_texts,
    to_the_letter,
)

_ALIKE = str.casefold
"""DuckDB takes names for one another that differ in case."""

_FIELDS = {"month": "MONTH", "quarter": "QUARTER", "weekday": "ISODOW", "hour": "HOUR", "year": "YEAR"}


class Case(NamedTuple):
    """Where the condition holds, the features are the sum of factor times vector. None: always, and 1."""

    condition: str | None
    terms: list[tuple[str | None, NDArray[np.float64]]]


def to_sql(card: Scorecard, table: str) -> str:
    """SELECT the scores, the prediction, probabilities where there are any, and the table's columns."""
    if not isinstance(table, str) or not table:
        raise ParameterError(
            'table must be the name of a table, such as "claims" or "schema.claims".', argument="table"
        )
    card.refuse_formats("SQL")
    writer = Writer(card)
    place = ".".join(map(identifier, table.split(".")))
    scores = [
        " + ".join(
            [literal(constant), *(writer.expression(part, weights[output]) for part, weights in card.blocks)]
        )
        for output, constant in enumerate(card.constants)
    ]
    numbers = [""] if len(scores) == 1 else [f"_{place}" for place in range(1, len(scores) + 1)]
    names = [identifier(card.apart(f"score{number}", _ALIKE)) for number in numbers]
    inner = ",\n    ".join(
        f"CAST({score} AS DOUBLE PRECISION) AS {name}" for score, name in zip(scores, names, strict=True)
    )
    facts = "".join(f"-- {name}: {' '.join(text.split())}\n" for name, text in card.facts.items())
    outer = ", ".join(
        f"{text} AS {identifier(card.apart(name, _ALIKE))}" for name, text in _results(card, names)
    )
    # without OFFSET PostgreSQL writes each score out at every place that names it, and takes minutes to plan
    scored = f"(\n  SELECT {inner},\n    t.*\n  FROM {place} AS t OFFSET 0\n) AS scored"
    return f"{facts}SELECT {outer}, scored.*\nFROM {scored}"


def _results(card: Scorecard, names: list[str]) -> list[tuple[str, str]]:
    if card.highest is not None:
        return [("prediction", f"least({literal(card.highest)}, exp(least(700.0, scored.{names[0]})))")]
    if card.classes is None:
        return [("prediction", f"scored.{names[0]}")]
    if len(names) == 1:
        chance = f"1.0 / (1.0 + exp(-greatest(-700.0, least(700.0, scored.{names[0]}))))"
        first, second = map(constant, card.classes)
        found = [("prediction", f"CASE WHEN scored.{names[0]} > 0 THEN {second} ELSE {first} END")]
        chances = [f"1.0 - {chance}", chance]
    else:
        best = f"greatest({', '.join(f'scored.{name}' for name in names)})"
        picks = " ".join(
            f"WHEN scored.{name} = {best} THEN {constant(label)}"
            for name, label in zip(names, card.classes, strict=True)
        )
        powers = [f"exp(greatest(-700.0, scored.{name} - {best}))" for name in names]
        found = [("prediction", f"CASE {picks} END")]
        chances = [f"{power} / ({' + '.join(powers)})" for power in powers]
    if card.probabilities:
        found += [
            (f"probability of {label}", chance) for label, chance in zip(card.classes, chances, strict=True)
        ]
    return found


@final
@dataclass(frozen=True)
class Writer:
    """Expressions for what columns add to a score."""

    card: Scorecard

    def expression(self, columns: tuple[Column, ...], weights: NDArray[np.float64]) -> str:
        """<weights, features> of one column, or the sum over products of features of several."""
        if not columns:
            return literal(float(weights))
        written = []
        for condition, terms in self.cases(columns[0]):
            inner = [(factor, np.tensordot(vector, weights, axes=1)) for factor, vector in terms]
            shown = [
                self.expression(columns[1:], rest)
                if factor is None
                else f"{factor} * ({self.expression(columns[1:], rest)})"
                for factor, rest in inner
            ]
            written.append((condition, " + ".join(shown) or "0.0"))
        whens = "".join(
            f" WHEN {condition} THEN {text}" for condition, text in written if condition is not None
        )
        return f"CASE{whens} ELSE {written[-1][1] if written[-1][0] is None else '0.0'} END"

    def cases(self, column: Column) -> list[Case]:
        """The features of a column, case by case; the last may be for all that remains, else 0."""
        count = len(column.features)
        one = np.eye(count)
        absent: list[tuple[str | None, NDArray[np.float64]]] = [(None, one[-1])] if column.indicator else []
        if isinstance(column, Categorical):
            return self._categories(column, one, absent)
        if isinstance(column, DatePart):
            return _dates(column, one, absent)
        x = f"CAST(t.{identifier(column.source)} AS DOUBLE PRECISION)"
        nothing = _is_missing(x, missing_numbers(self.card.schema, column))
        if isinstance(column, Binned):
            rest = [
                Case(f"{x} < {literal(edge)}", [(None, one[place])])
                for place, edge in enumerate(column.edges)
            ]
            return [Case(nothing, absent), *rest, Case(None, [(None, one[len(column.edges)])])]
        assert isinstance(column, Numeric | Spline)
        inside = f"greatest({literal(column.low)}, least({literal(column.high)}, {x}))"
        inside = {None: inside, "log1p": f"ln(1.0 + {inside})", "sqrt": f"sqrt({inside})"}[column.transform]
        if isinstance(column, Numeric):
            return [Case(nothing, absent), Case(None, [(_scaled(column, inside), one[0])])]
        return [Case(nothing, absent), *_pieces(column, inside, count)]

    def _categories(self, column: Categorical, one: Any, absent: Any) -> list[Case]:
        raw = f"t.{identifier(column.source)}"
        if is_text(column):
            key = self._key(raw, column)
            letters = to_the_letter(self.card.schema, column.categories)
            plain = self.card.schema.spelling.plain
            texts = [str(label) if letters else plain(str(label)) for label in column.categories]
            found = [
                Case(f"{raw if letters else key} = {quoted(text)}", [(None, one[j])])
                for j, text in enumerate(texts)
            ]
            listed = ", ".join(map(quoted, missing_texts(self.card.schema, column)))
            nothing = f"({raw} IS NULL OR {key} IN ({listed}))"
        else:
            plain_number = f"CAST({raw} AS INTEGER)" if isinstance(column.categories[0], bool) else raw
            x = f"CAST({plain_number} AS DOUBLE PRECISION)"
            found = [
                Case(f"{x} = {literal(float(label))}", [(None, one[j])])
                for j, label in enumerate(column.categories)
            ]
            nothing = _is_missing(x, missing_numbers(self.card.schema, column))
        return [*found, *([Case(nothing, absent)] if absent else [])]

    def _key(self, raw: str, column: Categorical) -> str:
        spelling, key = self.card.schema.spelling, raw
        if spelling.trim:
            spaces = " || ".join(f"chr({ord(space)})" for space in SPACES)
            key = f"trim(BOTH ({spaces}) FROM {key})"
        if spelling.fold:
            large, lower = letters_folded(self.card.schema, column)
            if large:
                key = f"translate({key}, {quoted(large)}, {quoted(lower)})"
        return key


def _pieces(column: Spline, inside: str, count: int) -> list[Case]:
    found = []
    for place, (left, right) in enumerate(zip(column.breaks[:-1], column.breaks[1:], strict=True)):
        step = f"({inside} - {literal(left)})"
        factors = [None, step, f"{step} * {step}", f"{step} * {step} * {step}"]
        wide = np.zeros((4, count))
        wide[:, : column.pieces.shape[1]] = column.pieces[place].T
        last = place == len(column.breaks) - 2
        found.append(
            Case(None if last else f"{inside} < {literal(right)}", list(zip(factors, wide, strict=True)))
        )
    return found


def _dates(column: DatePart, one: Any, absent: Any) -> list[Case]:
    moment = f"CAST(t.{identifier(column.source)} AS TIMESTAMP)"
    part = f"EXTRACT({_FIELDS[column.part]} FROM {moment})"
    nothing = Case(f"{moment} IS NULL", absent)
    if column.low is not None and column.high is not None:
        middle, reach = (column.low + column.high) / 2.0, (column.high - column.low) / 2.0
        year = f"(CAST({part} AS DOUBLE PRECISION) - {literal(middle)}) / {literal(reach)}"
        return [nothing, Case(None, [(f"greatest(-1.0, least(1.0, {year}))", one[0])])]
    start = 0 if column.part == "hour" else 1
    values = len(column.features) - column.indicator
    return [nothing, *(Case(f"{part} = {place + start}", [(None, one[place])]) for place in range(values))]


def _scaled(column: Numeric, inside: str) -> str:
    middle, reach = column.constants
    return f"greatest(-1.0, least(1.0, ({inside} - {literal(middle)}) / {literal(reach)}))"


def _is_missing(x: str, values: tuple[float, ...]) -> str:
    among = f" OR {x} IN ({', '.join(map(literal, values))})" if values else ""
    return f"({x} IS NULL OR {x} = CAST('NaN' AS DOUBLE PRECISION){among})"


def literal(value: float) -> str:
    """A float64 to the last digit, as DuckDB and PostgreSQL both read it."""
    return f"{float(value):.16e}"


def constant(label: object) -> str:
    return quoted(label) if isinstance(label, str) else repr(label).upper()


def quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
