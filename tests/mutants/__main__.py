"""`python -m tests.mutants`: plant every defect and print the score."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.catalogue import CATALOGUE
from tests.mutants.harness import killed


def main() -> int:
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(killed, CATALOGUE))
    for mutant, dead in zip(CATALOGUE, verdicts, strict=True):
        print(f"{'killed  ' if dead else 'SURVIVED'}  {mutant.file:24} {mutant.name}")
    print(f"{sum(verdicts)} of {len(CATALOGUE)} killed")
    return 0 if all(verdicts) else 1


sys.exit(main())
