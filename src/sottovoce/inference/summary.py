"""Summary: estimates, standard errors, tests and intervals of coefficients, in the user's units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy import special

from sottovoce.arrays import Matrix
from sottovoce.errors import ParameterError
from sottovoce.inference.estimate import OneStep
from sottovoce.inference.findings import LastAnswers
from sottovoce.inference.inversion import Inversion
from sottovoce.inference.terms import Coding, UserTerms, checked_within, coded

COLUMNS = ("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")

UNRESOLVED = (
    "the released Hessian does not show how the risk curves along every direction: intervals are those of an "
    "inverted test"
)
UNBOUNDED = (
    "one direction is lost in the noise, and every coefficient has a part of it, so intervals have no ends. "
    "More records, a larger epsilon or fewer columns end that; so does a bound known without the data: "
    "summary(within=5), --within 5 or within = 5 in the schema for log odds none of which is beyond 5"
)
DECLARED = (
    "intervals rest on what was declared: no feature alone moves the score by more than {within:g}; one that "
    "reaches that far says no more than the declaration"
)
NOT_CONVEX = (
    "the released Hessian curves down in some direction, by more than its noise: these weights need not be "
    "near a minimizer, and intervals hold only if they are"
)


@final
@dataclass(frozen=True)
class Coefficient:
    """One coefficient. `privacy` is the part of its variance that noise for privacy has."""

    term: str
    estimate: float
    error: float
    statistic: float
    p_value: float
    low: float
    high: float
    privacy: float

    @property
    def below_noise(self) -> bool:
        """Whether it is smaller than the sd of the noise in it."""
        return not math.isnan(self.privacy) and self.statistic**2 < self.privacy

    @property
    def values(self) -> tuple[str | float, ...]:
        """In the order of COLUMNS."""
        return (
            *(self.term, self.estimate, self.error, self.statistic, self.p_value),
            *(self.low, self.high),
        )


@final
@dataclass(frozen=True)
class Summary:
    """Lines for all coefficients; what they are compared with; and what is to be known about them.

    `level` is the confidence of each interval, or of all at once if `simultaneous`. With `exp` estimates and
    ends are the `ratio`s, standard errors and tests still those of their logarithms, as in R's broom."""

    lines: tuple[Coefficient, ...]
    level: float
    simultaneous: bool
    exp: bool
    robust: bool
    resolved: bool
    references: dict[str, str]
    remarks: tuple[str, ...]
    ratio: str = "odds ratio"

    def frame(self) -> Any:
        """A tidy table with the columns of R's broom: a pandas DataFrame, or a pyarrow Table without pandas.

        Columns: term, estimate, std.error, statistic, p.value, conf.low, conf.high."""
        import pyarrow

        columns = zip(*(line.values for line in self.lines), strict=True)
        table = pyarrow.table(dict(zip(COLUMNS, map(list, columns), strict=True)))
        try:
            return table.to_pandas()
        except ImportError:
            return table

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values; an end that is not there is None."""
        rows = [
            {
                **{name: _plain(value) for name, value in zip(COLUMNS, line.values, strict=True)},
                "privacy.share": _plain(line.privacy),
            }
            for line in self.lines
        ]
        return {
            "level": self.level,
            "simultaneous": self.simultaneous,
            "exp": self.exp,
            "robust": self.robust,
            "resolved": self.resolved,
            "references": dict(self.references),
            "remarks": list(self.remarks),
            "coefficients": rows,
        }

    def __str__(self) -> str:
        from sottovoce.inference.tables import text_table

        return text_table(self)

    def _repr_html_(self) -> str:
        from sottovoce.inference.tables import html_table

        return html_table(self)


def summarized(
    findings: LastAnswers,
    terms: UserTerms,
    *,
    level: float = 0.95,
    exp: bool = False,
    simultaneous: bool = False,
    against: str | None = None,
    within: float | None = None,
) -> Summary:
    """The summary of what a run released. Asks nothing: all of it is post-processing.

    `within` bounds how far each feature alone can move the score, known without the data: a number on its
    way from the middle of its declared range to an end, a category by being present, a column by 1. It is
    that of the terms unless given, and counts only where the data leave a direction open."""
    if not 0.0 < level < 1.0:
        raise ParameterError("level must lie strictly between 0 and 1, for example 0.95.")
    if exp and not terms.chances:
        raise ParameterError(
            "exp=True gives odds ratios of the logistic loss or rate ratios of counts. Leave it out."
        )
    within = terms.within if within is None else checked_within(within)
    coding = coded(terms, findings, against)
    estimate = OneStep.of(findings, coding.flat)
    error = 1.0 - level
    if simultaneous:
        error = -math.expm1(math.log1p(-error) / len(coding.names))
    quantile = float(special.chdtri(1, error))
    remarks: list[str] = []
    if estimate.is_resolved:
        lines = _resolved(estimate, coding, error)
    else:
        remarks.append(UNRESOLVED)
        if estimate.curves_down:
            remarks.append(NOT_CONVEX)
        with np.errstate(divide="ignore"):
            limits = (math.inf if within is None else within) / coding.sizes
        lines = _inverted(Inversion(estimate, coding.matrix, limits), coding, quantile)
        if within is not None:
            remarks.append(DECLARED.format(within=within))
        elif any(math.isinf(line.low) or math.isinf(line.high) for line in lines):
            remarks.append(UNBOUNDED)
    return Summary(
        lines=tuple(_odds(line) for line in lines) if exp else tuple(lines),
        level=level,
        simultaneous=simultaneous,
        exp=exp,
        robust=findings.robust,
        resolved=estimate.is_resolved,
        references=coding.references,
        remarks=tuple(remarks),
        ratio=terms.ratio,
    )


def predicted(findings: LastAnswers, terms: UserTerms, rows: Matrix, level: float) -> Matrix:
    """Scores <x, w> of rows, and their intervals, three columns; without ends where nothing resolves them.

    With several outputs, those of the second, the third, ... against the first: rows by outputs - 1 by 3."""
    if not 0.0 < level < 1.0:
        raise ParameterError("level must lie strictly between 0 and 1, for example 0.95.")
    coding = coded(terms, findings)
    estimate = OneStep.of(findings, coding.flat)
    several = findings.outputs > 1
    if several:
        against_first = np.eye(findings.outputs)[1:] - np.eye(findings.outputs)[0]
        rows = np.einsum("ko,ij->ikoj", against_first, rows).reshape(-1, findings.weights.size)
    if estimate.is_resolved:
        middle = estimate.values(rows)
        errors, freedom = estimate.errors(estimate.direction(rows))
        reach = special.stdtrit(freedom, 0.5 + 0.5 * level) * errors
    else:
        middle, reach = rows @ findings.weights, np.full(len(rows), math.inf)
    found = np.column_stack([middle, middle - reach, middle + reach])
    return found.reshape(-1, findings.outputs - 1, 3) if several else found


def _resolved(estimate: OneStep, coding: Coding, miss: float) -> list[Coefficient]:
    """Intervals that each miss with this probability, by Student's distribution: errors are noisy, too."""
    along = estimate.direction(coding.matrix)
    values = estimate.values(coding.matrix) + coding.offset
    errors, freedom = estimate.errors(along)
    sampled = np.einsum("ij,jk,ik->i", along, estimate.sampling_covariance, along)
    statistics = values / errors
    p_values = 2.0 * special.stdtr(freedom, -np.abs(statistics))
    reaches = special.stdtrit(freedom, 1.0 - 0.5 * miss) * errors
    privacy = 1.0 - sampled / errors**2
    columns = (values, errors, statistics, p_values, values - reaches, values + reaches, privacy)
    return [
        Coefficient(name, *map(float, line))
        for name, line in zip(coding.names, zip(*columns, strict=True), strict=True)
    ]


def _inverted(test: Inversion, coding: Coding, quantile: float) -> list[Coefficient]:
    """Ends where the test ends, 0 between them unless it is rejected, too: searches may end early.

    A standard error is given only where both are there: a quarter of their distance."""
    lines = []
    for place, (name, offset) in enumerate(zip(coding.names, coding.offset, strict=True)):
        low, high = (test.end(place, side, quantile) for side in (-1, 1))
        value = float(test.best[place])
        statistic = test.least(place, -float(offset), test.best)[0]
        z = math.copysign(math.sqrt(max(0.0, statistic)), value + float(offset))
        p_value = float(special.chdtrc(1, statistic))
        if statistic <= quantile:
            low, high = min(low, -float(offset)), max(high, -float(offset))
        error = math.inf if math.isinf(high - low) else (high - low) / (2.0 * math.sqrt(quantile))
        ends = (low + float(offset), high + float(offset))
        lines.append(Coefficient(name, value + float(offset), error, z, p_value, *ends, math.nan))
    return lines


def _odds(line: Coefficient) -> Coefficient:
    estimate, low, high = (math.exp(min(x, 700.0)) for x in (line.estimate, line.low, line.high))
    high = math.inf if math.isinf(line.high) else high
    return Coefficient(line.term, estimate, line.error, line.statistic, line.p_value, low, high, line.privacy)


def _plain(value: str | float) -> str | float | None:
    return value if isinstance(value, str) or math.isfinite(value) else None
