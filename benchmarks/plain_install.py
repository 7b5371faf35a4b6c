"""A plain `pip install .` beside this environment: does it pass over rows as fast?

    python -m benchmarks.plain_install

makes a virtual environment, installs the package without an extra, and lets both environments take turns at a
gradient of 200,000 made-up rows of 54 columns: processor time of one thread, the fastest of each. Numba, once
the extra `fast`, is a dependency: the same compiled code should run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TURNS = 5

MEASURE = """
import json, time
import numpy as np
import sottovoce as sv
from sottovoce.trusted.compiling import is_compiled
rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 54)) / 54**0.5
risk = sv.Risk(sv.Records.from_arrays(X, np.where(X[:, 0] > 0, 1, -1), labels=(-1, 1)), sv.losses.Logistic())
w, best = np.ones(risk.dim), 1e9
for _ in range(12):
    start = time.process_time()
    risk.value_and_gradient(w)
    best = min(best, time.process_time() - start)
print(json.dumps({"seconds": best, "compiled": is_compiled(X.size), "from": sv.__file__}))
"""


def measured(python: str, folder: str, **environment: str) -> dict[str, object]:
    """One turn of an interpreter, away from the repository."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SOTTOVOCE_KERNELS")
    }
    done = subprocess.run(
        [python, "-c", MEASURE],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**kept, "SOTTOVOCE_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "", **environment},
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder) / "plain", with_pip=True)
        plain = str(Path(folder) / "plain" / ("Scripts" if os.name == "nt" else "bin") / "python")
        subprocess.run([plain, "-m", "pip", "install", "-q", str(ROOT)], check=True)
        ways = {
            "plain install": (plain, {}),
            "this environment": (sys.executable, {"PYTHONPATH": str(ROOT / "src")}),
        }
        best: dict[str, float] = {}
        for _ in range(TURNS):
            for name, (python, environment) in ways.items():
                found = measured(python, folder, **environment)
                best[name] = min(best.get(name, 1e9), float(str(found["seconds"])))
                assert found["compiled"], f"{name} has no compiled code"
        for name, seconds in best.items():
            print(f"{name:20} {1e3 * seconds:8.2f} ms a gradient, one thread")
        print(f"{'ratio':20} {best['plain install'] / best['this environment']:8.3f}")


if __name__ == "__main__":
    main()
