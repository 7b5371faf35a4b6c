"""What records count, as declared: sample weights in [0, cap] and class weights, read entry by entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sottovoce.arrays import Mask, Vector
from sottovoce.data import cells
from sottovoce.data.cell import Label
from sottovoce.data.validation import column_of
from sottovoce.errors import ParameterError

LARGEST_CAP = 1e6

_BALANCED = (
    'class_weight="balanced" is computed from the numbers of labels, which are private. Declare constants '
    "from what is known without the data, {label: weight}: labels left out weigh 1."
)


def declared_cap(cap: float, values: Any) -> float | None:
    """The declared largest weight; None without weights, when every record counts 1."""
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(cap, bool | str) and 1.0 / LARGEST_CAP <= float(cap) <= LARGEST_CAP:
            return None if values is None else float(cap)
    raise ParameterError(
        f"weight_cap must be a number within [{1.0 / LARGEST_CAP:g}, {LARGEST_CAP:g}]. Rescale the weights.",
        argument="weight_cap",
    )


def read_weights(values: Any, n: int, cap: float, usable: Mask) -> Vector:
    """n weights clipped to [0, cap], each by itself; those that are not finite are 0 and not usable."""
    weights = np.array(cells.numbers(column_of(values, n, "sample_weight")))
    finite = np.isfinite(weights)
    usable &= finite
    weights[~finite] = 0.0
    return np.clip(weights, 0.0, cap, out=weights)


def declared_class_weights(weights: object, labels: Sequence[Label]) -> tuple[float, ...]:
    """A weight for each label, from {label: weight}: 1 for those left out. Labels may be spelled as text."""
    if not isinstance(weights, Mapping):
        raise ParameterError(
            _BALANCED
            if isinstance(weights, str) and weights == "balanced"
            else "class_weight must be declared as {label: weight}."
        )
    places = cells.codes(cells.one_by_one(weights), labels).tolist()
    if -1 in places or len(set(places)) < len(places):
        raise ParameterError(
            "class_weight names a label that is not declared, or one twice. Write labels as classes does."
        )
    given = dict(zip(places, weights.values(), strict=True))
    found = [given.get(place, 1.0) for place in range(len(labels))]
    with suppress(TypeError, ValueError, OverflowError):
        if all(not isinstance(part, bool | str) for part in found):
            plain = tuple(float(part) for part in found)
            if all(1.0 / LARGEST_CAP <= part <= LARGEST_CAP for part in plain):
                return plain
    raise ParameterError(
        f"a class weight must be a number within [{1.0 / LARGEST_CAP:g}, {LARGEST_CAP:g}]: only their ratios "
        "matter."
    )


def counts_of(weights: Vector, cap: float) -> Vector:
    """clip(w, 0, cap)/cap, entry by entry; NaN where one is not finite."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(weights), np.clip(weights, 0.0, cap) / cap, np.nan)


def counts(
    n: int,
    *,
    weights: Vector | None = None,
    cap: float = 1.0,
    codes: cells.Codes | None = None,
    class_weights: Sequence[float] = (),
) -> Vector:
    """q_i = clip(w_i, 0, cap)/cap times c(y_i)/max c, within [0, 1]; NaN where a weight is not finite.

    A function of its record alone: it divides by the declared cap and the largest declared class weight,
    never by a sum over records. Sensitivities stay those of records that all count 1: a record's term in a
    sum is q_i times its term a without weights, and where no term is longer than D and no two are further
    apart, ||q a - r b|| <= D for q, r in [0, 1]: a norm is convex in (q, r) and so largest at a corner of the
    square, where it is ||a - b||, ||a||, ||b|| or 0. The value alone has a bound that rests on the
    least loss; it is told that a record may count 0 (`Problem.lightest`).
    `codes` are places among the classes; -1, an undeclared label, counts as the first."""
    held = np.ones(n) if weights is None else counts_of(weights, cap)
    if codes is not None and len(class_weights):
        shares = np.asarray(class_weights, dtype=np.float64)
        held = held * (shares / shares.max())[np.maximum(codes, 0)]
    return held
