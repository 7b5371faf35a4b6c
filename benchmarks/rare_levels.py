"""Whether intervals hold for a rare level: `python -m benchmarks.rare_levels [--sets 40] [--kinds rates]`.

Made-up records, one in 25 of them without an answer in a column of three categories: rates, two classes and
times to event, each set with its own records, noise and no effect of the missing cells. Of every coefficient
that is determined it is counted whether its 95 % interval holds the truth. No constant was chosen on
these."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

import sottovoce as sv

COLUMNS = {
    "age": {"type": "numeric", "low": 18, "high": 100},
    "smoke": {"type": "categorical", "categories": ["never", "former", "current"]},
}
TARGETS: dict[str, dict[str, Any]] = {
    "rates": {
        "column": "visits",
        "type": "count",
        "high": 12,
        "typical": 1.5,
        "exposure": "years",
        "exposure_high": 2.0,
    },
    "classes": {"column": "ill", "classes": ["no", "yes"]},
    "times": {
        "type": "survival",
        "time": "days",
        "event": "died",
        "grid": [180, 365, 730],
        "link": "cloglog",
    },
}
EPSILONS = (1.0, 3.0, 6.0)
RATE, LOG_ODDS, HAZARD = -0.5, -1.5, -1.5
TRUTH = {"age": 0.01, "smoke=former": 0.2, "smoke=current": 0.4, "smoke=(missing or other)": 0.0}
FIRST = 7_000_000


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, n)
    smoke = rng.choice(["never", "former", "current", ""], n, p=[0.5, 0.28, 0.18, 0.04])
    score = 0.01 * age + 0.2 * (smoke == "former") + 0.4 * (smoke == "current")
    years = rng.uniform(0.5, 2.0, n)
    hazard = np.exp(HAZARD + score)[:, None] * [1.0, 1.0, 2.0]
    alive = rng.random((n, 3)) < np.exp(-hazard)
    lived = np.where(alive.all(axis=1), 3, np.argmin(alive, axis=1))
    return pd.DataFrame(
        {
            "age": age,
            "smoke": smoke,
            "years": years,
            "visits": rng.poisson(years * np.exp(RATE + score)),
            "ill": np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-LOG_ODDS - score)), "yes", "no"),
            "days": np.array([90, 270, 600, 730])[lived],
            "died": np.where(lived < 3, "yes", "no"),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rare_levels", description=__doc__)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--kinds", nargs="+", choices=[*TARGETS], default=[*TARGETS])
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    asked = parser.parse_args()
    print(
        "| kind | epsilon | coefficients | determined | held the truth |\n| --- | ---: | --- | ---: | ---: |"
    )
    for kind in asked.kinds:
        schema = sv.Schema.from_dict({"columns": COLUMNS, "target": TARGETS[kind]})
        for epsilon in asked.epsilons:
            seen: dict[str, list[bool]] = {"the rare level": [], "the others": []}
            for seed in range(asked.first, asked.first + asked.sets):
                inference = sv.Inference(0.3, anyway=True)
                budget: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6, "inference": inference}
                found = sv.fit(table(asked.rows, FIRST + seed), schema, simulate=seed, **budget)
                for line in found.summary().lines:
                    if line.resolved and line.term in TRUTH:
                        rare = "the rare level" if "missing" in line.term else "the others"
                        seen[rare].append(line.low <= TRUTH[line.term] <= line.high)
            for rare, held in seen.items():
                count = asked.sets * (1 if rare == "the rare level" else len(TRUTH) - 1)
                part = f"{np.mean(held):.3f}" if held else "-"
                print(f"| {kind} | {epsilon:g} | {rare} | {len(held)} of {count} | {part} |", flush=True)


if __name__ == "__main__":
    main()
