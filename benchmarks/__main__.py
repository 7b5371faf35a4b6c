"""`python -m benchmarks [SUITE ...] [--rounds N]`: measure, print, and keep the figures as JSON.

Suites: passes, compact, compact-tiled, losses, tiled, csr, fits, scaling, parquet, dask; all by default.
Figures go to benchmarks/results/speed.json and from there to the section "Speed" of docs/benchmarks.md.
PyTorch, Opacus and diffprivlib run in environments of their own: BENCH_TORCH_PYTHON and
BENCH_DIFFPRIVLIB_PYTHON name their interpreters; where there is none, that comparison is left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import page
from benchmarks.cluster import dask
from benchmarks.compact import compact, compact_tiled
from benchmarks.fits import fits
from benchmarks.kernels import against_torch, csr, losses, tiled
from benchmarks.scaling import scaling
from benchmarks.storage import parquet

RESULTS = Path(__file__).parent / "results" / "speed.json"
SUITES: dict[str, Callable[[int], dict[str, Any]]] = {
    "passes": against_torch,
    "compact": compact,
    "compact-tiled": compact_tiled,
    "losses": losses,
    "tiled": tiled,
    "csr": csr,
    "fits": fits,
    "scaling": scaling,
    "parquet": parquet,
    "dask": dask,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[[], *SUITES], help="which to run")
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    for name in asked.suites or SUITES:
        started = time.strftime("%Y-%m-%d %H:%M")
        found = {"measured": started, **SUITES[name](asked.rounds)}
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[name] = found
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        print(f"\n{name}, load {found['load']:.1f}")
        for call, seconds in found.get("seconds", {}).items():
            print(f"  {call:46} {1e3 * seconds:10.2f} ms {found['ratios'][call]:9.2f}x")
        for demand, (figure, limit) in found["demands"].items():
            print(f"  {demand:46} {figure:10.3g}    {limit}")
    page.write(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
