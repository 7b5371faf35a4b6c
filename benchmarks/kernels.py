"""Passes over real Covertype against one float32 `X @ w` and PyTorch: `python -m benchmarks.kernels`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.rival_process import rival
from sottovoce.data.records import Records
from sottovoce.datasets import covertype
from sottovoce.losses import Cauchy, GemanMcClure, LogCosh, Logistic, PseudoHuber, Welsch
from sottovoce.models.linear import Risk
from sottovoce.planning import bench

SLOW = ("Hessian",)
ROBUST = (PseudoHuber(), LogCosh(), Cauchy(), GemanMcClure(), Welsch())


def covertype_rows() -> tuple[np.ndarray, np.ndarray]:
    table = covertype.load().two_classes()
    return table.standardized(), table.signs()


def against_torch(rounds: int) -> dict[str, Any]:
    """Ours and PyTorch's in the same rounds; Hessians of PyTorch, half a second each, in two of them."""
    X, y = covertype_rows()
    ours = bench.passes(X, y)
    best = dict.fromkeys(ours, float("inf"))
    with rival("torch", X, y) as torch:
        theirs = torch.names if torch else []
        best |= dict.fromkeys(theirs, float("inf"))
        for name in theirs:
            torch.seconds(name)
        for number in range(rounds):
            found = bench.fastest(ours, 1)
            best |= {name: min(best[name], seconds) for name, seconds in found.items()}
            for name in theirs:
                slow = any(word in name for word in SLOW)
                if number < 2 or not slow:
                    time.sleep(bench.SETTLE)
                    best[name] = min(best[name], *(torch.seconds(name) for _ in range(2 if slow else 8)))
    timings = bench.Timings(best, {"rows": len(y), "columns": X.shape[1], **bench.machine()}).to_dict()
    timings["demands"] = _demands(best)
    return timings


def _demands(best: dict[str, float]) -> dict[str, Any]:
    """The ratios that issue 6 asks for: figure and limit."""
    gradient, unit = best["value and gradient, logistic"], best[bench.YARDSTICK]
    found = {"value and gradient over X @ w": [gradient / unit, "at most 3"]}
    if "torch gradient, float32" in best:
        found |= {
            "value and gradient over torch float64": [gradient / best["torch gradient, float64"], "below 1"],
            "value and gradient over torch float32": [
                gradient / best["torch gradient, float32"],
                "at most 1.5",
            ],
            "torch Hessian over ours, float32": [
                best["torch Hessian, float32"] / best["Hessian, logistic"],
                "at least 10",
            ],
            "torch Hessian over ours, float64": [
                best["torch Hessian, float64"] / best["Hessian, logistic"],
                "at least 10",
            ],
            "torch forward over a trial, float32": [
                best["torch forward, float32"] / best["one trial on the line"],
                "at least 5",
            ],
            "torch forward over a trial, float64": [
                best["torch forward, float64"] / best["one trial on the line"],
                "at least 5",
            ],
        }
    return found


def tiled(rounds: int) -> dict[str, Any]:
    """The rows eight times over, which no cache holds."""
    X, y = (np.concatenate([part] * 8) for part in covertype_rows())
    w = np.cos(np.arange(X.shape[1]))
    short = w.astype(np.float32)
    risk = Risk(Records.from_arrays(X, y, labels=(-1, 1)), Logistic())
    calls = {
        bench.YARDSTICK: lambda: X @ short,
        "value and gradient, logistic": lambda: risk.value_and_gradient(w),
    }
    best = bench.fastest(calls, rounds)
    timings = bench.Timings(best, {"rows": len(y), "columns": X.shape[1], **bench.machine()}).to_dict()
    ratio = timings["ratios"]["value and gradient, logistic"]
    return timings | {"demands": {"value and gradient over X @ w": [ratio, "at most 2"]}}


def csr(rounds: int) -> dict[str, Any]:
    """200,000 x 100,000 with 50 entries a row, against scipy's float32 matvec and its transpose."""
    rng = np.random.default_rng(0)
    n, dim, entries = 200_000, 100_000, 50
    columns = np.sort(rng.integers(0, dim, (n, entries), dtype=np.int32), axis=1)
    X = sparse.csr_array(
        (
            rng.normal(size=n * entries).astype(np.float32),
            columns.ravel(),
            np.arange(0, n * entries + 1, entries),
        ),
        shape=(n, dim),
    )
    X.sum_duplicates()
    y = rng.choice([-1, 1], n)
    risk = Risk(Records.from_arrays(X, y, labels=(-1, 1)), Logistic())
    w = rng.normal(size=dim)
    short, factors = w.astype(np.float32), rng.normal(size=n).astype(np.float32)
    transposed = X.T
    calls = {
        "CSR X @ w and X' @ c": lambda: (X @ short, transposed @ factors),
        "gradient": lambda: risk.gradient(w),
        "value and gradient": lambda: risk.value_and_gradient(w),
        "Gram diagonal": lambda: risk.gram_diagonal(),
    }
    timings = bench.Timings(
        bench.fastest(calls, rounds), {"rows": n, "columns": dim, **bench.machine()}
    ).to_dict()
    ratio = timings["ratios"]["gradient"]
    return timings | {"demands": {"gradient over matvec and transpose": [ratio, "at most 3"]}}


def losses(rounds: int) -> dict[str, Any]:
    """Value and gradient of every residual loss, in units of the logistic one's."""
    X, y = covertype_rows()
    w = np.cos(np.arange(X.shape[1]))
    classes = Risk(Records.from_arrays(X, y, labels=(-1, 1)), Logistic())
    numbers = Records.from_arrays(X, y, target=(-1.0, 1.0))
    calls: dict[str, Callable[[], object]] = {
        "value and gradient, logistic": partial(classes.value_and_gradient, w)
    }
    for loss in ROBUST:
        calls[f"value and gradient, {loss.name}"] = partial(Risk(numbers, loss).value_and_gradient, w)
    best = bench.fastest(calls, rounds)
    timings = bench.Timings(best, {"rows": len(y), "columns": X.shape[1], **bench.machine()}).to_dict()
    demands = {f"{name} over logistic": [ratio, "at most 1.3"] for name, ratio in timings["ratios"].items()}
    return timings | {"demands": demands}


def main() -> None:
    """Ratios of this machine, for the path that SOTTOVOCE_KERNELS names."""
    timings = bench.run()
    print(f"{timings.facts['kernels']} kernels, {timings.facts['threads']} threads")
    for name, ratio in timings.ratios.items():
        print(f"{name:30} {ratio:7.2f}x")


if __name__ == "__main__":
    main()
