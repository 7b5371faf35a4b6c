"""How long commands that do not train take to answer, in units of `python -c "import numpy"`.

    python -m benchmarks.latency [rounds]

Processor time of a process of its own (user and system), the median of several rounds; commands and the unit
take turns, so that a loaded machine slows them alike. Byte code is compiled beforehand, as pip does it. The
promise is a ratio of at most 4.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.csv import SCHEMA, write

ROWS = 1_000
MOST = 4.0
UNIT = ("-c", "import numpy")
COMMANDS = {
    "--version": ("--version",),
    "schema": ("schema", "data.csv", "-o", "template.toml", "--force"),
    "ledger show": ("ledger", "show", "budget.db"),
    "ledger verify": ("ledger", "verify", "budget.db", "--anchor", "model.json"),
    "report": ("report", "model.json", "-o", "report.html", "--force"),
    "predict": ("predict", "model.json", "data.csv", "-o", "predictions.csv", "--force"),
}


def prepared(folder: Path) -> None:
    """A table, its schema, a ledger and a model."""
    write(folder / "data.csv", ROWS)
    (folder / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    budget = ("--epsilon", "1", "--delta", "1e-6")
    charged = ("--ledger", "budget.db", "--dataset", "claims", "-o", "model.json")
    _run(folder, ("-m", "sottovoce", "ledger", "create", "budget.db", "--dataset", "claims", *budget))
    _run(folder, ("-m", "sottovoce", "fit", "data.csv", "--schema", "schema.toml", *budget, *charged))


def measured(folder: Path, rounds: int) -> dict[str, float]:
    """Median processor time of each command over that of the unit."""
    tasks = {"unit": UNIT, **{name: ("-m", "sottovoce", *given) for name, given in COMMANDS.items()}}
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for given in tasks.values():
        _run(folder, given)
    for _ in range(rounds):
        for name, given in tasks.items():
            seconds[name].append(_run(folder, given))
    unit = statistics.median(seconds.pop("unit"))
    return {name: statistics.median(taken) / unit for name, taken in seconds.items()}


def _run(folder: Path, arguments: Sequence[str]) -> float:
    """Processor time of one process; its failure is ours."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
    }
    started = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, stdout=subprocess.DEVNULL, env=environment
    )
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        sys.exit(f"{' '.join(arguments)} failed with exit code {started.returncode}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder)
        ratios = measured(folder, rounds)
    for name, ratio in ratios.items():
        print(f"{name:14} {ratio:5.2f} times `import numpy`, median of {rounds}")
    if max(ratios.values()) > MOST:
        sys.exit(f"slower than {MOST:g} times `import numpy`")


if __name__ == "__main__":
    main()
