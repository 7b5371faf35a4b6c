"""What exact passes cost on this machine, in units of one float32 `X @ w`, on the embedded public data.

Passes take turns within each round and the fastest time of each counts, so that load from other processes
touches all of them alike: ratios of one run compare, seconds of two runs do not.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce._version import VERSION
from sottovoce.data.records import Records
from sottovoce.data.threads import thread_count
from sottovoce.datasets import covertype
from sottovoce.losses import Logistic, Sigmoid
from sottovoce.models.linear import Risk
from sottovoce.regularizers import L2
from sottovoce.trusted.compiling import is_compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

YARDSTICK = "one float32 X @ w"

SETTLE = 0.1
"""Seconds before each call: BLAS threads keep a processor busy for a while after their last product."""


@final
@dataclass(frozen=True)
class Timings:
    """Seconds of the fastest round of each call; the first is the yardstick of the others."""

    seconds: dict[str, float]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def ratios(self) -> dict[str, float]:
        yardstick = next(iter(self.seconds.values()))
        return {name: seconds / yardstick for name, seconds in self.seconds.items()}

    def to_dict(self) -> dict[str, Any]:
        return {**self.facts, "seconds": self.seconds, "ratios": self.ratios}


def fastest(calls: dict[str, Callable[[], object]], rounds: int, repeats: int = 8) -> dict[str, float]:
    """Seconds of the fastest of rounds * repeats runs of each call; each is run once before, unmeasured."""
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(SETTLE)
            for _ in range(repeats):
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def passes(X: NDArray[np.float32], y: NDArray[Any]) -> dict[str, Callable[[], object]]:
    """Every pass by name, the yardstick first."""
    w = np.cos(np.arange(X.shape[1], dtype=np.float64))
    short = w.astype(np.float32)
    records = Records.from_arrays(X, y, labels=(-1, 1))
    logistic, sigmoid = (Risk(records, loss, L2(1e-3)) for loss in (Logistic(), Sigmoid()))
    line = logistic.along(w, -w)
    directions = np.outer([1.0, 0.5, 0.25, 0.125, 0.0625], -w)
    return {
        YARDSTICK: lambda: X @ short,
        "value and gradient, logistic": lambda: logistic.value_and_gradient(w),
        "value and gradient, sigmoid": lambda: sigmoid.value_and_gradient(w),
        "gradient, logistic": lambda: logistic.gradient(w),
        "Hessian, logistic": lambda: logistic.hessian(w),
        "Hessian, sigmoid": lambda: sigmoid.hessian(w),
        "Gram": lambda: logistic.gram(),
        "five trials in one pass": lambda: logistic.trials(w, directions),
        "margins for a line search": lambda: logistic.along(w, -w),
        "one trial on the line": lambda: line.decrease(0.5),
    }


def run(rounds: int = 5, tiles: int = 1) -> Timings:
    """Time all passes on Covertype, 495,141 x 54, its rows repeated `tiles` times."""
    table = covertype.load().two_classes()
    X, y = np.tile(table.standardized(), (tiles, 1)), np.tile(table.signs(), tiles)
    facts = {"rows": X.shape[0], "columns": X.shape[1], "rounds": rounds, **machine()}
    facts["kernels"] = "compiled" if is_compiled(X.size) else "reference"
    return Timings(fastest(passes(X, y), rounds), facts)


def machine() -> dict[str, Any]:
    """What a reader needs to know about where figures come from."""
    return {
        "version": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "processor": _processor(),
        "threads": thread_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
            return next(names, platform.machine())
    except OSError:
        return platform.processor() or platform.machine()
