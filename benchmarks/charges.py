"""What each query is charged for, over what an older checkout charges: `python benchmarks/charges.py OLD`.

For every loss, query, reach R ||w||, relation, with influence capped and not. Noise is proportional to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

REACHES = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)

CHARGED = """
import json, sys
from dataclasses import replace
import numpy as np
import sottovoce as sv
from sottovoce.accounting.relations import Relation
try:
    from sottovoce.queries import Preconditioner
except ImportError:  # what it was called up to 984a9f2
    from sottovoce.questions.geometry import Geometry as Preconditioner
reaches = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4))
losses = [sv.losses.Logistic(), sv.losses.SoftplusHinge(), sv.losses.Sigmoid(), sv.losses.Savage(),
          sv.losses.PseudoHuber(), sv.losses.LogCosh(), sv.losses.Cauchy(), sv.losses.GemanMcClure(),
          sv.losses.Welsch(), sv.losses.Poisson(20.0)]
found = {}
for loss in losses:
    declared = {"labels": (-1, 1)} if loss.kind.name == "MARGIN" else {"target": (-1.0, 1.0)}
    declared = {"target": (0.0, 1.0)} if loss.kind.name == "COUNT" else declared
    y = np.where(X[:, 0] > 0, 1, -1) if loss.kind.name == "MARGIN" else np.clip(X[:, 0], *declared["target"])
    plain = sv.Risk(sv.Records.from_arrays(X, y, radius=1.0, **declared), loss)
    shape = getattr(plain, "preconditioned", None) or plain.reshaped
    capped = shape(Preconditioner(scale=np.ones(4), cap=1.0 / 3.0))
    for form, risk in (("", plain), (", cap R/3", capped)):
        for relation in Relation:
            bounds = replace(risk.bounds, relation=relation)
            for reach in reaches:
                w = np.array([reach, 0.0, 0.0, 0.0])
                steps = np.eye(4)[:2]
                asked = {
                    "gradient": lambda: bounds.gradient(w), "value": lambda: bounds.value(w),
                    "hessian": lambda: bounds.hessian(w), "eigenvalue": lambda: bounds.smallest_eigenvalue(w),
                    "scores": lambda: bounds.score_moment(w), "product": lambda: bounds.curvature_product(w),
                    "trial": lambda: bounds.trials(w, steps[:1]),
                    "two steps": lambda: bounds.trials(w, steps),
                    "grid": lambda: bounds.grid(w, steps[0], 1.0, 0.5, 4),
                }
                if loss.is_limitable:
                    asked["limited 0.6"] = lambda: bounds.limited(0.6 * loss.slope).gradient(w)
                if loss.curvature_low == 0.0:
                    asked["information"] = lambda: bounds.information(w)
                for name, charge in asked.items():
                    found.setdefault(f"{loss.name}{form}, {relation.value}, {name}", []).append(charge())
print(json.dumps(found))
"""


def charged(source: Path) -> dict[str, list[float]]:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", CHARGED, json.dumps(REACHES)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    old, new = charged(Path(sys.argv[1]) / "src"), charged(Path(__file__).parents[1] / "src")
    ratios = {name: [b / a for a, b in zip(old[name], new[name], strict=True)] for name in old}
    print(f"{'R||w||':60s}" + "".join(f"{reach:>8g}" for reach in REACHES))
    for name, row in ratios.items():
        if max(abs(ratio - 1.0) for ratio in row) > 5e-5:
            print(f"{name:60s}" + "".join(f"{ratio:8.4f}" for ratio in row))
    worst = max((max(row), name) for name, row in ratios.items())
    print(f"{len(ratios)} rows, the others within 0.005 %; largest ratio {worst[0]:.5f} ({worst[1]})")
