"""Losses as compiled code takes them: a family of formulas and its numbers."""

from __future__ import annotations

from typing import NamedTuple

from sottovoce.losses import (
    Cauchy,
    GemanMcClure,
    Kind,
    LogCosh,
    Logistic,
    Loss,
    Poisson,
    PseudoHuber,
    Savage,
    Sigmoid,
    SoftplusHinge,
    Welsch,
)
from sottovoce.losses.limited import Limited
from sottovoce.losses.unbiased import UnbiasedLimited
from sottovoce.losses.weighted import ClassWeighted

LOGISTIC, SIGMOID, SAVAGE, PSEUDO_HUBER, LOG_COSH, CAUCHY, GEMAN_MCCLURE, WELSCH, POISSON = range(9)


class Twin(NamedTuple):
    """A loss as compiled code takes it: logistic ones of s = scale (t - shift), robust ones of t/scale, that
    of counts of t = <x, w> - shift.

    `negative` and `positive` are what records of each class count; elsewhere both are 1. `valued`: whether
    sums of phi are wanted. Where they are not, `fading` bounds |phi'| of a logistic loss by that times
    min(1, e^-s), besides `slope`."""

    family: int
    margin: bool
    scale: float
    shift: float
    slope: float
    low: float
    high: float
    negative: float = 1.0
    positive: float = 1.0
    valued: bool = True
    fading: float = 1.0


def twin_of(loss: Loss) -> Twin | None:
    """The loss for compiled code; None where it has no compiled formula."""
    scale, shift = 1.0, 0.0
    match loss:
        case ClassWeighted(base, negative, positive):
            twin = twin_of(base)
            return twin and twin._replace(negative=negative, positive=positive)
        case Logistic():
            family = LOGISTIC
        case SoftplusHinge(scale):
            family, shift = LOGISTIC, 1.0
        case Sigmoid():
            family = SIGMOID
        case Savage():
            family = SAVAGE
        case PseudoHuber(scale):
            family = PSEUDO_HUBER
        case LogCosh():
            family = LOG_COSH
        case Cauchy(scale):
            family = CAUCHY
        case GemanMcClure(scale):
            family = GEMAN_MCCLURE
        case Welsch(scale):
            family = WELSCH
        case Poisson():
            family, shift = POISSON, loss.shift
        case _:
            return None
    bounds = (loss.slope, -loss.curvature_low, loss.curvature_high)
    return Twin(family, loss.kind is Kind.MARGIN, scale, shift, *bounds)


def sloping_twin_of(loss: Loss) -> Twin | None:
    """The loss for passes that read phi' alone: limiting slopes is clamping them lower, and for a loss that
    stays unbiased, lower still where labels are as predicted."""
    match loss:
        case Limited(base, limit):
            twin = twin_of(base)
            return twin and twin._replace(valued=False, slope=limit)
        case UnbiasedLimited(limit):
            twin = twin_of(Logistic())
            return twin and twin._replace(valued=False, slope=limit, fading=limit)
    twin = twin_of(loss)
    return twin and twin._replace(valued=False)
