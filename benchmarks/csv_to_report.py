"""From a CSV file of 500,000 rows and 12 columns to a model and its report: seconds and peak memory.

    python -m benchmarks.csv_to_report [rows]

The file is the made-up one of benchmarks.csv. `sottovoce fit` runs as a user runs it, in a process of its
own, ledger included; the promise is under 30 seconds and 1.5 GB.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.csv import ROWS, SCHEMA, write

MOST_SECONDS = 30.0
MOST_MEGABYTES = 1536.0


def run(folder: Path, *arguments: str) -> float:
    """Seconds a command took; its failure is ours."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "sottovoce", *arguments], check=True, cwd=folder)
    return time.perf_counter() - start


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # in a process of its own: a child's memory is never counted below its parent's at the fork
        subprocess.run(
            [sys.executable, "-m", "benchmarks.csv_to_report", "--write", name, str(rows)], check=True
        )
        budget = ("--epsilon", "1", "--delta", "1e-6")
        run(folder, "ledger", "create", "budget.db", "--dataset", "claims", *budget)
        seconds = run(
            folder,
            *("fit", "data.csv", "--schema", "schema.toml", *budget, "--inference", "0.3"),
            *("--ledger", "budget.db", "--dataset", "claims", "-o", "model.json", "--report", "report.html"),
        )
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10
        page = (folder / "report.html").stat().st_size / 2**10
    print(f"{rows:,} rows: {seconds:.1f} s, peak memory {peak:.0f} MB, report {page:.0f} kB")
    if rows <= ROWS and (seconds > MOST_SECONDS or peak > MOST_MEGABYTES):
        sys.exit(f"slower than {MOST_SECONDS:g} s or larger than {MOST_MEGABYTES:g} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]) / "data.csv", int(sys.argv[3]))
        (Path(sys.argv[2]) / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    else:
        main()
