"""Stand-ins that watch or replay what crosses the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.models.linear import Risk
from sottovoce.privacy.counting import CountOracle
from sottovoce.privacy.noise import Noise, NoiseCalibration


class WatchedRisk:
    """Passes everything on to a Risk and counts how often data was touched, through its sums above all."""

    QUERIES = (
        "value",
        "gradient",
        "hessian",
        "score_moment",
        "information",
        "gram",
        "gram_diagonal",
        "moments",
        "trials",
        "smallest_eigenvalue",
        "along",
    )

    def __init__(self, risk: Risk) -> None:
        self._risk = risk
        self.touched = self._inside = 0
        sums = getattr(risk, "sums", None)
        if sums is not None:
            for name in ("answer", "falls"):
                sums.__dict__[name] = self._counted(getattr(sums, name))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._risk, name)
        return self._counted(found) if name in self.QUERIES else found

    def _counted(self, found: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.touched += not self._inside
            self._inside += 1
            try:
                return found(*arguments)
            finally:
                self._inside -= 1

        return counted


class WatchedWing(WatchedRisk):
    """The same for a risk of PyTorch modules, which an oracle knows by its module."""

    __module__ = "sottovoce.autodiff.risk"


class Recorder:
    """Adds the noise of another source and keeps every released answer, in order."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self.tape: list[Any] = []
        self.exact: list[Any] = []

    @property
    def simulated(self) -> bool:
        return self._noise.simulated

    def gaussian(self, exact: np.ndarray, calibration: NoiseCalibration) -> np.ndarray:
        released = self._noise.gaussian(exact, calibration)
        self.tape.append(released.copy())
        self.exact.append(exact.copy())
        return released

    def first_above(
        self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float
    ) -> int | None:
        released = self._noise.first_above(queries, sensitivity, epsilon)
        self.tape.append(released)
        return released

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        return self._noise.laplace(sensitivity, epsilon)


class Replay:
    """Answers from a tape, whatever the data: a run over other data must then be byte for byte the same."""

    def __init__(self, tape: list[Any], *, simulated: bool) -> None:
        self._tape = list(tape)
        self.simulated = simulated

    def gaussian(self, exact: np.ndarray, calibration: NoiseCalibration) -> np.ndarray:
        released = self._tape.pop(0)
        assert released.shape == exact.shape
        return released.copy()

    def first_above(
        self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float
    ) -> int | None:
        list(queries)
        return self._tape.pop(0)

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        raise AssertionError("a replay never draws noise")

    @property
    def spent(self) -> bool:
        return not self._tape


def counting(noisy: Callable[..., Any], budget: sv.Budget | None = None) -> CountOracle:
    """An oracle of counts whose noise is `noisy(compute, moves, entries, units, query)`."""
    ledger = SimpleNamespace(unit="record")
    run: Any = SimpleNamespace(budget=budget or sv.Budget(1.0, 1e-6), ledger=ledger)
    oracle = CountOracle(run, None)  # type: ignore[arg-type]
    object.__setattr__(oracle, "_noisy", noisy)
    return oracle
