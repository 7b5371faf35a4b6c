"""`python -m tests.attacks.replay [pairs] [--jobs 2]`: neighbours by the thousand, over every method."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from collections import Counter

from tests.attacks.replay.pairs import differences, methods

SHARE = 20


def main() -> int:
    warnings.simplefilter("error")
    options = argparse.ArgumentParser(prog="python -m tests.attacks.replay")
    options.add_argument("pairs", type=int, nargs="?", default=10_000)
    options.add_argument("--jobs", type=int, default=2, help="how many processes share them")
    chosen = options.parse_args()
    names = methods()
    answers, different, tried, busy = Counter[str](), Counter[str](), Counter[str](), 0.0
    with multiprocessing.get_context("fork").Pool(chosen.jobs) as pool:
        for method, heard, unequal, seconds in pool.imap_unordered(_pair, range(chosen.pairs), SHARE):
            tried[method] += 1
            answers[method] += heard
            different[method] += unequal
            busy += seconds
            if sum(tried.values()) % 1000 == 0:
                so_far = f"{sum(tried.values())} pairs, {sum(different.values())} differ so far"
                print(f"{so_far}, {busy:,.0f} s of CPU", file=sys.stderr, flush=True)
    for method in names:
        print(f"{method:10} {tried[method]:6} pairs {answers[method]:8} answers, {different[method]} differ")
    print(f"{sum(tried.values())} pairs, {sum(answers.values())} answers, {sum(different.values())} differ")
    return 1 if sum(different.values()) else 0


def _pair(seed: int) -> tuple[str, int, int, float]:
    began = time.process_time()
    method = methods()[seed % len(methods())]
    heard, unequal = differences(seed, method)
    return method, heard, unequal, time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
