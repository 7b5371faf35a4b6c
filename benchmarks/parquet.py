"""Covertype's schema from Parquet, as many rows as asked for, fitted by the default method.

    BENCH_FOLDER=/a/folder python -m benchmarks.parquet [ROWS [MODEL]]

writes ROWS records (10^8 if not told: rows of Covertype drawn again and again, each number moved a little; a
file of 10^7 of them, under as many names as are needed), reads and fits them in a fresh process, and prints
seconds to read, seconds a pass, the whole, and peak memory. Files stay in the folder for the next run. With
a MODEL (additive, auto), `sv.fit` fits that, reading included.

    python -m benchmarks.parquet read FOLDER [MODEL]

is the child's part.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from benchmarks.memory import peak_memory
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.datasets import covertype

ROWS = 10**8
GROUP = 2**20
LARGEST = 10**7
"""Rows of one file."""

PASSES = 5


def schema() -> Schema:
    """Declared bounds of the ten numbers, four areas and forty soils; two kinds of cover."""
    bounds = zip(covertype.NUMERIC, covertype.MINIMUM, covertype.MAXIMUM, strict=True)
    columns = [Numeric(name, low, high) for name, low, high in bounds]
    areas = Categorical("Wilderness", tuple(range(covertype.WILDERNESS_AREAS)))
    soils = Categorical("Soil", tuple(range(covertype.SOIL_TYPES)))
    return Schema((*columns, areas, soils), Target("Cover", classes=(1, 2)))


def write(path: Path, n: int) -> None:
    """n records in groups of a million, in the types that the numbers have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = covertype.load().two_classes()
    rng = np.random.default_rng(0)
    writer = None
    partial = path.with_suffix(".part")
    for start in range(0, n, GROUP):
        chosen = rng.integers(0, table.cover.size, min(GROUP, n - start))
        moved = table.numeric[chosen] + rng.integers(-5, 6, (chosen.size, len(covertype.NUMERIC)))
        columns: dict[str, Any] = {
            name: np.ascontiguousarray(moved[:, place], dtype=np.int16)
            for place, name in enumerate(covertype.NUMERIC)
        }
        columns |= {"Wilderness": table.wilderness[chosen].astype(np.int8)}
        columns |= {"Soil": table.soil[chosen].astype(np.int8), "Cover": table.cover[chosen].astype(np.int8)}
        group = pa.table(columns)
        writer = writer or pq.ParquetWriter(partial, group.schema, compression="snappy")
        writer.write_table(group, row_group_size=GROUP)
    assert writer is not None
    writer.close()
    partial.rename(path)


def written(folder: Path, n: int) -> Path:
    """A folder with n records, made of one file that has several names."""
    part, path = folder / f"part-{min(n, LARGEST)}.parquet", folder / f"covertype-{n}"
    if not part.exists():
        write(part, min(n, LARGEST))
    path.mkdir(exist_ok=True)
    for number in range(-(-n // LARGEST)):
        name = path / f"{number:04}.parquet"
        if not name.exists():
            os.link(part, name)
    return path


def scan(path: Path) -> float:
    """Seconds for polars to sum every column."""
    import polars

    start = time.perf_counter()
    polars.scan_parquet(path / "*.parquet").sum().collect()
    return time.perf_counter() - start


def read(path: Path) -> dict[str, float]:
    """Read, make some passes, fit: seconds of each, and peak memory."""
    began = time.perf_counter()
    records = sv.Records.from_parquet(path, schema(), spool=os.environ.get("BENCH_FOLDER", True))
    opened = time.perf_counter()
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
    w = np.cos(np.arange(risk.dim))
    seconds = []
    for _ in range(PASSES):
        start = time.perf_counter()
        risk.value_and_gradient(w)
        seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    result = sv.minimize(risk, budget=sv.Budget(epsilon=1.0, delta=1.0 / records.n / 10.0))
    fitted = time.perf_counter() - start
    return {
        "rows": records.n,
        "seconds to read": opened - began,
        "seconds a pass": min(seconds[1:]),
        "seconds a pass, slowest": max(seconds[1:]),
        "seconds to fit": fitted,
        "passes' worth of a fit": fitted / min(seconds[1:]),
        "nanoseconds a row and pass": 1e9 * min(seconds[1:]) / records.n,
        "peak memory, GB": peak_memory() / 1e9,
        "answers released": len(result.trace),
    }


def fit(path: Path, model: str) -> dict[str, float]:
    """A whole fit of a model that bends: seconds on the clock and of the processor, and memory."""
    reading = sv.ReadOptions(spool=os.environ.get("BENCH_FOLDER", True))
    start, busy = time.perf_counter(), time.process_time()
    fitted = sv.fit(path, schema(), epsilon=1.0, delta=1e-10, model=model, reading=reading)
    return {
        "rows": fitted.result.guarantee.n,
        "features": fitted.result.weights.size,
        "seconds to read and fit": time.perf_counter() - start,
        "of the processor": time.process_time() - busy,
        "peak memory, GB": peak_memory() / 1e9,
        "answers released": len(fitted.result.trace),
    }


def main() -> None:
    if sys.argv[1:2] == ["read"]:
        path = Path(sys.argv[2])
        print(json.dumps(fit(path, sys.argv[3]) if len(sys.argv) > 3 else read(path)))
        return
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS
    path = written(Path(os.environ.get("BENCH_FOLDER", tempfile.gettempdir())), n)
    command = [sys.executable, "-m", "benchmarks.parquet", "read", str(path), *sys.argv[2:]]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if "seconds to read" in found:
        seconds = found["seconds for polars to sum the columns"] = scan(path)
        found["first reading over polars"] = found["seconds to read"] / seconds
    for name, figure in found.items():
        print(f"{name:40} {figure:12.4g}")


if __name__ == "__main__":
    main()
