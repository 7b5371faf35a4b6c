"""Standard errors to expect before data is read: noise by its price, the sample by a prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from sottovoce.accounting.relations import Relation
from sottovoce.results.inference.allotment import COUNTED, Allotment, typical_curvature
from sottovoce.results.inference.coordinates import CAP

if TYPE_CHECKING:
    from sottovoce.problem import Problem

_POWER = 2.8
"""Effects of so many standard errors are found in four of five studies, at the level of 5 %."""


@final
@dataclass(frozen=True, kw_only=True)
class ExpectedErrors:
    """Standard error of a coefficient per standard deviation of its column, were columns uncorrelated.

    `sampling` is that without privacy, from the prior that phi'' is four fifths of its largest value and,
    for a number to predict, that residuals are a quarter of its range; `privacy` is due to the noise alone,
    whose scale is exact, over the same phi''.
    `resolved`: whether the Hessian will stand out of its noise; else most
    coefficients will not be determined."""

    share: float
    error: float
    sampling: float
    privacy: float
    resolved: bool
    wanted: float | None = None
    records: int | None = None
    epsilon: float | None = None

    @property
    def effect(self) -> float:
        """The effect, per standard deviation, that is found in four of five studies."""
        return _POWER * self.error

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "effect": self.effect}

    def records_for(self, effect: float, n: int) -> int:
        """Records at which an effect is found: (noise/n)^2 + sample^2/n is then (effect/2.8)^2."""
        noise, sample, error = self.privacy * n, self.sampling**2 * n, effect / _POWER
        return math.ceil((sample + math.hypot(sample, 2.0 * noise * error)) / (2.0 * error**2))

    def mu_for(self, effect: float, mu: float) -> float | None:
        """Gaussian privacy at which these records show an effect; None where the sample is too small."""
        left = (effect / _POWER) ** 2 - self.sampling**2
        return mu * self.privacy / math.sqrt(left) if left > 0.0 else None

    def __str__(self) -> str:
        words = (
            ""
            if self.resolved
            else "; the Hessian will be below its noise level: most coefficients will not be determined"
        )
        return (
            f"standard errors of about {self.error:.2g} per standard deviation of a column "
            f"({self.sampling:.2g} of the sample, {self.privacy:.2g} of the noise), "
            f"effects from {self.effect:.2g} on are found{words}" + self._ways()
        )

    def _ways(self) -> str:
        if self.wanted is None:
            return ""
        budget = "no epsilon does" if self.epsilon is None else f"epsilon {self.epsilon:.2g}"
        return f"; an effect of {self.wanted:g} takes {self.records} records, or with these {budget}"


def expected_errors(
    problem: Problem, mu: float, share: float, relation: Relation = Relation.REPLACE_ONE
) -> ExpectedErrors:
    """For a run with Gaussian privacy `mu` of which inference has `share`.

    In coordinates of unit variance the cap is C = c sqrt(D), and the last gradient has noise Delta / mu_g.
    Delta is exact, what one record moves it by at worst: 2 sup|phi'| C / n where it is replaced, half of that
    where it is zeroed out. An error in the gradient counts 1/phi'' in a coefficient: that is a prior, as are
    columns that are uncorrelated and about normal."""
    ours = mu * math.sqrt(share)
    parts = Allotment.expected(problem, ours)
    cap, bend = CAP * math.sqrt(problem.columns), typical_curvature(problem)
    longest = problem.slope * cap * problem.weight
    sensitivity = relation.distance(diameter=2.0 * longest, norm=longest) / problem.n
    privacy = sensitivity / (ours * math.sqrt(parts.last)) / (COUNTED * bend)
    scores = bend if problem.likelihood else min(problem.slope, 0.5 * problem.label_reach or 1.0) ** 2
    sampling = math.sqrt(scores / problem.n) / bend
    return ExpectedErrors(
        share=share,
        error=math.hypot(privacy, sampling),
        sampling=sampling,
        privacy=privacy,
        resolved=parts.resolved,
    )
