"""First reading of Parquet and CSV beside polars, which sums the same columns.

    BENCH_FOLDER=/a/folder python -m benchmarks.reading [ROWS] [ROUNDS]

takes the made-up table of `benchmarks.fronts` (2 x 10^6 rows if not told), as Parquet and as CSV, and reads
it in fresh processes by turns: `Records.from_parquet` and `Records.from_table`, which encode, bound and keep
every cell by itself, and polars' sum of all columns. Printed: the least wall time of the rounds, imports left
out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.fronts import NUMBERS, SCHEMA, write

ROWS, ROUNDS = 2 * 10**6, 3
TIMED = "import time; started = time.monotonic(); {work}; print(time.monotonic() - started)"
READS = {
    "Parquet, ours": "import sottovoce as sv, numba",
    "Parquet, polars": "import polars as pl",
    "CSV, ours": "import sottovoce as sv, numba",
    "CSV, polars": "import polars as pl",
}


def works(parquet: Path, csv: Path, schema: Path) -> dict[str, str]:
    columns = [*NUMBERS, "area", "kind", "y"]
    return {
        "Parquet, ours": f"sv.Records.from_parquet({str(parquet)!r}, schema={str(schema)!r})",
        "Parquet, polars": f"pl.scan_parquet({str(parquet)!r}).select(pl.col({columns!r}).sum()).collect()",
        "CSV, ours": f"sv.Records.from_table({str(csv)!r}, schema={str(schema)!r})",
        "CSV, polars": f"pl.scan_csv({str(csv)!r}).select(pl.col({columns!r}).sum()).collect()",
    }


def main() -> None:
    import polars as pl

    n = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    folder = Path(os.environ.get("BENCH_FOLDER", tempfile.gettempdir()))
    parquet, csv, schema = (folder / f"fronts-{n}{end}" for end in (".parquet", ".csv", ".toml"))
    schema.write_text(SCHEMA.to_toml(), encoding="utf-8")
    if not parquet.exists():
        write(parquet, n)
    if not csv.exists():
        pl.scan_parquet(parquet).sink_csv(csv)
    taken: dict[str, list[float]] = {name: [] for name in READS}
    for _ in range(rounds):
        for name, work in works(parquet, csv, schema).items():
            command = [sys.executable, "-c", f"{READS[name]}; {TIMED.format(work=work)}"]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            taken[name].append(float(told.split()[-1]))
    best = {name: min(found) for name, found in taken.items()}
    for name, seconds in best.items():
        beside = best[name.replace("ours", "polars")]
        print(f"{name:16} {seconds:7.2f} s, {seconds / beside:5.2f} times polars' sum")
    print(f"{n} rows, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
