"""A model as an R script: `model`, which R's own predict(), coef() and print() take, and what is guaranteed.

Its columns are plain lists, read by the functions of `model.R`, which do in R what the data's own rules do
here. Weights are in the units of the table, each category against its reference; `model$centre` and
`model$scale` say how a number was mapped to [-1, 1]. With inference `model$coefficients` are estimates, NA
where one is not determined, so that no weight stands in for one. R's numbers are float64, so predictions are
the model's but for the order of sums."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.data.columns import Categorical, Column
from sottovoce.data.dates import DatePart
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.errors import ParameterError
from sottovoce.exports.coefficients import outputs_of
from sottovoce.exports.scorecard import (
    Scorecard,
    is_text,
    letters_folded,
    missing_numbers,
    missing_texts,
    to_the_letter,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.results.inference.summary import Summary
    from sottovoce.results.inference.terms import UserTerms


def to_r(
    card: Scorecard, weights: NDArray[np.float64], terms: UserTerms, summary: Summary | None = None
) -> str:
    """The script; with `estimates` and `vcov` where inference was asked for."""
    card.refuse_formats("R")
    coefficients = weights @ terms.matrix.T + terms.offset
    numeric = [column for column in card.schema.columns if isinstance(column, Numeric)]
    parts = {
        "facts": _vector(card.facts.values(), card.facts),
        "target": _value(card.facts["target"]),
        "classes": "NULL" if card.classes is None else _vector(card.classes),
        "probabilities": _value(card.probabilities),
        "highest": _value(card.highest),
        "weights": _matrix(coefficients, outputs_of(card), terms.names),
        "centre": _vector((column.constants[0] for column in numeric), [column.name for column in numeric]),
        "scale": _vector((column.constants[1] for column in numeric), [column.name for column in numeric]),
        "constants": _vector(card.constants.tolist()),
        "columns": _list({column.name: _list(_column(card, column)) for column in card.schema.columns}),
        "blocks": _list(
            None,
            [
                _list({"columns": _vector(column.name for column in part), "weights": _array(block)})
                for part, block in card.blocks
            ],
        ),
    }
    words = "".join(f"# {name}: {' '.join(text.split())}\n" for name, text in card.facts.items())
    script = files("sottovoce.exports").joinpath("model.R").read_text("utf-8")
    made = f'model <- structure({_list(parts)}, class = "sottovoce_model")\n'
    shown = "model$coefficients <- model$weights\n" if summary is None else _inferred(summary)
    return words + made + script + shown


def _column(card: Scorecard, column: Column) -> dict[str, str]:
    """What R has to know to encode a column, see `features_of` in model.R."""
    schema = card.schema
    facts = {
        "source": _value(column.source),
        "width": _value(len(column.features)),
        "indicator": _value(bool(column.indicator)),
        "missing": _vector(missing_numbers(schema, column)),
    }
    if isinstance(column, Numeric | Spline):
        facts |= {"low": _value(column.low), "high": _value(column.high)}
        facts |= {"transform": _value(column.transform or "")}
    if isinstance(column, Numeric):
        middle, reach = column.constants
        facts |= {"kind": _value("numeric"), "centre": _value(middle), "scale": _value(reach)}
    elif isinstance(column, Binned):
        facts |= {"kind": _value("binned"), "edges": _vector(column.edges)}
    elif isinstance(column, Spline):
        facts |= {"kind": _value("spline"), "breaks": _vector(column.breaks), "pieces": _array(column.pieces)}
    elif isinstance(column, DatePart):
        facts |= {"kind": _value("date"), "part": _value(column.part)}
        facts |= {"low": _value(column.low), "high": _value(column.high)}
    elif isinstance(column, Categorical):
        facts |= _categories(card, column)
    else:
        raise ParameterError(f"column {column.name!r} has no form in R. Use to_sql or to_sklearn.")
    return facts


def _categories(card: Scorecard, column: Categorical) -> dict[str, str]:
    if not is_text(column):
        return {"kind": _value("number category"), "labels": _vector(map(float, column.categories))}
    schema = card.schema
    letters = to_the_letter(schema, column.categories)
    texts = map(str, column.categories)
    large, lower = letters_folded(schema, column) if schema.spelling.fold else ("", "")
    return {
        "kind": _value("text category"),
        "labels": _vector(texts if letters else map(schema.spelling.plain, texts)),
        "letters": _value(letters),
        "trim": _value(schema.spelling.trim),
        "large": _value(large),
        "lower": _value(lower),
        "missing": _vector(missing_texts(schema, column)),
    }


def _inferred(summary: Summary) -> str:
    """A data frame with the columns of broom, NA where nothing is determined, and the covariance matrix of
    the estimates, both in the units of the table; and their degrees of freedom."""
    from sottovoce.results.inference.summary import COLUMNS

    columns = zip(*(line.values for line in summary.lines), strict=True)
    listed = ",\n".join(
        f"  {quoted(name)} = {_vector(values)}" for name, values in zip(COLUMNS, columns, strict=True)
    )
    names = [line.term for line in summary.lines]
    return (
        f"estimates <- data.frame(\n{listed},\n  check.names = FALSE, stringsAsFactors = FALSE\n)\n"
        f"model$vcov <- {_matrix(summary.covariance, names, names)}\n"
        f"model$df <- {_vector(summary.freedom.tolist())}\n"
        "model$estimates <- estimates\n"
        "model$coefficients <- setNames(estimates$estimate, estimates$term)\n"
    )


def _list(parts: dict[str, str] | None, values: Any = ()) -> str:
    inside = values if parts is None else [f"{quoted(name)} = {value}" for name, value in parts.items()]
    return "list(" + ",\n  ".join(inside) + ")"


def _vector(values: Any, names: Any = None) -> str:
    inside = f"c({', '.join(map(_value, values))})"
    return inside if names is None else f"setNames({inside}, c({', '.join(map(quoted, names))}))"


def _matrix(values: NDArray[np.float64], rows: Any, columns: Any) -> str:
    names = f"list({_vector(rows)}, {_vector(columns)})"
    return (
        f"matrix({_vector(values.ravel().tolist())}, nrow = {len(values)}, byrow = TRUE, dimnames = {names})"
    )


def _array(values: NDArray[np.float64]) -> str:
    """R counts the first index fastest."""
    return f"array({_vector(values.ravel(order='F').tolist())}, dim = {_vector(values.shape)})"


def _value(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "NA"
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float) and math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(value)


_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """A string of R in plain ASCII; it has none that holds a zero."""
    if "\0" in text:
        raise ParameterError("R has no text that holds the character 0. Rename the column or category.")
    return '"' + "".join(_ESCAPED.get(letter) or _written(letter) for letter in text) + '"'


def _written(letter: str) -> str:
    return letter if " " <= letter <= "~" else f"\\U{{{ord(letter):x}}}"
