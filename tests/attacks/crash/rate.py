"""`python -m tests.attacks.crash.rate [seconds] [processes]`: runs that reserve and charge at once.

Each process starts a run, is charged for some answers and ends it, over and over. Afterwards the file is
verified and every grant is in it once. Printed: charges a second and how long one took; say the load."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, verify
from sottovoce.errors import BudgetExceeded
from tests.attacks.crash.kills import in_child

CAP, EACH, ANSWERS = Budget(8.0, 1e-6), Budget(0.01, 1e-6), 20


def spend(path: Path, place: Path, until: float) -> None:
    """Runs and charges until then; how long each charge and each start took."""
    ledger = Ledger.open(path, dataset="d")
    charges, starts, refused = list[float](), list[float](), 0
    while time.monotonic() < until:
        begun = time.monotonic()
        try:
            run = ledger.start(EACH, "run", entries=60)
        except BudgetExceeded:
            refused += 1
            continue
        starts.append(time.monotonic() - begun)
        with run:
            mu = run.currency.mu_squared(run.units_cap // ANSWERS) ** 0.5
            for _ in range(ANSWERS):
                begun = time.monotonic()
                run.charge(GaussianEvent(QueryKind.GRADIENT, mu, 1.0, 3, 0.0))
                charges.append(time.monotonic() - begun)
    place.write_text(json.dumps([charges, starts, refused]))


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        Ledger.create(path, dataset="d", cap=CAP)
        until = time.monotonic() + seconds
        places = [Path(folder) / f"{number}.json" for number in range(processes)]
        children = [in_child(lambda place=place: spend(path, place, until)) for place in places]  # type: ignore[misc]
        failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
        found = [json.loads(place.read_text()) for place in places]
        charges = np.concatenate([part[0] for part in found])
        starts = np.concatenate([part[1] for part in found])
        history = Ledger.open(path, dataset="d").history
        verify(path)
        kept = len({grant.id for grant in history}) == len(history) == charges.size
    for name, taken in (("charges", charges), ("starts with a reservation", starts)):
        middle, late = 1000.0 * np.quantile(taken, (0.5, 0.99))
        print(f"{name}: {taken.size / seconds:.0f} a second, p50 {middle:.1f} ms, p99 {late:.0f} ms")
    refused = sum(part[2] for part in found)
    print(f"{processes} processes, {seconds:g} s, load {os.getloadavg()[0]:.1f}; refused {refused} starts")
    print(f"every charge is in the file once: {kept}; processes that failed: {failed}")
    return int(failed > 0 or not kept)


if __name__ == "__main__":
    sys.exit(main())
