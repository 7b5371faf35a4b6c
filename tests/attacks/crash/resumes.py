"""`python -m tests.attacks.crash.resumes [kills] [seed]`: runs killed with SIGKILL at any time and resumed.

A fit, evaluation, recalibration or search is killed and resumed until it ends by itself: at a time drawn
between its start and the time that one takes which nobody kills. Then its answers were each charged for once,
its charges are those of one run within its budget and come to what the other was charged, and what was
released before a kill is released after it."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.accounting import Budget, Ledger, verify
from sottovoce.accounting.resuming import part_of
from sottovoce.data.schema import Numeric, Schema, Target
from tests.attacks.crash.kills import in_child

CAP, BUDGET = Budget(1.5, 1e-5), Budget(1.0, 1e-6)
SCHEMA = Schema((Numeric("a", 0, 1), Numeric("b", 0, 1)), Target("y", classes=(0, 1)))


def table(n: int = 3000) -> pa.Table:
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, n))
    return pa.table({"a": a, "b": b, "y": (a - b + rng.logistic(scale=0.3, size=n) > 0).astype(int)})


@dataclass(frozen=True)
class Case:
    """What is killed: a command of the library, where its rows are, and by which method it fits."""

    front: str
    place: str
    method: str = ""

    def __str__(self) -> str:
        return f"{self.front}, {self.place}"


CASES = (
    *(Case("fit", place, method) for place in ("memory", "Parquet") for method in ("adapt", "majorize")),
    Case("fit", "Dask", "majorize"),
    *(Case(front, place) for front in ("evaluate", "recalibrate") for place in ("memory", "Parquet")),
    Case("search", "memory"),
)
SETTINGS = {"strength": [1e-6, 1e-3]}


def work(case: Case, source: Any, scheduler: str, model: sv.Model, path: Path, resume: str | None) -> None:
    """One attempt, which leaves a file when it ends by itself."""
    ledger = Ledger.open(path, dataset="d")
    done = path.with_suffix(".json")
    if case.front == "evaluate":
        found = evaluation.evaluate(model, source, budget=BUDGET, ledger=ledger, resume=resume)
        done.write_text(repr(found.accuracy.value))
    elif case.front == "recalibrate":
        model.recalibrated(source, budget=BUDGET, ledger=ledger, resume=resume).save(done)
    elif case.front == "search":
        X, y = np.column_stack([source["a"], source["b"]]) - 0.5, source["y"].to_numpy()
        part = sv.PrivateClassifier(radius=1.0, classes=(0, 1), method="majorize")
        terms: dict[str, Any] = {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta, "ledger": ledger}
        found = sv.PrivateSearch(part, SETTINGS, **terms).fit(X, y, resume=resume)
        done.write_text(repr(found.best_index_))
    else:
        options: dict[str, Any] = {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta, "ledger": ledger}
        if case.place == "Dask":
            options["reading"] = sv.ReadOptions(dask=scheduler)
        sv.fit(source, SCHEMA, method=case.method, resume=resume, **options).save(done)


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A scheduler and a worker that outlive whoever is killed; the scheduler's address."""
    told = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    parts = [
        subprocess.Popen([*called, "--scheduler-file", str(told), "--no-dashboard", *options], **quiet)
        for called, options in (
            ([sys.executable, "-m", "distributed.cli.dask_scheduler"], ["--port", "0"]),
            ([sys.executable, "-m", "distributed.cli.dask_worker"], ["--nthreads", "1"]),
        )
    ]
    try:
        for _ in range(600):
            if told.exists() and told.read_text():
                break
            time.sleep(0.1)
        yield json.loads(told.read_text())["address"]
    finally:
        for part in parts:
            part.terminate()
            part.wait()


def journals(path: Path) -> dict[str, list[str]]:
    """Whole lines of each run's journal, without its header."""
    found = {}
    for file in path.parent.glob("*.runs/*"):
        whole = file.read_text(encoding="ascii").rpartition("\n")[0]
        found[file.stem] = whole.split("\n")[1:] if whole else []
    return found


def begun(path: Path) -> str | None:
    """The run that the ledger names first, of a search the whole, once its journal can be gone on with."""
    runs = [run.identity for run in verify(path).runs]
    return next((run for run in runs if run in journals(path)), None)


def until_ended(
    work: Callable[[str | None], None], path: Path, luck: random.Random, longest: float
) -> Counter[str]:
    """Kill and resume one run until it ends by itself; what was seen."""
    seen: Counter[str] = Counter()
    while not path.with_suffix(".json").exists():
        before, run = journals(path), begun(path)
        child = in_child(partial(work, run))
        time.sleep(luck.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        seen["kills" if os.WIFSIGNALED(status) else "failed" if status else "ended first"] += 1
        if seen["failed"] > 3:
            break
        after = journals(path)
        seen["changed answers"] += any(
            after.get(run, [])[: len(lines)] != lines for run, lines in before.items()
        )
        longest *= 1.05
    return seen


def undisturbed(work: Callable[[str | None], None], path: Path) -> tuple[float, int]:
    """Seconds that a run takes which nobody kills, and what it is charged."""
    started = time.monotonic()
    _, status = os.waitpid(in_child(partial(work, None)), 0)
    assert status == 0
    return time.monotonic() - started, Ledger.open(path, dataset="d").units_spent


def judged(path: Path, seen: Counter[str], usual: int) -> Counter[str]:
    """What must hold once the run has ended; `usual` is the charge of one that nobody killed."""
    ledger, whole = Ledger.open(path, dataset="d"), verify(path).runs[0].identity
    charges = {grant.id for grant in ledger.history}
    answers = [line for lines in journals(path).values() for line in lines]
    cap = Ledger(BUDGET).units_cap
    its_own = {whole, *(part_of(whole, place) for place in range(len(SETTINGS["strength"])))}
    seen["answers"] += len(answers)
    seen["charges without an answer"] += len(charges) - len(answers)
    seen["runs charged twice"] += not {grant.run_id for grant in ledger.history} <= its_own
    seen["overspent"] += ledger.units_spent > cap
    seen["charged otherwise"] += abs(ledger.units_spent - usual) > 1e-3 * cap
    seen["ended runs"] += 1
    return seen


WRONG = (
    "failed",
    "changed answers",
    "charges without an answer",
    "runs charged twice",
    "overspent",
    "charged otherwise",
)


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    luck, seen, held = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 8), Counter[str](), table()
    model = sv.fit(held, SCHEMA, epsilon=BUDGET.epsilon, delta=BUDGET.delta, method="majorize", simulate=0)
    with tempfile.TemporaryDirectory() as common, cluster(Path(common)) as scheduler:
        for case in itertools.cycle(luck.sample(CASES, len(CASES))):
            if seen["kills"] >= kills:
                break
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "rows.parquet"
                pq.write_table(held, source)
                rows = held if case.place == "memory" else source
                paths = [Path(folder) / f"{name}.db" for name in ("calm", "budget")]
                for path in paths:
                    Ledger.create(path, dataset="d", cap=CAP)
                calm, once = (partial(work, case, rows, scheduler, model, path) for path in paths)
                seconds, usual = undisturbed(calm, paths[0])
                shutil.rmtree(f"{paths[0]}.runs")
                found = judged(paths[1], until_ended(once, paths[1], luck, seconds), usual)
                found[f"kills of {case}"] = found["kills"]
                seen += found
                print(dict(found), flush=True)
    print(dict(seen))
    return int(any(seen[name] for name in WRONG))


if __name__ == "__main__":
    sys.exit(main())
