"""A model as plain coefficients, in JSON and as an R script: numbers to publish, not a way to encode rows."""

from __future__ import annotations

import json
from typing import Any

from sottovoce.exports.scorecard import Scorecard


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


def to_json(card: Scorecard) -> str:
    return json.dumps(to_dict(card), indent=1, allow_nan=False) + "\n"


def to_r(card: Scorecard) -> str:
    """A matrix `coefficients`, one row an output, and what is guaranteed as its attributes."""
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
    )


def _outputs(card: Scorecard) -> list[str]:
    if card.classes is None:
        return [card.facts["target"]]
    return [str(label) for label in (card.classes if len(card.classes) > 2 else card.classes[1:])]


def _quoted(text: str) -> str:
    """A string of R: JSON's escapes are R's as well, but for the slash, which JSON leaves alone."""
    return json.dumps(text, ensure_ascii=True)
