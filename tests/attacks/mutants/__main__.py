"""`python -m tests.attacks.mutants [words] [--jobs 2]`: plant every defect, or those with one of the words."""

from __future__ import annotations

import argparse
import sys

from tests.attacks.mutants import runner
from tests.attacks.mutants.catalogue import CATALOGUE


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.attacks.mutants")
    options.add_argument(
        "words", nargs="*", help="words of a defect's place or name; all defects without one"
    )
    options.add_argument("--jobs", type=int, default=2, help="how many to try at a time")
    options.add_argument("--exact", action="store_true", help="the words are whole names of defects")
    options.add_argument("--record", action="store_true", help="keep which test noticed, to begin with it")
    options.add_argument(
        "--sound", action="store_true", help="their tests must pass on the sound source, too"
    )
    chosen = options.parse_args()
    mutants = [
        mutant
        for mutant in CATALOGUE
        if not chosen.words
        or (
            mutant.name in chosen.words
            if chosen.exact
            else _holds(f"{mutant.place} {mutant.name}", chosen.words)
        )
    ]
    if chosen.sound:
        (control,) = runner.verdicts([None], 1, " ".join(sorted({mutant.tests for mutant in mutants})))
        if control.killed:
            print(f"on the sound source {control.test} fails")
            return 1
    survived, found, busy = list[str](), dict[str, str](), 0.0
    for verdict in runner.verdicts(mutants, chosen.jobs):
        mutant = verdict.mutant
        assert mutant is not None
        try:
            word = "killed  " if verdict.killed else "SURVIVED"
        except RuntimeError as error:
            word = f"NOT TRIED ({str(error).splitlines()[0]})"
        if word.strip() != "killed":
            survived.append(mutant.name)
        print(f"{word} {verdict.seconds:6.1f} s  {mutant.place}  {mutant.name}  {verdict.test}", flush=True)
        busy += verdict.seconds
        found[mutant.name] = verdict.test
    if chosen.record:
        runner.keep_killers(found)
    print(
        f"{len(mutants) - len(survived)} of {len(mutants)} killed in {busy:,.0f} s of CPU; not killed: {survived}"
    )
    return 1 if survived else 0


def _holds(text: str, words: list[str]) -> bool:
    return any(word in text for word in words)


if __name__ == "__main__":
    sys.exit(main())
