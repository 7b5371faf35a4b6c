"""`python -m tests.attacks.mutants [word]`: plant every defect, or those with the word; print the score."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.attacks.mutants.catalogue import CATALOGUE
from tests.attacks.mutants.harness import killed


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [mutant for mutant in CATALOGUE if word in f"{mutant.file} {mutant.name}"]
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(killed, chosen))
    for mutant, dead in zip(chosen, verdicts, strict=True):
        print(f"{'killed  ' if dead else 'SURVIVED'}  {mutant.file:24} {mutant.name}")
    print(f"{sum(verdicts)} of {len(chosen)} killed")
    return 0 if all(verdicts) else 1


sys.exit(main())
