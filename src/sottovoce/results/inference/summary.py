"""Summary: estimates, standard errors, tests and intervals of coefficients, in the user's units."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import special

from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError
from sottovoce.results.inference.design import Group
from sottovoce.results.inference.findings import LastAnswers
from sottovoce.results.inference.standard_errors import OneStep
from sottovoce.results.inference.terms import INTERCEPT, Coding, UserTerms, checked_within, coded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sottovoce.results.inference.wald import WaldTest

COLUMNS = ("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high", "resolved")
UNDETERMINED = "not determined"

HIDDEN = (
    "{count} of {all} coefficients are not determined: these records do not show them above the noise for "
    "privacy. More records, a larger epsilon, fewer columns or coarser categories would"
)
ASSUMED = (
    "what the noise hides is taken to be off by no more than {within:g}, the effect of a full move of one "
    "feature (within)"
)
NOT_CONVEX = (
    "the released Hessian curves down in some direction, by more than its noise: these weights need not be "
    "near a minimizer, and intervals hold only if they are"
)


@final
@dataclass(frozen=True)
class Coefficient:
    """One coefficient. `privacy` is the part of its variance that noise for privacy has.

    Where it is not `resolved` no number is given: all are NaN."""

    term: str
    estimate: float
    error: float
    statistic: float
    p_value: float
    low: float
    high: float
    privacy: float
    resolved: bool = field(default=True, kw_only=True)

    @classmethod
    def undetermined(cls, term: str) -> Coefficient:
        nothing = math.nan
        return cls(term, nothing, nothing, nothing, nothing, nothing, nothing, nothing, resolved=False)

    @property
    def below_noise(self) -> bool:
        """Whether it is smaller than the sd of the noise in it."""
        return self.resolved and self.statistic**2 < self.privacy

    @property
    def values(self) -> tuple[str | float | None, ...]:
        """In the order of COLUMNS; None where a number is not determined."""
        numbers = (self.estimate, self.error, self.statistic, self.p_value, self.low, self.high)
        return (self.term, *map(_plain, numbers), self.resolved)


@final
@dataclass(frozen=True, eq=False)
class Summary:
    """Lines for all coefficients; what they are compared with; and what is to be known about them.

    `level` is the confidence of each interval, or of all at once if `simultaneous`. With `exp` estimates and
    ends are the `ratio`s, standard errors and tests still those of their logarithms, as in R's broom.
    `covariance` is that of the coefficients, in the order of the lines and before `exp`, NaN where one is not
    determined; `sampled` what of it is left without noise; `freedom` the degrees of freedom of each."""

    lines: tuple[Coefficient, ...]
    level: float
    simultaneous: bool
    exp: bool
    robust: bool
    references: dict[str, str]
    remarks: tuple[str, ...]
    ratio: str = "odds ratio"
    groups: tuple[Group, ...] = ()
    covariance: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    sampled: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    freedom: Vector = field(default_factory=lambda: np.zeros(0))

    def logarithm(self, line: Coefficient) -> float:
        """A line's coefficient, of a ratio its logarithm."""
        return math.log(line.estimate) if self.exp else line.estimate

    def wald(self, of: str | Sequence[str]) -> WaldTest:
        """Whether all coefficients of a column or interaction, or of the terms named, are 0."""
        from sottovoce.results.inference.wald import wald

        return wald(self, of)

    def contrast(self, weights: Mapping[str, float]) -> Coefficient:
        """A weighted sum of coefficients: {"region=south": 1, "region=west": -1} is a difference."""
        from sottovoce.results.inference.wald import contrast

        return contrast(self, weights)

    @property
    def rows(self) -> list[tuple[str, Coefficient | None]]:
        """Every line in its order; among them, without one, the names of what others are compared with."""
        found: list[tuple[str, Coefficient | None]] = [(line.term, line) for line in self.lines]
        for group in reversed(self.groups):
            if group.reference is not None and group.members:
                found.insert(group.members[0] + group.position, (group.reference, None))
        return found

    @property
    def resolved(self) -> bool:
        """Whether every coefficient is determined."""
        return all(line.resolved for line in self.lines)

    @property
    def nothing(self) -> bool:
        """Whether no coefficient but the intercept is."""
        return not any(line.resolved for line in self.lines if not line.term.endswith(INTERCEPT))

    def frame(self, *, references: bool = False) -> Any:
        """A tidy table with the columns of R's broom: a pandas DataFrame, or a pyarrow Table without pandas.

        Columns: term, estimate, std.error, statistic, p.value, conf.low, conf.high; and `resolved`, without
        which the others are missing. With `references` also the rows that others are compared with, as
        broom.helpers adds them: `reference_row` is true there, the estimate 0 or the ratio 1."""
        import pyarrow

        columns = dict(zip(COLUMNS, map(list, zip(*self.values(references), strict=True)), strict=True))
        if references:
            columns["reference_row"] = [line is None for _, line in self.rows]
        table = pyarrow.table(columns)
        try:
            return table.to_pandas()
        except ImportError:
            return table

    def values(self, references: bool) -> list[tuple[str | float | None, ...]]:
        """Rows in the order of COLUMNS, those that others are compared with among them if asked for."""
        fixed = (1.0 if self.exp else 0.0, *[None] * (len(COLUMNS) - 2))
        listed = self.rows if references else [(line.term, line) for line in self.lines]
        return [(name, *fixed) if line is None else line.values for name, line in listed]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values; a number that is not determined is None."""
        rows = [
            {
                **dict(zip(COLUMNS, line.values, strict=True)),
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
            "covariance": [[_plain(float(entry)) for entry in row] for row in self.covariance],
        }

    def to_csv(self) -> str:
        """The columns of `frame()`, rows that others are compared with among them."""
        from sottovoce.results.inference.tables import csv_table

        return csv_table(self)

    def to_html(self) -> str:
        """A table and its notes, a fragment of a page."""
        return self._repr_html_()

    def to_latex(self) -> str:
        """A table for the package booktabs, and its notes."""
        from sottovoce.results.inference.tables import latex_table

        return latex_table(self)

    def __str__(self) -> str:
        from sottovoce.results.inference.tables import text_table

        return text_table(self)

    def _repr_html_(self) -> str:
        from sottovoce.results.inference.tables import html_table

        return html_table(self)


def summarized(
    findings: LastAnswers,
    terms: UserTerms,
    *,
    level: float = 0.95,
    exp: bool = False,
    simultaneous: bool = False,
    within: float | None = None,
) -> Summary:
    """The summary of what a run released. Asks nothing: all of it is post-processing.

    `within` is what may be assumed of directions that noise hides: how far the effect of a full move of each
    feature may be off there, a number on its way from the middle of its declared range to an end, a category
    by being present. It is that of the terms unless given."""
    if not 0.0 < level < 1.0:
        raise ParameterError("level must lie strictly between 0 and 1, for example 0.95.", argument="level")
    if exp and not terms.chances:
        raise ParameterError(
            "exp=True gives odds ratios of the logistic loss or rate ratios of counts. Leave it out."
        )
    within = terms.assumed if within is None else checked_within(within)
    coding = coded(terms, findings, within)
    estimate = OneStep.of(findings, coding.flat, coding.spread, coding.levels)
    error = 1.0 - level
    if simultaneous:
        error = -math.expm1(math.log1p(-error) / len(coding.names))
    lines = _lines(estimate, coding, error)
    along = estimate.direction(coding.matrix)
    covariance = along @ estimate.covariance @ along.T
    hidden = ~estimate.determined(along)
    covariance[hidden], covariance[:, hidden] = math.nan, math.nan
    remarks: list[str] = []
    if missing := sum(not line.resolved for line in lines):
        remarks.append(HIDDEN.format(count=missing, all=len(lines)))
    if not estimate.is_resolved and missing < len(lines):
        remarks.append(ASSUMED.format(within=within))
    if estimate.curves_down:
        remarks.append(NOT_CONVEX)
    return Summary(
        lines=tuple(_odds(line) for line in lines) if exp else tuple(lines),
        level=level,
        simultaneous=simultaneous,
        exp=exp,
        robust=findings.robust,
        references=coding.references,
        remarks=tuple(remarks),
        ratio=terms.ratio,
        groups=coding.groups,
        covariance=covariance,
        sampled=along @ estimate.sampling_covariance @ along.T,
        freedom=estimate.errors(along)[1],
    )


def predicted(findings: LastAnswers, terms: UserTerms, rows: Matrix, level: float) -> Matrix:
    """Scores <x, w> of rows, and their intervals, three columns; NaN where they are not determined.

    With several outputs, those of the second, the third, ... against the first: rows by outputs - 1 by 3."""
    if not 0.0 < level < 1.0:
        raise ParameterError("level must lie strictly between 0 and 1, for example 0.95.", argument="level")
    coding = coded(terms, findings)
    estimate = OneStep.of(findings, coding.flat, coding.spread, coding.levels)
    several = findings.outputs > 1
    if several:
        against_first = np.eye(findings.outputs)[1:] - np.eye(findings.outputs)[0]
        rows = np.einsum("ko,ij->ikoj", against_first, rows).reshape(-1, findings.weights.size)
    along = estimate.direction(rows)
    middle = np.where(estimate.determined(along), estimate.values(rows), math.nan)
    errors, freedom = estimate.errors(along)
    reach = special.stdtrit(freedom, 0.5 + 0.5 * level) * errors
    found = np.column_stack([middle, middle - reach, middle + reach])
    return found.reshape(-1, findings.outputs - 1, 3) if several else found


def _lines(estimate: OneStep, coding: Coding, miss: float) -> list[Coefficient]:
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
        Coefficient(name, *map(float, line)) if seen else Coefficient.undetermined(name)
        for name, seen, line in zip(
            coding.names, estimate.determined(along), zip(*columns, strict=True), strict=True
        )
    ]


def _odds(line: Coefficient) -> Coefficient:
    estimate, low, high = (math.exp(min(x, 700.0)) for x in (line.estimate, line.low, line.high))
    return replace(line, estimate=estimate, low=low, high=high)


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
