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
from sottovoce.inference.terms import Coding, UserTerms, coded

COLUMNS = ("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")

UNRESOLVED = (
    "the released Hessian does not show how the risk curves along every direction: intervals are those of an "
    "inverted test"
)
UNBOUNDED = (
    "one direction is lost in the noise, and every coefficient has a part of it, so intervals have no ends. "
    "More records, a larger epsilon or fewer columns end that; so does a bound known without the data: "
    "summary(within=5) for log odds none of which is beyond 5"
)
NOT_CONVEX = (
    "the released Hessian does not curve up in every direction: these weights need not be near a minimizer, "
    "and intervals hold only if they are"
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
    way from the middle of its declared range to an end, a category by being present, a column by 1."""
    if not 0.0 < level < 1.0:
        raise ParameterError("level must lie strictly between 0 and 1, for example 0.95.")
    if exp and not terms.chances:
        raise ParameterError(
            "exp=True gives odds ratios of the logistic loss or rate ratios of counts. Leave it out."
        )
    if within is not None and not 0.0 < within < math.inf:
        raise ParameterError("within, a bound on every coefficient, must be finite and above 0.")
    coding = coded(terms, findings, against)
    estimate = OneStep.of(findings, coding.flat)
    error = 1.0 - level
    if simultaneous:
        error = -math.expm1(math.log1p(-error) / len(coding.names))
    quantile = float(special.chdtri(1, error))
    remarks: list[str] = []
    if estimate.is_resolved:
        lines = _resolved(estimate, coding, quantile)
    else:
        remarks.append(UNRESOLVED)
        if not estimate.is_convex:
            remarks.append(NOT_CONVEX)
        with np.errstate(divide="ignore"):
            limits = (math.inf if within is None else within) / coding.sizes
        lines = _inverted(Inversion(estimate, coding.matrix, limits), coding, quantile)
        if any(math.isinf(line.low) or math.isinf(line.high) for line in lines):
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
    """Scores <x, w> of rows, and their intervals, three columns; without ends where nothing resolves them."""
    coding = coded(terms, findings)
    estimate = OneStep.of(findings, coding.flat)
    if findings.outputs > 1:
        raise ParameterError("intervals of predictions are for one score a row; softmax has several.")
    if not estimate.is_resolved:
        centre = rows @ findings.weights
        return np.column_stack([centre, np.full(len(rows), -math.inf), np.full(len(rows), math.inf)])
    middle, along = estimate.values(rows), estimate.direction(rows)
    spread = np.sqrt(np.einsum("ij,jk,ik->i", along, estimate.covariance, along))
    reach = math.sqrt(float(special.chdtri(1, 1.0 - level))) * spread
    return np.column_stack([middle, middle - reach, middle + reach])


def _resolved(estimate: OneStep, coding: Coding, quantile: float) -> list[Coefficient]:
    along = estimate.direction(coding.matrix)
    values = estimate.values(coding.matrix) + coding.offset
    variances = np.einsum("ij,jk,ik->i", along, estimate.covariance, along)
    sampled = np.einsum("ij,jk,ik->i", along, estimate.sampling_covariance, along)
    lines = []
    for name, value, variance, own in zip(coding.names, values, variances, sampled, strict=True):
        error = math.sqrt(float(variance))
        z, reach = float(value) / error, math.sqrt(quantile) * error
        p_value, privacy = float(special.chdtrc(1, z * z)), float(1.0 - own / variance)
        lines.append(
            Coefficient(name, float(value), error, z, p_value, value - reach, value + reach, privacy)
        )
    return lines


def _inverted(test: Inversion, coding: Coding, quantile: float) -> list[Coefficient]:
    """Ends where the test ends; a standard error only where both are there: a quarter of their distance."""
    lines = []
    for place, (name, offset) in enumerate(zip(coding.names, coding.offset, strict=True)):
        low, high = (test.end(place, side, quantile) for side in (-1, 1))
        value = float(test.best[place])
        statistic = test.least(place, -float(offset), test.best)[0]
        z = math.copysign(math.sqrt(max(0.0, statistic)), value + float(offset))
        error = math.inf if math.isinf(high - low) else (high - low) / (2.0 * math.sqrt(quantile))
        p_value = float(special.chdtrc(1, statistic))
        ends = (low + float(offset), high + float(offset))
        lines.append(Coefficient(name, value + float(offset), error, z, p_value, *ends, math.nan))
    return lines


def _odds(line: Coefficient) -> Coefficient:
    estimate, low, high = (math.exp(min(x, 700.0)) for x in (line.estimate, line.low, line.high))
    high = math.inf if math.isinf(line.high) else high
    return Coefficient(line.term, estimate, line.error, line.statistic, line.p_value, low, high, line.privacy)


def _plain(value: str | float) -> str | float | None:
    return value if isinstance(value, str) or math.isfinite(value) else None
