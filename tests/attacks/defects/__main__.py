"""`python -m tests.attacks.defects [2000] [--jobs 2] [--seed 0] [--root path] [--record]`: outside the base.

With `--record`, benchmarks/results/defects.json is written as they are found, under the commit attacked."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.attacks.defects.base import files
from tests.attacks.defects.machine import ROOT, SECONDS, Machine, Verdict, record, report

RECORD = ROOT / "benchmarks" / "results" / "defects.json"


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.attacks.defects")
    options.add_argument("count", type=int, nargs="?", default=2000)
    options.add_argument("--jobs", type=int, default=2, help="how many to try at a time")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--seconds", type=float, default=SECONDS, help="of the processor for one defect")
    options.add_argument("--root", type=Path, default=ROOT, help="another checkout, whose source is attacked")
    options.add_argument(
        "--record", type=Path, nargs="?", const=RECORD, help="write what was found by room to this file"
    )
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
        if chosen.record is not None and (len(found) % 50 == 0 or len(found) == chosen.count):
            kept = {"seed": chosen.seed, "seconds": chosen.seconds, "places": places, "met": met}
            write(chosen.record, commit(chosen.root), {**kept, **record(found)})
        if len(found) % 200 == 0:
            print(
                f"{len(found)} planted, {sum(bool(one.broke) for one in found)} broke",
                file=sys.stderr,
                flush=True,
            )
    print(report(found))
    return 1 if any(verdict.broke for verdict in found) else 0


def commit(root: Path) -> str:
    """The commit that is checked out there."""
    asked = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def write(file: Path, commit: str, found: dict[str, Any]) -> None:
    """Beside what was recorded of other commits."""
    kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
    file.write_text(json.dumps({**kept, commit: found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
