"""`python -m tests.attacks.defects [2000] [--jobs 2] [--seed 0] [--root path]`: defects outside the base."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.attacks.defects.base import files
from tests.attacks.defects.machine import ROOT, SECONDS, Machine, Verdict, report


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.attacks.defects")
    options.add_argument("count", type=int, nargs="?", default=2000)
    options.add_argument("--jobs", type=int, default=2, help="how many to try at a time")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--seconds", type=float, default=SECONDS, help="of the processor for one defect")
    options.add_argument("--root", type=Path, default=ROOT, help="another checkout, whose source is attacked")
    chosen = options.parse_args()
    machine = Machine(
        chosen.root / "src" / "sottovoce",
        files(chosen.root),
        many=True,
        jobs=chosen.jobs,
        seconds=chosen.seconds,
    )
    places, met = machine.reach()
    print(
        f"{len(machine.sound.seen)} attacks; {met:,} of {places:,} places outside the base are met",
        flush=True,
    )
    found: list[Verdict] = []
    for verdict in machine.verdicts(machine.sample(chosen.count, chosen.seed)):
        found.append(verdict)
        if verdict.broke or verdict.failed.startswith("Traceback"):
            site = verdict.defect.site
            print(
                f"{site.file} {site.function} {verdict.defect.said}\n    {verdict.broke or verdict.failed}",
                flush=True,
            )
        if len(found) % 200 == 0:
            print(
                f"{len(found)} planted, {sum(bool(one.broke) for one in found)} broke",
                file=sys.stderr,
                flush=True,
            )
    print(report(found))
    return 1 if any(verdict.broke for verdict in found) else 0


if __name__ == "__main__":
    sys.exit(main())
