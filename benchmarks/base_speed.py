"""Time of every pass over that of an older checkout: `python benchmarks/base_speed.py OLD [--rows 60000]`,
with `--covertype` also of a whole fit of Covertype by the default method.

Two processes, one a checkout, take turns, each pass many times; what counts is the least time of the
processor, so that others on the machine are felt as little as can be. One thread, compiled kernels, made-up
rows."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks" / "results" / "base_speed.json"
PASSES = ("value and gradient", "gradient", "value", "Hessian", "four trials")
FORMS = ("dense", "sparse", "compact")

WORKER = """
import json, sys, time
import numpy as np
import pyarrow as pa
from scipy import sparse
import sottovoce as sv
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
n = int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 54)) / 8.0
y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
few = sparse.random_array((n, 400), density=0.03, format="csr", random_state=0)
columns = [Numeric(f"x{j}", -1.0, 1.0) for j in range(10)]
columns += [Categorical("c", tuple(f"l{k}" for k in range(40))), Categorical("d", ("u", "v", "w", "x"))]
table = {f"x{j}": np.clip(X[:, j], -1.0, 1.0) for j in range(10)}
table |= {"c": rng.choice([f"l{k}" for k in range(40)], n), "d": rng.choice(list("uvwx"), n)}
table |= {"y": np.where(y > 0, "yes", "no")}
schema = Schema(tuple(columns), Target("y", ("no", "yes")))
held = {
    "dense": sv.Records.from_arrays(X, y, labels=(-1, 1)),
    "sparse": sv.Records.from_arrays(few, y, labels=(-1, 1)),
    "compact": sv.Records.from_table(pa.table(table), schema),
}
calls = {}
for form, records in held.items():
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-3))
    w = np.cos(np.arange(risk.dim))
    steps = np.outer([1.0, 0.5, 0.25, 0.125], -w)
    calls[form, "value and gradient"] = lambda risk=risk, w=w: risk.value_and_gradient(w)
    calls[form, "gradient"] = lambda risk=risk, w=w: risk.gradient(w)
    calls[form, "value"] = lambda risk=risk, w=w: risk.value(w)
    calls[form, "Hessian"] = lambda risk=risk, w=w: risk.hessian(w)
    calls[form, "four trials"] = lambda risk=risk, w=w, steps=steps: risk.trials(w, steps)
risk = sv.Risk(held["dense"], sv.losses.Logistic(), sv.regularizers.L2(1e-3))
calls["dense", "fit"] = lambda: sv.minimize(risk, budget=sv.Budget(1.0, 1e-6), simulate=0)
if sys.argv[2] == "covertype":
    from sottovoce.datasets import covertype
    forest = covertype.load().two_classes()
    kept = sv.Records.from_arrays(forest.standardized(), forest.signs(), labels=(-1, 1))
    whole = sv.Risk(kept, sv.losses.Logistic(), sv.regularizers.L2(1e-4))
    calls["covertype", "fit"] = lambda: sv.minimize(whole, budget=sv.Budget(1.0, 1e-6), simulate=0)
for call in calls.values():
    call()
print("ready", flush=True)
for line in sys.stdin:
    form, what, times = json.loads(line)
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        calls[form, what]()
        best = min(best, time.process_time() - began)
    print(best, flush=True)
"""


class Worker:
    """A process over one checkout."""

    def __init__(self, root: Path, rows: int, whole: str) -> None:
        paths = {"PYTHONPATH": str(root / "src"), "SOTTOVOCE_KERNELS": "compiled", "SOTTOVOCE_THREADS": "1"}
        environment = {**os.environ, **paths, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rows), whole],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        if self._line() != "ready":
            raise SystemExit(f"the passes of {root} could not be run.")

    def least(self, form: str, what: str, times: int) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([form, what, times]) + "\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def ratios(old: Worker, new: Worker, rounds: int, whole: str) -> dict[str, dict[str, Any]]:
    """Of each pass the least times of both, and how they compare."""
    wanted = [(form, what) for form in FORMS for what in PASSES] + [("dense", "fit")]
    wanted += [("covertype", "fit")] if whole else []
    least: dict[tuple[str, str], list[float]] = {one: [float("inf")] * 2 for one in wanted}
    for _ in range(rounds):
        for one in wanted:
            times = 1 if one[1] == "fit" else 20
            found = [worker.least(*one, times) for worker in (old, new)]
            least[one] = [min(pair) for pair in zip(least[one], found, strict=True)]
    return {
        f"{what}, {form}": {"old ms": 1e3 * before, "new ms": 1e3 * now, "ratio": now / before}
        for (form, what), (before, now) in least.items()
    }


def main() -> None:
    options = argparse.ArgumentParser(prog="python benchmarks/base_speed.py")
    options.add_argument("old", type=Path, help="the older checkout")
    options.add_argument("--rows", type=int, default=60_000)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--covertype", action="store_true", help="also a whole fit of Covertype")
    chosen = options.parse_args()
    whole = "covertype" if chosen.covertype else ""
    old, new = (Worker(root, chosen.rows, whole) for root in (chosen.old, ROOT))
    found = ratios(old, new, chosen.rounds, whole)
    record = {"rows": chosen.rows, "rounds": chosen.rounds, "load": os.getloadavg()[0], "passes": found}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    for name, row in found.items():
        print(f"{name:32} {row['old ms']:9.2f} {row['new ms']:9.2f} {row['ratio']:6.3f}")


if __name__ == "__main__":
    main()
