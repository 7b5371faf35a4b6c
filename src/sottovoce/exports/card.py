"""What a report says about a model beyond its result."""

from __future__ import annotations

import math
from typing import Any

from sottovoce.data.encoding import feature_names
from sottovoce.features.effects import Effect, Surface, effects, surfaces
from sottovoce.report.card import Card, DrawnEffect, Measured, SurvivalCurve


def card_of(model: Any) -> Card:
    """The card of a `Model`: names, versions and what was declared."""
    return Card(
        dataset=model.dataset,
        features=feature_names(model.schema),
        unit=model.scale[1] / math.sqrt(model.schema.blocks),
        outputs=tuple(map(str, model.classes_)) if len(model.weights) > 1 else (),
        target=model.schema.target.name,
        schema_digest=model.schema.digest,
        trained=model.created,
        summary=None if model.result.inference is None else model.summary(exp=model.terms().chances),
        versions=model.versions,
        purpose=model.purpose,
        contact=model.contact,
        measured=tuple(
            Measured(part.name, part.value, part.low, part.high, part.confidence, part.n, part.too_few)
            for part in model.figures
        ),
        effects=tuple(map(_drawn, effects(model))),
        pairs=tuple((_called(pair), pair.importance) for pair in surfaces(model)),
        survival=_curves(model),
        timed=model.schema.target.survival is not None,
    )


def _curves(model: Any) -> tuple[SurvivalCurve, ...]:
    if model.schema.target.survival is None:
        return ()
    from sottovoce.exports.survival import shown_curves

    return shown_curves(model)


def _called(pair: Surface) -> str:
    name = " x ".join(pair.columns)
    return f"{pair.output}: {name}" if pair.output else name


def _drawn(effect: Effect) -> DrawnEffect:
    counted = effect.shares[: len(effect.marginal.shares)] if effect.is_curve else effect.shares
    return DrawnEffect(
        f"{effect.output}: {effect.column}" if effect.output else effect.column,
        () if effect.places is None else tuple(effect.places.tolist()),
        effect.levels,
        tuple(effect.values.tolist()),
        () if effect.noise is None else tuple(effect.noise.tolist()),
        effect.importance,
        effect.marginal.edges,
        tuple(counted.tolist()),
        () if effect.interval is None else tuple((float(low), float(high)) for low, high in effect.interval),
    )
