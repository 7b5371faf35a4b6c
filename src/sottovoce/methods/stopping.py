"""When a point is good enough: tests on noisy answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.results.result import Stop, Tolerance

if TYPE_CHECKING:
    from sottovoce.methods.base import Evidence
    from sottovoce.problem import Problem

_WELL_WITHIN = 0.85


class StoppingTest(ABC):
    """Decides from evidence whether the gradient, and then the curvature, is within tolerance."""

    verdict: Stop

    @abstractmethod
    def gradient(self, here: Evidence, problem: Problem) -> bool: ...

    @abstractmethod
    def curvature(self, here: Evidence, problem: Problem) -> bool: ...

    def unsure(self, here: Evidence, problem: Problem) -> bool:
        """Whether a failed gradient test may be the noise's fault, so that less noise might pass it."""
        return False

    def saddle(self, here: Evidence, problem: Problem) -> bool:
        """Whether a failed curvature test shows negative curvature to follow, rather than noise."""
        return True


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
    """Stop when what is certain at this point, but for the level its answers took, is within tolerance."""

    tolerance: Tolerance
    verdict = Stop.CERTIFIED

    def gradient(self, here: Evidence, problem: Problem) -> bool:
        return here.gradient_bound(problem)[0] <= self.tolerance.gradient

    def curvature(self, here: Evidence, problem: Problem) -> bool:
        assert self.tolerance.curvature is not None
        return here.curvature_bound(problem) >= -self.tolerance.curvature

    def unsure(self, here: Evidence, problem: Problem) -> bool:
        """By E||g~||^2 = ||g||^2 + d scale^2 the gradient is likely well within tolerance, without proof."""
        likely = here.gradient_norm**2 - problem.dim * here.gradient.scale**2
        return likely <= (_WELL_WITHIN * self.tolerance.gradient) ** 2 and not self.gradient(here, problem)

    def saddle(self, here: Evidence, problem: Problem) -> bool:
        assert self.tolerance.curvature is not None
        eigenvalue = here.smallest_eigenvalue
        return eigenvalue is not None and eigenvalue < -0.5 * self.tolerance.curvature


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


@final
@dataclass(frozen=True)
class Promising(StoppingTest):
    """A batch's gradient is no longer than one within tolerance would look: worth reading all records.

    E||g~||^2 = ||g||^2 + d scale^2 + sampling^2, so a gradient at the tolerance passes half the time."""

    tolerance: Tolerance
    verdict = Stop.WITHIN_NOISE

    def gradient(self, here: Evidence, problem: Problem) -> bool:
        noise = problem.dim * here.gradient.scale**2 + here.gradient.sampling**2
        return here.gradient_norm**2 <= self.tolerance.gradient**2 + noise

    def curvature(self, here: Evidence, problem: Problem) -> bool:
        return True
