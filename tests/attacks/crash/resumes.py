"""`python -m tests.attacks.crash.resumes [kills]`: fits killed with SIGKILL at random moments and resumed.

A fit is killed and resumed until it ends by itself. Then its answers were each charged for once, its charges
are those of one run within its budget, and what was released before a kill is released after it."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger, verify
from sottovoce.data.schema import Numeric, Schema, Target
from tests.attacks.crash.kills import in_child

CAP, BUDGET = Budget(1.5, 1e-5), Budget(1.0, 1e-6)
SCHEMA = Schema((Numeric("a", 0, 1), Numeric("b", 0, 1)), Target("y", classes=(0, 1)))


def table(n: int = 3000) -> pa.Table:
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, n))
    return pa.table({"a": a, "b": b, "y": (a - b + rng.logistic(scale=0.3, size=n) > 0).astype(int)})


def fit(source: Any, path: Path, method: str, resume: str | None) -> None:
    ledger = Ledger.open(path, dataset="d")
    options: dict[str, Any] = {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta, "ledger": ledger}
    sv.fit(source, SCHEMA, method=method, resume=resume, **options).save(path.with_suffix(".json"))


def journals(path: Path) -> dict[str, list[str]]:
    """Whole lines of each run's journal, without its header."""
    found = {}
    for file in path.parent.glob("*.runs/*"):
        whole = file.read_text(encoding="ascii").rpartition("\n")[0]
        found[file.stem] = whole.split("\n")[1:] if whole else []
    return found


def until_ended(
    work: Callable[[str | None], None], path: Path, luck: random.Random, longest: float
) -> Counter[str]:
    """Kill and resume one fit until it ends by itself; what was seen."""
    seen: Counter[str] = Counter()
    while not path.with_suffix(".json").exists():
        runs = [run for run, lines in journals(path).items() if lines or _charged(path, run)]
        before = journals(path)
        child = in_child(partial(work, runs[0] if runs else None))
        time.sleep(luck.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        seen["kills" if os.WIFSIGNALED(status) else "ended"] += 1
        after = journals(path)
        seen["changed answers"] += any(
            after.get(run, [])[: len(lines)] != lines for run, lines in before.items()
        )
        longest *= 1.15
    return seen


def _charged(path: Path, run: str) -> bool:
    return any(grant.run_id == run for grant in Ledger.open(path, dataset="d").history)


def judged(path: Path, seen: Counter[str]) -> Counter[str]:
    """What must hold once the fit has ended."""
    ledger = Ledger.open(path, dataset="d")
    verify(path)
    charges = {grant.id for grant in ledger.history}
    answers = [line for lines in journals(path).values() for line in lines]
    cap = Ledger(BUDGET).units_cap
    seen["answers"] += len(answers)
    seen["charges without an answer"] += len(charges) - len(answers)
    seen["runs charged twice"] += len({grant.run_id for grant in ledger.history}) != 1
    seen["overspent"] += ledger.units_spent > cap
    seen["budget not used"] += ledger.units_spent < 0.999 * cap
    seen["fits"] += 1
    return seen


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    luck, seen = random.Random(8), Counter[str]()
    held = table()
    while seen["kills"] < kills:
        with tempfile.TemporaryDirectory() as folder:
            path, method = Path(folder) / "budget.db", luck.choice(("adapt", "majorize", "accelerate"))
            source: Any = held
            if seen["fits"] % 2:
                source = Path(folder) / "rows.parquet"
                pq.write_table(held, source)
            Ledger.create(path, dataset="d", cap=CAP)
            seen += judged(path, until_ended(lambda run: fit(source, path, method, run), path, luck, 1.0))  # noqa: B023
    print(dict(seen))
    wrong = (
        "changed answers",
        "charges without an answer",
        "runs charged twice",
        "overspent",
        "budget not used",
    )
    return int(any(seen[name] for name in wrong))


if __name__ == "__main__":
    sys.exit(main())
