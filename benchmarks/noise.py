"""`python -m benchmarks.noise`: exact noise for a million entries, and a cold import beside that of NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from sottovoce.privacy.sampling import discrete_gaussian

ENTRIES = 1_000_000


def seconds_of(code: str) -> float:
    """Least of five fresh interpreters."""

    def once() -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - began

    return min(once() for _ in range(5))


def main() -> None:
    runs = []
    for _ in range(5):
        began = time.perf_counter()
        discrete_gaussian(2.0**38, ENTRIES, os.urandom)
        runs.append(time.perf_counter() - began)
    print(f"{ENTRIES} entries of exact noise: {min(runs):.3f} to {max(runs):.3f} s")
    plain = seconds_of("import numpy")
    print(f"import sottovoce: {seconds_of('import sottovoce') / plain:.2f} of import numpy ({plain:.3f} s)")


if __name__ == "__main__":
    main()
