"""`python -m tests.attacks.doors [--cases N] [--seed S] [--door NAME]`: every violation, door by door."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.attacks.doors.catalogue import DOORS, cases_of
from tests.attacks.doors.engine import attack
from tests.attacks.doors.product.cases import door_of
from tests.attacks.doors.product.containers import of_kinds

SHOWN = 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.doors")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--door", default="", help="a part of the names of the doors to try")
    parser.add_argument("--kinds", nargs="+", help="of the product, these kinds of columns alone")
    parser.add_argument("--shown", type=int, default=SHOWN)
    given = parser.parse_args()
    doors = DOORS if given.kinds is None else tuple(map(door_of, of_kinds(given.kinds)))
    chosen = tuple(door for door in doors if given.door in door.name)
    tried = broken = 0
    kinds: Counter[str] = Counter()
    for door, cases in cases_of(chosen, given.cases):
        start = time.monotonic()
        tries = [attack(door, given.seed, number) for number in range(cases)]
        found = [violation for case in tries for violation in case.violations]
        refused = sum(case.refused for case in tries)
        numbers = sorted({violation.number for violation in found})
        first = f", first in case {numbers[0] + 1}" if numbers else ""
        took = time.monotonic() - start
        count = f"{cases} cases ({refused} refused by public facts), {len(numbers)} with violations{first}"
        print(f"{door.name}: {count} ({took:.1f} s)", flush=True)
        for violation in found[: given.shown]:
            print(f"  {str(violation)[:400]}")
        kinds.update(case.note.partition(",")[0] for case in tries)
        tried, broken = tried + cases, broken + len(numbers)
    print("by kind: " + ", ".join(f"{kind} {cases}" for kind, cases in kinds.most_common()))
    print(f"{tried} cases, {broken} with violations")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
