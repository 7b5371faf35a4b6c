"""`python -m benchmarks.memory`: peak memory that records and every pass add, over the float32 data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.kernels import covertype_rows
from sottovoce.data.records import Records
from sottovoce.losses import Sigmoid
from sottovoce.models.linear import Risk


def peak_memory() -> int:
    """Linux's high-water mark of this process; ru_maxrss would start at the parent's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise OSError("no VmHWM in /proc/self/status")


def forget_peak() -> None:
    """Start the high-water mark anew at what is held now: preparing the table peaked higher."""
    Path("/proc/self/clear_refs").write_text("5")


def every_pass(X: np.ndarray, y: np.ndarray) -> None:
    risk = Risk(Records.from_arrays(X, y, labels=(-1, 1)), Sigmoid())
    w = np.ones(risk.dim)
    risk.value_and_gradient(w)
    risk.hessian(w)
    risk.gram()
    risk.trials(w, np.ones((5, risk.dim)))
    risk.along(w, w).decrease(0.5)


def main() -> None:
    X, y = covertype_rows()
    every_pass(X[:100_000].copy(), y[:100_000])
    forget_peak()
    before = peak_memory()
    every_pass(X, y)
    print((peak_memory() - before) / X.nbytes)


if __name__ == "__main__":
    main()
