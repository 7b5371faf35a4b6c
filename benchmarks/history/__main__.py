"""`python -m benchmarks.history check | record`: compare ratios with the last kept, or keep them.

`check` measures the passes up to three times; a pass that is worse than last time by more than the tolerance
each time makes it exit with 1. `record` appends its ratios to ratios.jsonl. Both refuse a busy machine, where
the yardstick suffers most and every ratio looks small.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from typing import Any

from benchmarks.compact import compact
from benchmarks.history.entries import TOLERANCE, Entry, last_on, read, regressions, write
from benchmarks.kernels import losses
from sottovoce.planning import bench

ATTEMPTS = 3
BUSY = 1.0
"""Load before measuring from which ratios do not compare."""


def measured(rounds: int) -> Entry:
    timings = bench.run(rounds)
    facts: dict[str, Any] = {name: timings.facts[name] for name in ("processor", "threads", "load")}
    ratios = losses(rounds)["ratios"] | compact(rounds)["ratios"] | timings.ratios
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    when = time.strftime("%Y-%m-%d %H:%M")
    return Entry(commit.stdout.strip(), when, ratios={n: r for n, r in ratios.items() if r != 1.0}, **facts)


def check(rounds: int) -> int:
    found = measured(rounds)
    last = last_on(read(), found)
    if last is None:
        print(f"no measurement of this processor with {found.threads} threads is kept; `record` one")
        return 0
    for _ in range(ATTEMPTS - 1):
        if not regressions(last, found):
            break
        found = found.best(measured(rounds))
    worse = regressions(last, found)
    for name, ratio in found.ratios.items():
        before = last.ratios.get(name)
        mark = "  WORSE" if name in worse else ""
        print(f"{name:34} {ratio:7.2f}x   {'new' if before is None else f'{before:7.2f}x'}{mark}")
    print(f"{len(worse)} worse by more than {TOLERANCE:.0%} than at {last.commit} ({last.measured})")
    return 1 if worse else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history", description=__doc__)
    parser.add_argument("act", choices=["check", "record"])
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if os.getloadavg()[0] >= BUSY:
        print(f"the machine is busy (load {os.getloadavg()[0]:.1f}): ratios would not compare")
        return 2
    if asked.act == "check":
        return check(asked.rounds)
    write(measured(asked.rounds))
    return 0


sys.exit(main())
