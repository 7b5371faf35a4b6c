"""Questions about the features alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

from sottovoce.accounting.events import Query
from sottovoce.problem import insist_matrix_fits
from sottovoce.questions.base import Form, Question

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.problem import Problem
    from sottovoce.risks.protocol import ExactRisk


@final
@dataclass(frozen=True)
class Gram(Question["Matrix"]):
    kind = Query.GRAM
    form = Form.SYMMETRIC

    def admitted(self, problem: Problem) -> Self:
        insist_matrix_fits(problem.columns)
        return self

    def length(self, problem: Problem) -> int:
        return problem.columns

    def moves(self, bounds: Bounds) -> float:
        return bounds.gram()

    def exact(self, risk: ExactRisk) -> Matrix:
        return risk.gram()


@final
@dataclass(frozen=True)
class GramDiagonal(Question["Vector"]):
    """Each column's mean square."""

    kind = Query.GRAM_DIAGONAL

    def length(self, problem: Problem) -> int:
        return problem.columns

    def moves(self, bounds: Bounds) -> float:
        return bounds.gram_diagonal()

    def exact(self, risk: ExactRisk) -> Vector:
        return risk.gram_diagonal()
