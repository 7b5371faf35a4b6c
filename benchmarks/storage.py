"""Ten million rows from Parquet within a bound on memory.

    python -m benchmarks.storage FILE

is the child's part: read, ask for one gradient, and print seconds and peak memory.
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
from sottovoce.data.columns import Numeric, Target
from sottovoce.data.records import Records
from sottovoce.data.schema import Schema
from sottovoce.losses import Logistic
from sottovoce.planning import bench
from sottovoce.risks.linear import Risk

COLUMNS = 53
"""With the constant one, 54."""

SCHEMA = Schema(tuple(Numeric(f"x{j}", -4, 4) for j in range(COLUMNS)), Target("y", classes=(0, 1)))


def parquet(rounds: int, n: int = 10**7) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as folder:
        path = Path(folder) / "rows.parquet"
        _write(path, n)
        command = [sys.executable, "-m", "benchmarks.storage", str(path)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(answer.stdout)
        size = path.stat().st_size
    demand = {"peak memory, GB": [found["peak memory"] / 1e9, "at most 1.5"]}
    return {**bench.machine(), "rows": n, "file bytes": size, **found, "demands": demand}


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


def _read(path: Path) -> dict[str, float]:
    start = time.perf_counter()
    records = Records.from_parquet(path, SCHEMA)
    opened = time.perf_counter()
    risk = Risk(records, Logistic())
    risk.gradient(np.cos(np.arange(risk.dim)))
    return {
        "seconds to open": opened - start,
        "seconds for a gradient": time.perf_counter() - opened,
        "peak memory": peak_memory(),
    }


def main() -> None:
    print(json.dumps(_read(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
