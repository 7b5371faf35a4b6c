"""When a point is good enough: tests on noisy answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.result import Stop, Tolerance

if TYPE_CHECKING:
    from sottovoce.certificate import Levels
    from sottovoce.methods.loop import Evidence
    from sottovoce.queries import Problem


class StoppingTest(ABC):
    """Decides from evidence whether the gradient, and then the curvature, is within tolerance."""

    verdict: Stop

    @abstractmethod
    def gradient(self, here: Evidence, problem: Problem) -> bool: ...

    @abstractmethod
    def curvature(self, here: Evidence, problem: Problem) -> bool: ...


@final
class Never(StoppingTest):
    """No tolerance: every visit ends in a step."""

    verdict = Stop.FINISHED

    def gradient(self, here: Evidence, problem: Problem) -> bool:
        return False

    def curvature(self, here: Evidence, problem: Problem) -> bool:
        return True


@final
@dataclass(frozen=True)
class Certified(StoppingTest):
    """Stop when the certificate at this point, at its fixed level, is within tolerance."""

    tolerance: Tolerance
    levels: Levels
    verdict = Stop.CERTIFIED

    def gradient(self, here: Evidence, problem: Problem) -> bool:
        return here.certificate(problem, self.levels).gradient_norm_at_most <= self.tolerance.gradient

    def curvature(self, here: Evidence, problem: Problem) -> bool:
        assert self.tolerance.curvature is not None
        return here.certificate(problem, self.levels).curvature_at_least >= -self.tolerance.curvature


@final
@dataclass(frozen=True)
class WithinNoise(StoppingTest):
    """The paper's test: ||g~|| <= epsilon_g / slack and lambda~ >= -epsilon_H / slack."""

    tolerance: Tolerance
    slack: float = 1.1
    verdict = Stop.WITHIN_NOISE

    def gradient(self, here: Evidence, problem: Problem) -> bool:
        return here.gradient_norm <= self.tolerance.gradient / self.slack

    def curvature(self, here: Evidence, problem: Problem) -> bool:
        assert self.tolerance.curvature is not None
        eigenvalue = here.smallest_eigenvalue
        return eigenvalue is not None and eigenvalue >= -self.tolerance.curvature / self.slack
