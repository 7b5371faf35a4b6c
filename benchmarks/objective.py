"""Objective perturbation by diffprivlib, which lives in an environment of its own (scikit-learn < 1.6).

BENCH_DIFFPRIVLIB_PYTHON names its interpreter; where there is none, this contender is left out. The guarantee
is pure epsilon for a replaced record. Chaudhuri, Monteleoni & Sarwate (2011) pay epsilon for two things:
2 log(1 + C/4) for how one record bends the objective, the rest for noise. A C that leaves nothing, as the
default of 1 below epsilon 0.45, falls back to half of epsilon and an extra ridge. The settings are shares of
epsilon left for noise: C = 4 (e^{(1 - share) epsilon / 2} - 1).
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from benchmarks.contenders import Contender, Fit, Setting
from benchmarks.rival_process import PYTHONS
from benchmarks.task import Task

DEFAULT = 1.0
"""The C that diffprivlib takes unless told otherwise."""


@final
@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation(Contender):
    process: subprocess.Popen[str]
    name: str = "diffprivlib"
    promise: str = "replace one, delta = 0"
    shares: tuple[float, ...] = (0.8, 0.9, 0.95)
    others: tuple[float, ...] = (DEFAULT,)

    def settings(self, epsilon: float) -> Mapping[str, Setting]:
        tuned = [4.0 * math.expm1((1.0 - share) * epsilon / 2.0) for share in self.shares]
        return {f"C {inverse:.3g}": (inverse,) for inverse in (*tuned, *self.others)}

    def fit(self, task: Task, epsilon: float, setting: Setting, seed: int) -> Fit:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(
            json.dumps({"epsilon": epsilon, "C": setting[0], "random_state": seed}) + "\n"
        )
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return np.array(answer["weights"]), answer["iterations"]


@contextmanager
def objective_perturbation(task: Task) -> Iterator[list[ObjectivePerturbation]]:
    """The contender with the task's rows loaded, or none."""
    python = PYTHONS["diffprivlib"]
    if not Path(python).exists():
        yield []
        return
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "rows.npz", X=task.X.astype(np.float64), y=task.y)
        script = str(Path(__file__).with_name("objective_process.py"))
        with subprocess.Popen(
            [python, "-P", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                yield [ObjectivePerturbation(process=process)]
            finally:
                assert process.stdin is not None
                process.stdin.close()
