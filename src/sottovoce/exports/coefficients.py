"""A model as plain coefficients in JSON: numbers to publish, not a way to encode rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sottovoce.exports.scorecard import Scorecard

if TYPE_CHECKING:
    from sottovoce.results.inference.summary import Summary


def to_dict(card: Scorecard) -> dict[str, Any]:
    """Scores are constant plus coefficients times features in [-1, 1], as the schema encodes them; with a
    link of "log" an expected count is e^score, and no more than the largest."""
    names = card.schema.features[:-1]
    outputs = outputs_of(card)
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
    """With what inference found, in the units of the table, where it was asked for. What predicts is then
    called weights: beside a coefficient that is not determined it would be read as the estimate."""
    found = to_dict(card)
    if summary is not None:
        found = {("weights" if name == "coefficients" else name): value for name, value in found.items()}
        found["inference"] = summary.to_dict()
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def outputs_of(card: Scorecard) -> list[str]:
    if card.classes is None:
        return [card.facts["target"]]
    return [str(label) for label in (card.classes if len(card.classes) > 2 else card.classes[1:])]
