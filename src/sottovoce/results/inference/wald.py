"""Joint tests and contrasts of coefficients, from their covariance: nothing is asked for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import special

from sottovoce.errors import ParameterError, meant

if TYPE_CHECKING:
    from sottovoce.results.inference.summary import Coefficient, Summary


@final
@dataclass(frozen=True)
class WaldTest:
    """Whether several coefficients are all 0: b'V^-1 b / k by Fisher's distribution with k and as many
    degrees of freedom as the least sure of their errors has. NaN where one of them is not determined."""

    terms: tuple[str, ...]
    statistic: float
    freedom: tuple[int, float]
    p_value: float

    @property
    def resolved(self) -> bool:
        return not math.isnan(self.p_value)

    def to_dict(self) -> dict[str, Any]:
        known = {"statistic": self.statistic, "df": list(self.freedom), "p.value": self.p_value}
        return {"terms": list(self.terms), "resolved": self.resolved, **(known if self.resolved else {})}

    def __str__(self) -> str:
        if not self.resolved:
            return f"{', '.join(self.terms)}: not determined"
        many = self.freedom[1] > 1e5
        below = "chi2/df" if many else f"F({self.freedom[0]}, {self.freedom[1]:.0f})"
        p = "p < 0.001" if self.p_value < 0.0005 else f"p = {self.p_value:.3f}"
        return f"{', '.join(self.terms)}: {below} = {self.statistic:.3g}, {p}"


def wald(summary: Summary, of: str | Sequence[str]) -> WaldTest:
    """The test of a column or interaction, all of its levels that are determined, or of the terms named."""
    groups = {group.name: group.members for group in summary.groups}
    if isinstance(of, str) and of in groups:
        places = [place for place in groups[of] if summary.lines[place].resolved] or [*groups[of]]
    else:
        places = [_place(summary, name) for name in ([of] if isinstance(of, str) else of)]
    lines = [summary.lines[place] for place in places]
    names = tuple(line.term for line in lines)
    if not lines or not all(line.resolved for line in lines):
        return WaldTest(names, math.nan, (len(lines), math.nan), math.nan)
    values = np.array([summary.logarithm(line) for line in lines])
    covariance = summary.covariance[np.ix_(places, places)]
    statistic = float(values @ np.linalg.solve(covariance, values)) / len(places)
    freedom = float(summary.freedom[places].min())
    return WaldTest(
        names, statistic, (len(places), freedom), float(special.fdtrc(len(places), freedom, statistic))
    )


def contrast(summary: Summary, weights: Mapping[str, float]) -> Coefficient:
    """A weighted sum of coefficients with its error, test and interval: {"a": 1, "b": -1} is a - b."""
    from sottovoce.results.inference.summary import Coefficient

    places = [_place(summary, name) for name in weights]
    sizes = np.array(list(weights.values()), dtype=np.float64)
    if not sizes.any() or not np.isfinite(sizes).all():
        raise ParameterError("the weights of a contrast are finite numbers, not all of them 0.")
    name = " ".join(_signed(size, term) for term, size in weights.items()).removeprefix("+ ")
    lines = [summary.lines[place] for place in places]
    if not all(line.resolved for line in lines):
        return Coefficient.undetermined(name)
    value = float(sizes @ [summary.logarithm(line) for line in lines])
    inside = np.ix_(places, places)
    error = math.sqrt(float(sizes @ summary.covariance[inside] @ sizes))
    privacy = 1.0 - float(sizes @ summary.sampled[inside] @ sizes) / error**2
    freedom = float(summary.freedom[places].min())
    reach = float(special.stdtrit(freedom, 0.5 + 0.5 * summary.level)) * error
    p_value = 2.0 * float(special.stdtr(freedom, -abs(value) / error))
    ends = [value, value - reach, value + reach]
    if summary.exp:
        ends = [math.exp(min(end, 700.0)) for end in ends]
    return Coefficient(name, ends[0], error, value / error, p_value, ends[1], ends[2], privacy)


def _signed(size: float, term: str) -> str:
    return ("- " if size < 0.0 else "+ ") + (term if abs(size) == 1.0 else f"{abs(size):g} {term}")


def _place(summary: Summary, name: str) -> int:
    known = [line.term for line in summary.lines]
    if name not in known:
        raise ParameterError(
            f"there is no term {name!r}.{meant(name, known)} Take some of {', '.join(known[:20])}."
        )
    return known.index(name)
