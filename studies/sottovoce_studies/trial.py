"""One run of the study, and its examination by exact values after it has ended."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.accounting import Budget
from sottovoce.errors import DataError
from sottovoce.methods.registry import by_name
from sottovoce.results.result import Stop
from sottovoce.training import minimize
from sottovoce_studies.meter import Metered, Reading
from sottovoce_studies.problems import risk_on
from sottovoce_studies.settings import Cell, Table, Trial

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.models.linear import Risk

_MOST_PLACES = 40


@final
@dataclass(frozen=True, kw_only=True)
class Run:
    """What is kept of a run. `path` is (passes, gradient norm), for the first seed only.

    `final_loss`, `gradient_norm`, `eigenvalue`, `inside` and `path` are exact: computed on public data, after
    the private run and outside of it. `seconds` are the processor's, which other work on the machine hardly
    changes; `elapsed` are the clock's."""

    trial: Trial
    stop: str
    cut: bool
    longest: int
    final_loss: float
    gradient_norm: float
    eigenvalue: float
    inside: bool
    certified: bool
    certified_gradient: float
    certified_curvature: float
    visits: int
    passes: float
    hessians: int
    spent: float
    seconds: float
    elapsed: float
    path: tuple[tuple[float, float], ...]

    @property
    def stopped(self) -> bool:
        """Whether the run ended by its own test: certified, or within the noise as the paper tests it."""
        return self.stop in (Stop.CERTIFIED.name, Stop.WITHIN_NOISE.name)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values, what was asked first."""
        raw = asdict(self)
        trial = raw.pop("trial")
        cell = trial.pop("cell")
        return {**cell.pop("table"), **cell, **trial, **raw}

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Run:
        given = dict(raw)
        try:
            table = Table(*(str(given.pop(name)) for name in ("dataset", "loss", "setting")))
            cell = Cell(table, given.pop("method"), float(given.pop("epsilon")), given.pop("calibration"))
            path = tuple((float(at), float(norm)) for at, norm in given.pop("path"))
            return cls(trial=Trial(cell, int(given.pop("seed"))), path=path, **given)
        except (KeyError, TypeError, ValueError):
            raise DataError(
                "this is not a run of the study: a field is missing or has the wrong type."
            ) from None


def perform(trial: Trial, data: str | None, longest: int) -> Run:
    """Run a trial with simulated noise, then examine what it returned."""
    cell, table = trial.cell, trial.cell.table
    risk = risk_on(table.dataset, table.loss, data)
    tolerance = table.tolerance
    reading = Reading(longest=longest)
    began, used = time.perf_counter(), time.process_time()
    result = minimize(
        risk,
        budget=Budget(epsilon=cell.epsilon, delta=1.0 / risk.n),
        method=Metered(by_name(cell.method), reading),
        tolerance=tolerance,
        start=_start(table, trial.seed, risk.dim),
        simulate=trial.seed,
        calibration=cell.calibration,
    )
    seconds, elapsed = time.process_time() - used, time.perf_counter() - began
    value, slope = risk.value_and_gradient(result.weights)
    norm, eigenvalue = float(np.linalg.norm(slope)), risk.smallest_eigenvalue(result.weights)
    found = result.certificate
    assert tolerance.curvature is not None
    return Run(
        trial=trial,
        stop=result.stop.name,
        cut=reading.cut,
        longest=longest,
        final_loss=value,
        gradient_norm=norm,
        eigenvalue=eigenvalue,
        inside=norm <= tolerance.gradient and eigenvalue >= -tolerance.curvature,
        certified=found.meets(tolerance),
        certified_gradient=found.gradient_norm_at_most,
        certified_curvature=found.curvature_at_least,
        visits=reading.visits,
        passes=reading.passes,
        hessians=reading.hessians,
        spent=math.fsum(result.spending.values()),
        seconds=seconds,
        elapsed=elapsed,
        path=_path(reading, risk) if trial.seed == 0 else (),
    )


def _start(table: Table, seed: int, dim: int) -> Vector:
    """N(0, I) as in the paper; zeros, the library's own start, for the tolerance that is ours."""
    return np.zeros(dim) if table.setting == "tenth" else np.random.default_rng(seed).standard_normal(dim)


def _path(reading: Reading, risk: Risk) -> tuple[tuple[float, float], ...]:
    """Exact gradient norms where the run asked for gradients, at most forty of them, evenly by logarithm."""
    count = len(reading.places)
    if not count:
        return ()
    chosen = np.unique(np.round(np.geomspace(1, count, min(count, _MOST_PLACES))).astype(int)) - 1
    places = [reading.places[index] for index in chosen]
    return tuple((passes, float(np.linalg.norm(risk.gradient(w)))) for passes, w in places)
