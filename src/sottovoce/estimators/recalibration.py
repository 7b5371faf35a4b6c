"""Private recalibration of a trained model: a slope and a shift of its scores, fitted on labelled rows.

A two-class logistic model says 1/(1 + e^-s) for a score s. On other rows, after class weights, or where noise
and a penalty shrank its weights, these chances are off while the order of scores is still good. Platt's map
1/(1 + e^-(a s + b)) mends them with two numbers. They are the weights of a private logistic model of two
columns, the score over a declared bound, clipped to [-1, 1], and 1: rows of norm at most sqrt2 and labels as
declared, so every bound and charge is that of any other fit. The scores' model is public by then.

Scores are linear and the last feature is a constant u, so a s + b = <x, a w + (b/u) e>: what comes back is a
model like any other, and every export, summary page and file holds it."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.accounting.guarantee import Guarantee
from sottovoce.data.files import read, warn_of_persons
from sottovoce.data.filesets import state_of
from sottovoce.data.options import AS_WRITTEN, ReadOptions, checked_reading
from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.estimators.unit_ball import row_products
from sottovoce.losses import Logistic
from sottovoce.models.linear import Risk
from sottovoce.regularizers import L2
from sottovoce.training import minimize

if TYPE_CHECKING:
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.accounting.resume import Resume
    from sottovoce.model import Model
    from sottovoce.results.result import Result

LEAST_SLOPE = 0.01
"""Noise may find a slope below 0; scores are never turned around."""

LARGEST_BOUND = 1e6


def recalibrated(
    model: Model,
    table: Any,
    *,
    budget: Budget,
    bound: float = 8.0,
    ledger: Ledger | None = None,
    simulate: int | None = None,
    persons: int | None = None,
    reading: ReadOptions = AS_WRITTEN,
    resume: str | Resume | None = None,
) -> Model:
    """The model with its scores mapped to a s + b, both numbers fitted on the table under the budget.

    `bound`: scores beyond it count as if they were at it in the fit; declare it without looking at the rows.
    Every row, or person, counts once, whatever weights the model was trained with. `resume` goes on with an
    interrupted run of the same model, table and arguments, as in `minimize`. The guarantee of what
    comes back is that of training and of the map together, so it holds also if they used the same rows."""
    aim = model.schema.target
    if aim is not None and aim.survival is not None:
        raise ParameterError(
            "recalibration maps one chance a record, and a time to event has one for each interval at risk. "
            "Fit the model again on new rows."
        )
    if not hasattr(model, "predict_proba") or len(model.classes_) != 2:
        raise ParameterError(
            "recalibration is for models of two classes with loss 'logistic': others give no chances of one "
            "event. Train one such model for each class, or fit the model again on new rows."
        )
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0.0 < bound <= LARGEST_BOUND:
        raise ParameterError(
            "bound, the largest score that counts as it is, must be above 0: 8.", argument="bound"
        )
    unit, trained_for = "record" if model.schema.person is None else "person", model.result.guarantee.unit
    if unit != trained_for:
        raise ParameterError(
            f"this model was trained for every {trained_for} and its schema now says {unit}s: the runs would "
            "have no promise in common. Recalibrate with the schema it was trained with, or fit it again."
        )
    warn_of_persons(table, model.schema, checked_reading(reading))
    held = read(table, model.schema, reading)
    scores = row_products(held.features, model.weights)
    records = Records.from_arrays(
        np.clip(scores / bound, -1.0, 1.0),
        held.target,
        radius=math.sqrt(2.0),
        labels=tuple(model.classes_.tolist()),
        intercept=True,
        groups=held.keys,
        persons=persons,
        invalid=reading.invalid,
    )
    found = minimize(
        Risk(records, Logistic(), L2(0.0)),
        budget=budget,
        ledger=ledger,
        simulate=simulate,
        resume=resume,
        declared={
            "model": hashlib.sha256(model.to_file().encode()).hexdigest(),
            "bound": repr(float(bound)),
            "invalid": reading.invalid,
            "table": state_of(table),
        },
    )
    slope, shift = max(LEAST_SLOPE, float(found.weights[0]) / bound), float(found.weights[1])
    weights = slope * model.result.weights
    weights[-1] += shift / model.schema.unit
    return replace(
        model,
        result=_together(model.result, found, weights, (slope, shift)),
        created=datetime.now(UTC).date().isoformat(),
        figures=(),
    )


def _together(trained: Result, found: Result, weights: Any, line: tuple[float, float]) -> Result:
    """The second run with the weights that both made, promised what both promise.

    The cap of the ledger limits both where both were charged to it."""
    origin, stated = trained.origin, found.guarantee
    lineage = (*origin.lineage, *found.lineage)
    capped = bool(found.ledger) and found.ledger == trained.ledger
    guarantee = replace(
        Guarantee.over(lineage, n=max(origin.n, stated.n), simulated=found.simulated or trained.simulated),
        cap_epsilon=stated.cap_epsilon if capped else None,
        cap_delta=stated.cap_delta if capped else None,
    )
    said = (
        f"the certificate is that of the map a s + b of the scores, a = {line[0]:.4g} and b = {line[1]:.4g}; "
        "the guarantee covers training and map together, whoever's rows they used: of different people each "
        "has the part of its own run alone"
    )
    return replace(
        found,
        weights=weights,
        noise=trained.noise.times(line[0]),
        guarantee=guarantee,
        lineage=lineage,
        simulated=guarantee.simulated,
        objective=f"recalibrated ({found.objective}) from: {trained.objective}",
        caveats=tuple(dict.fromkeys((said, *origin.said, *found.caveats, *filter(None, [guarantee.caveat])))),
    )
