"""Ten million rows from Parquet within a bound on memory.

    python -m benchmarks.storage FILE BYTES

is the child's part: read, keep so many bytes in memory, ask for two gradients, print seconds and peak memory.
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

from benchmarks.memory import peak_memory
from sottovoce.data.records import Records
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.losses import Logistic
from sottovoce.models.linear import Risk
from sottovoce.planning import bench

COLUMNS = 53
"""With the constant one, 54."""

SCHEMA = Schema(tuple(Numeric(f"x{j}", -4, 4) for j in range(COLUMNS)), Target("y", classes=(0, 1)))


def parquet(rounds: int, n: int = 10**7) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as folder:
        path = Path(folder) / "rows.parquet"
        _write(path, n)
        found, held = (_child(path, memory) for memory in (2**29, 2**40))
        found["seconds for polars to sum the columns"] = _scan(path)
        found["seconds for a gradient in memory"] = held["seconds for a later gradient"]
        size = path.stat().st_size
    later = found["seconds for a later gradient"] / found["seconds for a gradient in memory"]
    first = found["seconds to open"] / found["seconds for polars to sum the columns"]
    demands = {
        "peak memory, GB": [found["peak memory"] / 1e9, "at most 1.5"],
        "first reading over polars": [first, "at most 1.5"],
        "later gradient over one in memory": [later, "at most 2"],
    }
    return {**bench.machine(), "rows": n, "file bytes": size, **found, "demands": demands}


def _child(path: Path, memory: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.storage", str(path), str(memory)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def _scan(path: Path) -> float:
    import polars

    start = time.perf_counter()
    polars.scan_parquet(path).sum().collect()
    return time.perf_counter() - start


def _write(path: Path, n: int, group: int = 2**20) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, n, group):
        rows = min(group, n - start)
        values = rng.standard_normal((COLUMNS, rows), dtype=np.float32)
        columns = {f"x{j}": values[j] for j in range(COLUMNS)}
        columns["y"] = (values[0] + values[1] > 0).astype(np.int8)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table, row_group_size=group)
    assert writer is not None
    writer.close()


def _read(path: Path, memory: int) -> dict[str, float]:
    start = time.perf_counter()
    records = Records.from_parquet(path, SCHEMA, memory=memory, spool=os.environ.get("BENCH_FOLDER", True))
    opened = time.perf_counter()
    risk = Risk(records, Logistic())
    w = np.cos(np.arange(risk.dim))
    risk.gradient(w)
    once = time.perf_counter()
    risk.gradient(w)
    return {
        "seconds to open": opened - start,
        "seconds for a gradient": once - opened,
        "seconds for a later gradient": time.perf_counter() - once,
        "peak memory": peak_memory(),
    }


def main() -> None:
    print(json.dumps(_read(Path(sys.argv[1]), int(sys.argv[2]))))


if __name__ == "__main__":
    main()
