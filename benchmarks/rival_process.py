"""A rival in its own Python environment, called in turn with our own passes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

PYTHONS = {
    "torch": os.environ.get("BENCH_TORCH_PYTHON", "/tmp/torch-venv/bin/python"),
    "opacus": os.environ.get("BENCH_TORCH_PYTHON", "/tmp/torch-venv/bin/python"),
    "diffprivlib": os.environ.get("BENCH_DIFFPRIVLIB_PYTHON", "/tmp/diffprivlib-venv/bin/python"),
    "jax": os.environ.get("BENCH_JAX_PYTHON", "/tmp/jax-venv/bin/python"),
}


class Rival:
    """Calls by name; each takes as long as the rival says, the way there not counted."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.names = self._answer().split(";")

    def seconds(self, name: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError("the rival's process ended")
        return line


@contextmanager
def rival(suite: str, X: np.ndarray, y: np.ndarray) -> Iterator[Rival | None]:
    """The rival, or None where its environment is not installed."""
    python = PYTHONS[suite]
    if not Path(python).exists():
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        command = [python, "-P", str(Path(__file__).with_name("rivals.py")), suite, folder]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                yield Rival(process)
            finally:
                assert process.stdin is not None
                process.stdin.close()
