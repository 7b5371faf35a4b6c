"""How long a CSV of 500,000 rows and 12 columns takes to read and encode, and the memory it needs.

    python -m benchmarks.csv [rows]

The file is made up and lies in a temporary folder; reading runs in a fresh process, whose peak memory counts.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sottovoce.data.schema import Categorical, Numeric, Schema, Target

ROWS = 500_000
REGIONS = tuple(f"region {number}" for number in range(20))
SCHEMA = Schema(
    (
        *(Numeric(f"measure_{number}", -4.0, 4.0) for number in range(8)),
        Categorical("region", REGIONS),
        Categorical("product", (1, 2, 3, 4, 5)),
        Categorical("member", (True, False)),
    ),
    Target("claims", ("no", "yes")),
)


def write(path: Path, rows: int) -> None:
    """Numbers with six digits, texts, small integers, booleans and a label a line."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((rows, 8)).round(6)
    columns = {f"measure_{number}": numbers[:, number] for number in range(8)}
    table = pa.table(
        {
            **columns,
            "region": np.array(REGIONS)[rng.integers(0, 20, rows)],
            "product": rng.integers(1, 6, rows),
            "member": rng.random(rows) < 0.5,
            "claims": np.where(numbers[:, 0] + 0.5 * rng.standard_normal(rows) > 0, "yes", "no"),
        }
    )
    csv.write_csv(table, path)


def measure(path: str) -> None:
    """Import, read, and say what it took."""
    start = time.perf_counter()
    from sottovoce.data import files as tables

    table = tables.read(path, SCHEMA)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    held = table.features.nbytes / 2**20
    print(f"{table!r}: {seconds:.2f} s, peak memory {peak:.0f} MB, of which encoded rows {held:.0f} MB")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        write(path, rows)
        print(f"{rows} rows, 12 columns, {path.stat().st_size / 2**20:.0f} MB of CSV")
        subprocess.run([sys.executable, "-m", "benchmarks.csv", "--read", str(path)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        measure(sys.argv[2])
    else:
        main()
