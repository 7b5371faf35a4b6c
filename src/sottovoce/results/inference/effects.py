"""Average effects on what is predicted, at rows of the user's choice.

With a row x, scores t = <x, w> and means m(t), the average of m(t1) - m(t0) over pairs of rows moves by
(mean of m'(t1) x1 - m'(t0) x0) dw: the error of that direction is the effect's, to first order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from sottovoce.arrays import Matrix, Vector
from sottovoce.results.inference.findings import LastAnswers
from sottovoce.results.inference.standard_errors import OneStep
from sottovoce.results.inference.summary import Coefficient
from sottovoce.results.inference.terms import UserTerms, coded


@final
@dataclass(frozen=True)
class Pair:
    """A term's name, rows with it and without it, and how many units lie between them."""

    term: str
    rows: Matrix
    others: Matrix
    units: float = 1.0


def average_effects(
    findings: LastAnswers,
    terms: UserTerms,
    pairs: Iterable[Pair],
    link: tuple[Callable[[Vector], Vector], Callable[[Vector], Vector]],
    level: float,
) -> tuple[Coefficient, ...]:
    """For each pair the mean difference of what is predicted, its error and interval, of one output."""
    coding = coded(terms, findings)
    estimate = OneStep.of(findings, coding.flat, coding.spread, coding.levels)
    mean, slope = link
    found = []
    for pair in pairs:
        scores = [estimate.values(rows) for rows in (pair.rows, pair.others)]
        value = float(np.mean(mean(scores[0]) - mean(scores[1]))) / pair.units
        moved = slope(scores[0])[:, None] * pair.rows - slope(scores[1])[:, None] * pair.others
        along = estimate.direction(moved.mean(axis=0)[None] / pair.units)
        if not bool(estimate.determined(along)[0]):
            found.append(Coefficient.undetermined(pair.term))
            continue
        errors, freedom = estimate.errors(along)
        error = float(errors[0])
        sampled = float((along @ estimate.sampling_covariance @ along.T)[0, 0])
        reach = float(special.stdtrit(freedom[0], 0.5 + 0.5 * level)) * error
        p_value = 2.0 * float(special.stdtr(freedom[0], -abs(value) / error))
        share = 1.0 - sampled / error**2
        found.append(
            Coefficient(pair.term, value, error, value / error, p_value, value - reach, value + reach, share)
        )
    return tuple(found)
