"""A model as plain coefficients, in JSON and as an R script: numbers to publish, not a way to encode rows."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from sottovoce.exports.scorecard import Scorecard
from sottovoce.inference.summary import COLUMNS

if TYPE_CHECKING:
    from sottovoce.inference.summary import Summary


def to_dict(card: Scorecard) -> dict[str, Any]:
    """Scores are constant plus coefficients times features in [-1, 1], as the schema encodes them; with a
    link of "log" an expected count is e^score, and no more than the largest."""
    names = card.schema.features[:-1]
    outputs = _outputs(card)
    return {
        **card.facts,
        "classes": None if card.classes is None else list(card.classes),
        **({} if card.highest is None else {"link": "log", "largest count": card.highest}),
        "intercept": dict(zip(outputs, card.constants.tolist(), strict=True)),
        "coefficients": {
            output: dict(zip(names, row, strict=True))
            for output, row in zip(outputs, card.weights.tolist(), strict=True)
        },
        "columns": card.schema.to_dict(),
    }


def to_json(card: Scorecard, summary: Summary | None = None) -> str:
    """With what inference found, in the units of the table, where it was asked for."""
    found = {} if summary is None else {"inference": summary.to_dict()}
    return json.dumps({**to_dict(card), **found}, indent=1, allow_nan=False) + "\n"


def to_r(card: Scorecard, summary: Summary | None = None) -> str:
    """A matrix `coefficients`, one row an output, and what is guaranteed as its attributes; `estimates` and
    `vcov` where inference was asked for."""
    names = ", ".join(map(_quoted, (*card.schema.features[:-1], "(Intercept)")))
    rows = [
        [*row, constant] for row, constant in zip(card.weights.tolist(), card.constants.tolist(), strict=True)
    ]
    values = ", ".join(repr(value) for row in rows for value in row)
    facts = ",\n".join(f"  {_quoted(name)} = {_quoted(text)}" for name, text in card.facts.items())
    return (
        f"coefficients <- matrix(c({values}), nrow = {len(rows)}, byrow = TRUE,\n"
        f"  dimnames = list(c({', '.join(map(_quoted, _outputs(card)))}), c({names})))\n"
        f'attr(coefficients, "sottovoce") <- c(\n{facts}\n)\n'
        + ("" if summary is None else _inferred(summary))
    )


def _inferred(summary: Summary) -> str:
    """A data frame with the columns of broom, NA where nothing is determined, and the covariance matrix of
    the estimates, both in the units of the table."""
    columns = zip(*(line.values for line in summary.lines), strict=True)
    listed = ",\n".join(
        f"  {_quoted(name)} = c({', '.join(map(_value, values))})"
        for name, values in zip(COLUMNS, columns, strict=True)
    )
    names = ", ".join(_quoted(line.term) for line in summary.lines)
    entries = ", ".join(_value(float(entry)) for entry in summary.covariance.ravel())
    return (
        f"estimates <- data.frame(\n{listed},\n  check.names = FALSE, stringsAsFactors = FALSE\n)\n"
        f"vcov <- matrix(c({entries}), nrow = {len(summary.lines)}, byrow = TRUE,\n"
        f"  dimnames = list(c({names}), c({names})))\n"
    )


def _value(value: str | float | None) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "NA"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _outputs(card: Scorecard) -> list[str]:
    if card.classes is None:
        return [card.facts["target"]]
    return [str(label) for label in (card.classes if len(card.classes) > 2 else card.classes[1:])]


def _quoted(text: str) -> str:
    """A string of R: JSON's escapes are R's as well, but for the slash, which JSON leaves alone."""
    return json.dumps(text, ensure_ascii=True)
