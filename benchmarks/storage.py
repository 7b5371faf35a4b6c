"""Ten million rows from Parquet within a bound on memory, and five million on two Dask workers.

    python -m benchmarks.storage FILE

is the child's part of the first: read, ask for one gradient, and print seconds and peak memory.
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
from sottovoce import bench
from sottovoce.columns import Numeric, Target
from sottovoce.losses import Logistic
from sottovoce.records import Records
from sottovoce.risk import Risk
from sottovoce.schema import Schema

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


def dask(rounds: int, n: int = 5 * 10**6) -> dict[str, Any]:
    """Overhead of a pass: its time less the longest time a worker needs for its own parts."""
    import dask.array as da
    from distributed import Client, LocalCluster

    def chunk(block_id: tuple[int, int]) -> np.ndarray:
        return np.random.default_rng(block_id[0]).random((n // 2, 54), dtype=np.float32) / 8

    X = da.map_blocks(
        chunk, chunks=((n // 2,) * 2, (54,)), dtype=np.float32, meta=np.empty((0, 0), np.float32)
    )
    y = da.map_blocks(lambda part: np.where(part[:, 0] > 1 / 16, 1, -1), X, drop_axis=1, dtype=int)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        risk = Risk(Records.from_dask(X, y, labels=(-1, 1), client=client), Logistic())
        w = np.cos(np.arange(54))
        risk.gradient(w)
        whole, own = [], []
        for _ in range(4 * rounds):
            start = time.perf_counter()
            risk.gradient(w)
            whole.append(time.perf_counter() - start)
            parts = risk.records._rows._held
            own.append(
                max(client.gather([client.submit(_own_seconds, part, w, pure=False) for part in parts]))
            )
    overhead = min(whole) - min(own)
    return {
        **bench.machine(),
        "rows": n,
        "seconds a pass": min(whole),
        "seconds of the slower worker": min(own),
        "demands": {"overhead of a pass, ms": [1e3 * overhead, "at most 50"]},
    }


def _own_seconds(part: Any, w: np.ndarray) -> float:
    """On a worker: the pass over its part alone."""
    from sottovoce.kernels import gradient
    from sottovoce.partitions import passed

    start = time.perf_counter()
    passed(part, gradient, (Logistic(), w), {})
    return time.perf_counter() - start


def main() -> None:
    print(json.dumps(_read(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
