"""What each exact pass costs, in units of one float32 `X @ w`, and how much memory the records add.

    python -m benchmarks.kernels [rounds]

Real Covertype, 495,141 x 54. Passes are timed in turn within each round and the fastest time of each counts,
so that load from other processes touches all of them alike.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.data import covertype
from sottovoce.losses import Logistic, Sigmoid
from sottovoce.records import Records
from sottovoce.regularizers import L2
from sottovoce.risk import Risk
from sottovoce.threads import thread_count

Features = NDArray[np.float32]
Signs = NDArray[np.int8]


def risk_of(X: Features | sparse.csr_array, y: Signs, loss: Logistic | Sigmoid) -> Risk:
    return Risk(Records.from_arrays(X, y, labels=(-1, 1)), loss, L2(1e-3))


def passes(X: Features, y: Signs) -> dict[str, Callable[[], object]]:
    """Every pass by name, the yardstick first."""
    w = np.random.default_rng(0).normal(size=X.shape[1])
    short = w.astype(np.float32)
    logistic, sigmoid = (risk_of(X, y, loss) for loss in (Logistic(), Sigmoid()))
    rare = risk_of(sparse.csr_array(X), y, Logistic())
    line = logistic.along(w, -w)
    directions = np.outer([1.0, 0.5, 0.25, 0.125, 0.0625], -w)
    return {
        "float32 X @ w": lambda: X @ short,
        "value and gradient, logistic": lambda: logistic.value_and_gradient(w),
        "value and gradient, sigmoid": lambda: sigmoid.value_and_gradient(w),
        "gradient, logistic": lambda: logistic.gradient(w),
        "value, logistic": lambda: logistic.value(w),
        "Hessian, logistic": lambda: logistic.hessian(w),
        "Hessian, sigmoid": lambda: sigmoid.hessian(w),
        "Gram": lambda: logistic.gram(),
        "five trials in one pass": lambda: logistic.trials(w, directions),
        "margins for a line search": lambda: logistic.along(w, -w),
        "one trial on the line": lambda: line.decrease(0.5),
        "CSR value and gradient": lambda: rare.value_and_gradient(w),
        "CSR Hessian": lambda: rare.hessian(w),
        "CSR Gram": lambda: rare.gram(),
    }


def fastest(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of the fastest round of each call."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            for _ in range(3):
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def memory_growth(X: Features, y: Signs) -> float:
    """Peak memory added by records and one of each pass, over the float32 data, in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        command = [sys.executable, "-m", "benchmarks.kernels", "--memory", folder]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(answer.stdout)


def measure_memory(folder: Path) -> float:
    """The child's part: arrays and imports first, so that only what the library adds is counted."""
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    for call in passes(X[:100].copy(), y[:100]).values():
        call()
    before = peak_memory()
    risk = risk_of(X, y, Sigmoid())
    w = np.ones(risk.dim)
    risk.value_and_gradient(w)
    risk.hessian(w)
    risk.gram()
    risk.trials(w, np.ones((5, risk.dim)))
    risk.along(w, w).decrease(0.5)
    return (peak_memory() - before) / X.nbytes


def peak_memory() -> int:
    """Linux's high-water mark of this process; ru_maxrss would start at the parent's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise OSError("no VmHWM in /proc/self/status")


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        print(measure_memory(Path(sys.argv[2])))
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    table = covertype.load().two_classes()
    X, y = table.standardized(), table.signs()
    best = fastest(passes(X, y), rounds)
    yardstick = next(iter(best.values()))
    print(f"{X.shape[0]:,} x {X.shape[1]}, {thread_count()} threads, fastest of {3 * rounds}")
    for name, seconds in best.items():
        print(f"{name:30} {1e3 * seconds:8.2f} ms  {seconds / yardstick:6.2f}x")
    print(f"{'peak memory over float32 data':30} {memory_growth(X, y):8.2f}")


if __name__ == "__main__":
    main()
