"""The same fit of a large Parquet file by three fronts, each in a fresh process, by turns.

    BENCH_FOLDER=/a/folder python -m benchmarks.fronts [ROWS] [ROUNDS]

writes ROWS made-up records (10^7 if not told: ten numbers, two categories, two classes; the file stays in the
folder) and fits them at epsilon 1 by `sv.fit`, by `sottovoce fit`, and by `Records.from_parquet` and
`sv.minimize`. Printed for each: the least wall time of the rounds, CPU time, peak memory, and how it compares
with the fastest. The first round, which finds caches cold, does not count.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sottovoce.data.schema import Categorical, Numeric, Schema, Target

ROWS, ROUNDS, GROUP = 10**7, 3, 2**20
NUMBERS = tuple(f"x{place}" for place in range(10))
SCHEMA = Schema(
    (
        *(Numeric(name, -3.0, 3.0) for name in NUMBERS),
        Categorical("area", (0, 1, 2, 3)),
        Categorical("kind", tuple(range(20))),
    ),
    Target("y", classes=(0, 1)),
)
CALLS = {
    "sv.fit": "import sottovoce as sv; sv.fit({rows!r}, {schema!r}, epsilon=1.0, delta=1e-8)",
    "two calls": "import sottovoce as sv; records = sv.Records.from_parquet({rows!r}, schema={schema!r}); "
    "sv.minimize(sv.Risk(records, sv.losses.Logistic()), budget=sv.Budget(1.0, 1e-8))",
}


def write(path: Path, n: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, slopes, writer = np.random.default_rng(0), np.linspace(-1.0, 1.0, len(NUMBERS)), None
    for start in range(0, n, GROUP):
        count = min(GROUP, n - start)
        X = rng.standard_normal((count, len(NUMBERS))).astype(np.float32)
        columns = {name: X[:, place] for place, name in enumerate(NUMBERS)}
        kinds = {"area": rng.integers(0, 4, count), "kind": rng.integers(0, 20, count)}
        answer = (X @ slopes + rng.logistic(size=count) > 0).astype(np.int64)
        table = pa.table({**columns, **kinds, "y": answer})
        writer = writer or pq.ParquetWriter(path.with_suffix(".part"), table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    path.with_suffix(".part").rename(path)


def commands(rows: Path, schema: Path, model: Path) -> dict[str, list[str]]:
    python = {
        name: [sys.executable, "-c", call.format(rows=str(rows), schema=str(schema))]
        for name, call in CALLS.items()
    }
    asked = ["--schema", str(schema), "--epsilon", "1", "--delta", "1e-8", "-o", str(model), "--force", "-q"]
    return {**python, "sottovoce fit": [sys.executable, "-m", "sottovoce", "fit", str(rows), *asked]}


def timed(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and gigabytes of a fresh process."""
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - started, cpu, after.ru_maxrss / 2**20


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    folder = Path(os.environ.get("BENCH_FOLDER", tempfile.gettempdir()))
    rows, schema = folder / f"fronts-{n}.parquet", folder / "fronts.toml"
    schema.write_text(SCHEMA.to_toml(), encoding="utf-8")
    if not rows.exists():
        write(rows, n)
    asked = commands(rows, schema, folder / "fronts.json")
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in asked}
    for number in range(rounds + 1):
        for name, command in asked.items():
            found = timed(command)
            if number:
                taken[name].append(found)
    best = {name: min(found) for name, found in taken.items()}
    fastest = min(wall for wall, _, _ in best.values())
    for name, (wall, cpu, memory) in best.items():
        print(f"{name:14} {wall:6.2f} s, {cpu:6.2f} s of CPU, {memory:.2f} GB, {wall / fastest:.3f}")
    load = os.getloadavg()[0]
    print(json.dumps({"rows": n, "rounds": rounds, "load": load, "seconds": taken}))


if __name__ == "__main__":
    main()
