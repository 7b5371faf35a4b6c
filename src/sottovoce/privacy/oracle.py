"""The only object that sees both data and method: charge the ledger, compute, add noise, release."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, final

from sottovoce.accounting.events import GaussianEvent, PureEvent
from sottovoce.privacy import release
from sottovoce.privacy.batches import BatchOracle
from sottovoce.privacy.noise import insist_payable
from sottovoce.privacy.prices import SEARCHES, Prices, insist_known
from sottovoce.problem import Calibration
from sottovoce.questions import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.accounting import Run
    from sottovoce.privacy.noise import Noise, Noising
    from sottovoce.questions import Backtrack, Geometry, Question
    from sottovoce.risks.protocol import ExactRisk

T = TypeVar("T")


@final
class Oracle(Prices):
    """Answers a method's questions about a risk, each at the price the method names.

    Formal guarantee: every answer is a Gaussian (or AboveThreshold) mechanism whose event was charged to the
    run before the data was touched; a refused charge raises and computes nothing."""

    def __init__(
        self,
        risk: ExactRisk,
        run: Run,
        noise: Noise,
        calibration: Calibration = Calibration.TIGHT,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        super().__init__(replace(risk.bounds, calibration=calibration, relation=run.budget.relation), run)
        self._bounds.insist_calibrated()
        self._risk = risk
        self._noise = noise
        self._entropy = entropy

    def ask(self, question: Question[T], units: int) -> Answer[T]:
        question = insist_known(question).admitted(self.problem)
        noising, packing = self.noising(question, self._affordable(units)), self.packing(question)
        charged, (paid,) = release.gaussian(
            self._run,
            self._noise,
            plain_event(question, noising),
            (noising, lambda: packing.pack(question.exact(self._risk))),
        )
        return Answer(packing.unpack(paid.draw()), noising.scale * packing.widening, charged)

    def search(self, question: Backtrack, units: int) -> int | None:
        question = insist_known(question, SEARCHES).admitted(self.problem)
        moves = question.moves(self._bounds)
        epsilon = self._run.currency.pure_epsilon(self._affordable(units))
        insist_payable(moves, epsilon)
        return release.pure(
            self._run,
            PureEvent(question.kind, epsilon),
            lambda: self._noise.first_above(question.exact(self._risk), moves, epsilon),
        )

    def reshaped(self, geometry: Geometry) -> Oracle:
        calibration = self._bounds.calibration
        return Oracle(self._risk.reshaped(geometry), self._run, self._noise, calibration, self._entropy)

    def batched(self, size: int, *, shared: bool = False) -> BatchOracle:
        return BatchOracle(
            self._risk, self._run, self._noise, self._bounds, self._entropy, size=size, shared=shared
        )


def plain_event(question: Question[T], noising: Noising) -> GaussianEvent:
    return GaussianEvent(question.kind, noising.sensitivity, noising.scale, noising.entries, noising.step)
