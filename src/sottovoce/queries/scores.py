"""Second moments of what records add to a gradient: how far it strays from one sample to the next.

With z a record's features, q what it counts and t its margin, the gradient is a mean of s = q phi'(t) z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

from sottovoce.accounting.events import QueryKind
from sottovoce.arrays import Matrix
from sottovoce.errors import ParameterError
from sottovoce.problem import require_matrix_fits
from sottovoce.queries.base import AtWeights, Form

if TYPE_CHECKING:
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem


class _OfScores(AtWeights[Matrix]):
    form = Form.SYMMETRIC

    def length(self, problem: Problem) -> int:
        return problem.dim

    def admitted(self, problem: Problem) -> Self:
        if problem.matrix_free or problem.clipped:
            raise ParameterError("second moments of scores are asked of linear models and softmax alone.")
        if not problem.gathered:
            raise ParameterError(
                "a person's scores are summed where all rows are: read the table here, without Dask."
            )
        require_matrix_fits(problem.dim)
        return super().admitted(problem)


@final
@dataclass(frozen=True)
class ScoreMoment(_OfScores):
    """(1/n) sum ss' = (1/n) sum q^2 phi'^2 zz': holds whether or not the model does.

    Of persons, s is the sum over a person's rows, which need not be independent of each other."""

    kind = QueryKind.SCORES

    def request(self, bounds: Bounds) -> Any:
        return bounds.score_sum(self.w)


@final
@dataclass(frozen=True)
class Information(_OfScores):
    """(1/n) sum q^2 phi'' zz': what E ss' is where the labels follow the model, for a fraction of the noise.

    A likelihood has E[phi'^2 | x] = E[phi'' | x]; q depends on x alone. Rows of one person are not
    independent, so of persons it says nothing."""

    kind = QueryKind.INFORMATION

    def admitted(self, problem: Problem) -> Self:
        if problem.curvature_low > 0.0:
            raise ParameterError("a loss that is not convex is no likelihood; ask for the score moment.")
        if problem.unit != "record":
            raise ParameterError("a person's rows are not independent; ask for the score moment.")
        return super().admitted(problem)

    def request(self, bounds: Bounds) -> Any:
        return bounds.information_sum(self.w)
