"""Gradient steps where the gradient is large, negative-curvature steps where it is not (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods.base import Evidence, Rule, State
from sottovoce.methods.curvature import curvature_of
from sottovoce.results.result import Stop

if TYPE_CHECKING:
    from sottovoce.methods.steps import StepRule
    from sottovoce.methods.stopping import StoppingTest
    from sottovoce.queries import Derivatives


@final
@dataclass(frozen=True, kw_only=True)
class CurvatureDescent(Rule):
    """Algorithm 1 of the paper with the step rule, the test and the prices as parts.

    Curvature is asked for only where the gradient passed its test and the curvature is not yet settled; where
    no answer could settle it, the run ends as soon as none is found that bends down.
    `ask` answers in place of the state's own queries: mini-batches. Where a gradient looks short enough but
    is too noisy to pass, `confirm_units` buy a second look; 0 buys none."""

    step: StepRule
    test: StoppingTest
    gradient_units: int
    curvature_units: int
    ask: Derivatives | None = None
    confirm_units: int = 0

    def advance(self, state: State) -> Stop | None:
        here = state.gradient(self.gradient_units, self.ask)
        spent = here.gradient.units
        if self.confirm_units and self.test.unsure(here, state.problem):
            here = state.gradient(min(self.confirm_units, state.ask.units_left), self.ask)
            spent += here.gradient.units
        if not self.test.gradient(here, state.problem):
            self._follow_gradient(state, here, spent)
            return None
        if self.test.curvature(here, state.problem):
            state.record("stop", spent)
            return self.test.verdict
        bend, here = curvature_of(state.problem).look(state, here, self.curvature_units, self.ask)
        spent += bend.units
        if self.test.curvature(here, state.problem):
            state.record("stop", spent)
            return self.test.verdict
        if not self.test.saddle(here, state.problem):
            if not bend.settles:
                state.record("stop", spent)
                return Stop.WITHIN_NOISE
            self._follow_gradient(state, here, spent)
            return None
        direction, eigenvalue = bend.downhill(here.gradient.value)
        step = bend.passed(self.step.curvature_step(state, here, direction, eigenvalue), eigenvalue)
        state.record("negative curvature", spent + step.units, step=step)
        return None

    def _follow_gradient(self, state: State, here: Evidence, spent: int) -> None:
        step = self.step.gradient_step(state, here)
        state.record("gradient step", spent + step.units, step=step)
