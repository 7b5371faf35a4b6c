"""`python -m tests.attacks.replay [pairs]`: neighbours by the thousand, over every method in turn."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import sys
import warnings
from collections import Counter

from tests.attacks.replay.pairs import differences, methods


def main() -> int:
    warnings.simplefilter("error")
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    names = methods()
    answers, different, tried = Counter[str](), Counter[str](), Counter[str]()
    for seed in range(pairs):
        method = names[seed % len(names)]
        heard, unequal = differences(seed, method)
        tried[method] += 1
        answers[method] += heard
        different[method] += unequal
        if (seed + 1) % 1000 == 0:
            print(f"{seed + 1} pairs, {sum(different.values())} differ so far", file=sys.stderr, flush=True)
    for method in names:
        print(f"{method:10} {tried[method]:6} pairs {answers[method]:8} answers, {different[method]} differ")
    print(f"{sum(tried.values())} pairs, {sum(answers.values())} answers, {sum(different.values())} differ")
    return 1 if sum(different.values()) else 0


sys.exit(main())
