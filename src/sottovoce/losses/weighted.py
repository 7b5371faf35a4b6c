"""A margin loss whose records count by their label, with weights declared beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, final

from sottovoce.errors import ParameterError
from sottovoce.losses.base import Constants, Kind, Loss, checked_scale, round_up
from sottovoce.trusted.laws import Law


@final
@dataclass(frozen=True)
class ClassWeighted(Loss):
    """c phi(t), c the larger of the two weights; a record of the lighter class counts less than that.

    Values, derivatives and constants are those of the heavier class, so every bound holds for both."""

    name: ClassVar[str] = "class-weighted"
    kind: ClassVar[Kind] = Kind.MARGIN
    base: Loss
    negative: float
    positive: float

    def __post_init__(self) -> None:
        if self.base.kind is not Kind.MARGIN:
            raise ParameterError(
                f"class weights need a margin loss; {self.base.name!r} takes residuals and has no classes."
            )
        for name in ("negative", "positive"):
            object.__setattr__(self, name, checked_scale("a class weight", getattr(self, name)))

    @property
    def heaviest(self) -> float:
        return max(self.negative, self.positive)

    @cached_property
    def constants(self) -> Constants:
        base, weight = self.base.constants, self.heaviest
        return Constants(
            slope=round_up(weight * base.slope),
            curvature_low=round_up(weight * base.curvature_low),
            curvature_high=round_up(weight * base.curvature_high),
            third=round_up(weight * base.third),
            ceiling=round_up(weight * base.ceiling) if base.ceiling < math.inf else math.inf,
            steepest=base.steepest,
            bend=base.bend,
        )

    @property
    def is_limitable(self) -> bool:
        return False

    @property
    def landmarks(self) -> tuple[float, ...]:  # type: ignore[override]  # those of the loss it is made of
        return self.base.landmarks

    @cached_property
    def law(self) -> Law:
        return replace(self.base.law, negative=self.negative, positive=self.positive)


def class_weighted(loss: Loss, labels: tuple[object, ...] | None, weights: object) -> Loss:
    """The loss with `weights` = {label: weight} for both declared labels; 1 for both is the loss itself."""
    if weights is None:
        return loss
    if not isinstance(weights, Mapping):
        hint = (
            '"balanced" weights are computed from the numbers of labels, which are private'
            if weights == "balanced"
            else "class_weights must name every label"
        )
        raise ParameterError(f"{hint}. Declare constants: class_weights={{label: weight, ...}}.")
    if labels is None or set(weights) != set(labels):
        raise ParameterError(
            "class_weights must give a weight to each declared label and to nothing else: "
            "{label: weight, ...}.",
            argument="class_weights",
        )
    negative, positive = (weights[label] for label in labels)
    found = ClassWeighted(loss, negative, positive)
    return loss if negative == positive == 1.0 else found
