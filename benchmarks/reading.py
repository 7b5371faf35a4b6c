"""First reading of Parquet and CSV beside polars, which sums the same columns.

    BENCH_FOLDER=/a/folder python -m benchmarks.reading [ROWS] [ROUNDS]

takes the made-up table of `benchmarks.fronts` (2 x 10^6 rows if not told), as Parquet and as CSV, and reads
it in fresh processes by turns: `Records.from_parquet` and `Records.from_table`, which encode, bound and keep
every cell by itself, and polars' sum of all columns. Printed: the least time of the rounds, imports left out,
of the first reading, which loads machine code kept on disk, and of a second one in the same process, which
does not; by the wall, and by the processors for ours beside polars, which a busy machine disturbs less.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.fronts import NUMBERS, SCHEMA, write

ROWS, ROUNDS = 2 * 10**6, 3
TIMED = """
import time
for _ in range(2):
    wall, cpu = time.monotonic(), time.process_time()
    {work}
    print(time.monotonic() - wall, time.process_time() - cpu)
"""
TURNS = ("first", "second")
READS = {
    "Parquet, ours": "import numba, pyarrow.parquet, sottovoce as sv; sv.Records",
    "Parquet, polars": "import polars as pl",
    "CSV, ours": "import numba, pyarrow.csv, pyarrow.compute, sottovoce as sv; sv.Records",
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
    taken: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for _ in range(rounds):
        for name, work in works(parquet, csv, schema).items():
            command = [sys.executable, "-c", f"{READS[name]}\n{TIMED.format(work=work)}"]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for turn, line in zip(TURNS, told.splitlines(), strict=True):
                taken.setdefault((name, turn), []).append(tuple(map(float, line.split())))
    best = {name: np.min(found, axis=0) for name, found in taken.items()}
    for (name, turn), found in best.items():
        ratios = found / best[name.replace("ours", "polars"), turn]
        print(
            f"{name:16} {turn:7} {found[0]:7.3f} s, {found[1]:7.3f} of processors: {ratios[0]:5.2f} and "
            f"{ratios[1]:5.2f} times polars' sum"
        )
    print(f"{n} rows, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
