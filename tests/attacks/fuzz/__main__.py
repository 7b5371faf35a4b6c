"""`python -m tests.attacks.fuzz [inputs] [door]`: 20,000 inputs at each entry point."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from tests.attacks.fuzz.doors import DOORS


def main() -> int:
    inputs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    chosen = {name: door for name, door in DOORS.items() if len(sys.argv) < 3 or sys.argv[2] in name}
    warnings.simplefilter("error")
    findings = 0
    for number, (name, door) in enumerate(DOORS.items()):
        if name not in chosen:
            continue
        seen = Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            for trial in range(inputs):
                try:
                    door(np.random.default_rng([number, trial]), Path(folder))
                except Exception as finding:
                    where = traceback.extract_tb(finding.__traceback__)[-1]
                    seen[f"{type(finding).__name__}: {finding} ({where.filename}:{where.lineno})"] += 1
        print(f"{name}: {inputs} inputs, {sum(seen.values())} findings", flush=True)
        for text, count in seen.most_common(20):
            print(f"  {count} x {text[:300]}")
        findings += sum(seen.values())
    print(f"{findings} findings")
    return 1 if findings else 0


sys.exit(main())
