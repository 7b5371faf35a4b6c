"""The paper's methods on the paper's problems: which settings end inside both tolerances, by exact values.

    python -m benchmarks.paper_methods --data covertype --loss logistic --tolerance loose tight \\
        --method opt 2opt-ls --epsilon 0.2 0.6 1 --seeds 5 --calibration tight --out runs.jsonl

Every finished run is one line of the output file and is not repeated, so an interrupted study resumes. The
exact values are for this study only: the data are public and the noise is simulated.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.data import covertype, ijcnn1

LOSSES = {
    "logistic": (sv.losses.Logistic(), sv.regularizers.Tukey(1e-3)),
    "sigmoid": (sv.losses.Sigmoid(), sv.regularizers.L2(1e-3)),
}
TOLERANCES = {
    ("covertype", "logistic", "loose"): (0.06, 0.245),
    ("covertype", "logistic", "tight"): (0.03, 0.173),
    ("covertype", "sigmoid", "loose"): (0.04, 0.2),
    ("covertype", "sigmoid", "tight"): (0.02, 0.141),
    ("ijcnn1", "logistic", "loose"): (0.04, 0.2),
    ("ijcnn1", "logistic", "tight"): (0.02, 0.141),
    ("ijcnn1", "sigmoid", "loose"): (0.04, 0.2),
    ("ijcnn1", "sigmoid", "tight"): (0.02, 0.141),
}
KEYS = ("data", "loss", "tolerance", "epsilon", "method", "calibration", "seed")
Run = dict[str, Any]


def records_of(data: str) -> sv.Records:
    if data == "covertype":
        table = covertype.load().two_classes()
        return sv.Records.from_arrays(table.standardized(), table.signs(), radius=1.0, labels=(-1, 1))
    other = ijcnn1.load(os.environ[ijcnn1.FOLDER])
    return sv.Records.from_arrays(other.standardized(), other.signs(), radius=1.0, labels=(-1, 1))


def run_once(risk: sv.Risk, setting: Run) -> Run:
    gradient, curvature = TOLERANCES[setting["data"], setting["loss"], setting["tolerance"]]
    started = time.perf_counter()
    result = sv.minimize(
        risk,
        budget=sv.Budget(epsilon=setting["epsilon"], delta=1.0 / risk.n),
        method=setting["method"],
        tolerance=sv.Tolerance(gradient=gradient, curvature=curvature),
        start=np.random.default_rng(setting["seed"]).standard_normal(risk.dim),
        simulate=setting["seed"],
        calibration=setting["calibration"],
    )
    seconds = time.perf_counter() - started
    value, slope = risk.value_and_gradient(result.weights)
    norm, eigenvalue = float(np.linalg.norm(slope)), risk.smallest_eigenvalue(result.weights)
    return {
        **setting,
        "stop": result.stop.name,
        "inside": norm <= gradient and eigenvalue >= -curvature,
        "loss_value": value,
        "gradient_norm": norm,
        "eigenvalue": eigenvalue,
        "certified_gradient": result.certificate.gradient_norm_at_most,
        "visits": len(result.trace),
        "hessians": sum(row.curvature is not None for row in result.trace),
        "kinds": dict(Counter(row.kind for row in result.trace)),
        "spent": sum(row.mu_squared for row in result.trace),
        "seconds": round(seconds, 2),
    }


def stopped(run: Run) -> bool:
    return run["stop"] in ("CERTIFIED", "WITHIN_NOISE")


def table(runs: list[Run]) -> None:
    cells = defaultdict(list)
    for run in runs:
        cells[tuple(run[key] for key in KEYS[:-1])].append(run)
    solved: Counter[tuple[str, ...]] = Counter()
    for cell, members in sorted(cells.items()):
        good = sum(stopped(run) and run["inside"] for run in members)
        solved[(cell[5], cell[4], cell[0])] += good == len(members)
        mean = {
            key: float(np.mean([run[key] for run in members]))
            for key in ("loss_value", "gradient_norm", "visits", "hessians", "seconds")
        }
        shown = " ".join(f"{key} {value:.4g}" for key, value in mean.items())
        stops = ",".join(sorted({run["stop"] for run in members}))
        print(f"{' '.join(map(str, cell)):60} {good}/{len(members)} {shown} {stops}")
    for key, count in sorted(solved.items()):
        print("settings solved:", *key, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["covertype"], choices=["covertype", "ijcnn1"])
    parser.add_argument("--loss", nargs="+", default=list(LOSSES), choices=list(LOSSES))
    parser.add_argument("--tolerance", nargs="+", default=["loose", "tight"], choices=["loose", "tight"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.2, 0.6, 1.0])
    parser.add_argument("--method", nargs="+", default=["2opt-ls"])
    parser.add_argument("--calibration", default="tight", choices=["tight", "published"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("paper_methods.jsonl"))
    chosen = parser.parse_args()
    runs = [json.loads(line) for line in chosen.out.read_text().splitlines()] if chosen.out.exists() else []
    done = {tuple(run[key] for key in KEYS) for run in runs}
    for data in chosen.data:
        records = records_of(data)
        for loss in chosen.loss:
            risk = sv.Risk(records, *LOSSES[loss])
            choices = (chosen.tolerance, chosen.epsilon, chosen.method, range(chosen.seeds))
            for tolerance, epsilon, method, seed in product(*choices):
                cell = (data, loss, tolerance, epsilon, method, chosen.calibration, seed)
                if cell in done:
                    continue
                run = run_once(risk, dict(zip(KEYS, cell, strict=True)))
                runs.append(run)
                with chosen.out.open("a") as lines:
                    lines.write(json.dumps(run) + "\n")
    table(runs)


if __name__ == "__main__":
    main()
