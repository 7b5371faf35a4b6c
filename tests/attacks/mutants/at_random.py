"""`python -m tests.attacks.mutants.at_random [100] [--first 0] [--kept FILE]`: defects at random inside the base.

The catalogue holds defects that somebody thought of. These are planted by syntax tree anywhere in `trusted`,
`privacy` and `kernels`, one place a number; the tests that the catalogue names for the file must fail, then
those of its room. What survives is listed, to be judged: the same behaviour, or a hole in the tests."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.attacks.defects.planting import Defect, planted, sites
from tests.attacks.mutants import runner
from tests.attacks.mutants.catalogue import CATALOGUE
from tests.attacks.mutants.harness import SOURCE

ROOMS = ("trusted", "privacy", "kernels")
LEFT_OUT = ("__init__.py", "vocabulary.py")
"""Nothing to change, or names alone."""

OF_ROOM = {
    "trusted": "tests/trusted tests/attacks/test_lies.py tests/privacy/test_sensitivity_is_attained.py",
    "privacy": "tests/privacy tests/attacks/test_lies.py",
    "kernels": "tests/kernels tests/trusted/test_compiled.py tests/models",
}


@dataclass(frozen=True)
class Planted:
    """A defect as `runner` takes one."""

    defect: Defect
    tests: str

    @property
    def name(self) -> str:
        site = self.defect.site
        return f"{self.defect.number}: {site.file} {site.function} {self.defect.said}"

    @property
    def file(self) -> str:
        return self.defect.site.file

    def planted(self) -> str:
        return self.defect.code


def sample(numbers: list[int], seed: int) -> Iterator[Planted]:
    files = [
        path.relative_to(SOURCE).as_posix()
        for room in ROOMS
        for path in sorted((SOURCE / room).rglob("*.py"))
        if path.name not in LEFT_OUT
    ]
    named: dict[str, list[str]] = {}
    for mutant in CATALOGUE:
        named.setdefault(mutant.file, []).append(mutant.tests.partition(" -k")[0])
    for number in numbers:
        draw = Random(f"{seed} {number}")
        file = draw.choice(files)
        text = (SOURCE / file).read_text("utf-8")
        defect = planted(draw.choice(sites(file, text)), text, draw)
        own = dict.fromkeys(" ".join(named.get(file, [])).split())
        tests = " ".join([*own, OF_ROOM[file.partition("/")[0]]])
        yield Planted(Defect(defect.site, defect.code, defect.said, number), tests)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.attacks.mutants.at_random")
    options.add_argument("count", type=int, nargs="?", default=100)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--kept", type=Path, help="a file of one line a defect, to go on with")
    chosen = options.parse_args()
    held = chosen.kept.read_text("utf-8").splitlines() if chosen.kept and chosen.kept.exists() else []
    done = {json.loads(line)["number"] for line in held}
    numbers = [one for one in range(chosen.first, chosen.first + chosen.count) if one not in done]
    survived, tried = 0, 0
    mutants: Any = sample(numbers, chosen.seed)
    for verdict in runner.verdicts(mutants, chosen.jobs):
        mutant: Any = verdict.mutant
        killed = verdict.code != 0
        tried, survived = tried + 1, survived + (not killed)
        line = {"number": mutant.defect.number, "name": mutant.name, "killed": killed, "test": verdict.test}
        print(f"{'killed  ' if killed else 'SURVIVED'} {verdict.seconds:6.1f} s  {mutant.name}", flush=True)
        if chosen.kept:
            with chosen.kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    print(f"{tried - survived} of {tried} killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
