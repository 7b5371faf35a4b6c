"""`python -m tests.attacks.defects [2000] [--first 0] [--jobs 2] [--kept FILE] [--record]`: outside the base.

Defects have numbers and each is drawn by its own. With `--kept`, a line is added to the file for each; what
is there of the same commit, seed and time is not tried again, so a study can be interrupted, or run in parts.
With `--record`, what the file or this run holds is written by room to benchmarks/results/defects.json."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.attacks.defects.base import files
from tests.attacks.defects.machine import ROOT, SECONDS, Machine, Verdict

RECORD = ROOT / "benchmarks" / "results" / "defects.json"


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.attacks.defects")
    options.add_argument("count", type=int, nargs="?", default=2000)
    options.add_argument("--first", type=int, default=0, help="number of the first defect")
    options.add_argument("--jobs", type=int, default=2, help="how many to try at a time")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--seconds", type=float, default=SECONDS, help="of the processor for one defect")
    options.add_argument("--root", type=Path, default=ROOT, help="another checkout, whose source is attacked")
    options.add_argument("--kept", type=Path, help="a file of one line a defect, to go on with")
    options.add_argument("--record", action="store_true", help=f"write what was found to {RECORD.name}")
    chosen = options.parse_args()
    run = {"commit": commit(chosen.root), "seed": chosen.seed, "seconds": chosen.seconds}
    found = kept(chosen.kept, run)
    done = {line["number"] for line in found}
    numbers = [number for number in range(chosen.first, chosen.first + chosen.count) if number not in done]
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
    for verdict in machine.verdicts(machine.sample(numbers, chosen.seed)):
        line = {**run, **as_line(verdict)}
        found.append(line)
        if chosen.kept is not None:
            with chosen.kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        if line["broke"] or line["failed"].startswith("Traceback"):
            print(f"{line['file']} {line['said']}\n    {line['broke'] or line['failed']}", flush=True)
    if chosen.record:
        held = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
        numbered = {"seed": run["seed"], "seconds": run["seconds"], "places": places, "met": met}
        held[run["commit"]] = {**numbered, **record(found)}
        RECORD.write_text(json.dumps(held, indent=1) + "\n", "utf-8")
    print(report(found))
    return 1 if any(line["broke"] for line in found) else 0


def commit(root: Path) -> str:
    """The commit that is checked out there."""
    asked = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def kept(file: Path | None, run: dict[str, Any]) -> list[dict[str, Any]]:
    """Lines of the same run."""
    if file is None or not file.exists():
        return []
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [line for line in lines if all(line[name] == value for name, value in run.items())]


def as_line(verdict: Verdict) -> dict[str, Any]:
    site = verdict.defect.site
    return {
        "number": verdict.defect.number,
        "file": site.file,
        "said": f"{site.function} {verdict.defect.said}",
        "tried": verdict.tried,
        "changed": verdict.changed,
        "broke": verdict.broke,
        "failed": verdict.failed,
    }


def record(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How many were planted, changed behaviour and broke the promise, by room, and which broke it."""
    rooms: dict[str, list[dict[str, Any]]] = {}
    for line in found:
        rooms.setdefault(line["file"].partition("/")[0].removesuffix(".py"), []).append(line)
    return {
        "together": _counts(found),
        "rooms": {room: _counts(rooms[room]) for room in sorted(rooms)},
        "broken": [f"{line['file']} {line['said']}: {line['broke']}" for line in found if line["broke"]],
    }


def _counts(found: list[dict[str, Any]]) -> dict[str, int]:
    return {
        "planted": len(found),
        "changed": sum(line["changed"] for line in found),
        "broke": sum(bool(line["broke"]) for line in found),
    }


def report(found: list[dict[str, Any]]) -> str:
    """A table by room: planted, changed behaviour, broke the promise."""
    rows = ["| room | planted | changed behaviour | broke the promise |", "| --- | ---: | ---: | ---: |"]
    held = record(found)
    for room, counts in {**held["rooms"], "together": held["together"]}.items():
        rows.append(f"| {room} | {' | '.join(f'{count:,}' for count in counts.values())} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
