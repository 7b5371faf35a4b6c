"""A small made-up table with its schema, for the tests of files, models and the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sottovoce.data.schema import Categorical, Numeric, Schema, Target

REGIONS = ("north", "south", "west")
TWO = Schema(
    (Numeric("age", 18, 98), Numeric("income", 0, 200), Categorical("region", REGIONS)),
    Target("claim", ("no", "yes")),
)
THREE = Schema(TWO.columns, Target("risk", ("high", "low", "middle")))
RANGE = Schema(TWO.columns, Target("cost", low=0.0, high=500.0))


def lines(n: int = 4000, seed: int = 0) -> list[str]:
    """age, income, region, claim, risk, cost: header and rows."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 99, n), rng.integers(0, 201, n)
    region = rng.integers(0, 3, n)
    score = (age - 58) / 40 - (income - 100) / 100 + 0.5 * (region == 1) + 0.5 * rng.standard_normal(n)
    found = ["age,income,region,claim,risk,cost"]
    for a, i, r, s in zip(age, income, region, score, strict=True):
        risk = "high" if s > 0.5 else "low" if s < -0.5 else "middle"
        cost = min(500.0, max(0.0, 250.0 + 100.0 * float(s)))
        found.append(f"{a},{i},{REGIONS[r]},{'yes' if s > 0 else 'no'},{risk},{cost:.2f}")
    return found


def write(path: Path, n: int = 4000, seed: int = 0) -> Path:
    path.write_text("\n".join(lines(n, seed)) + "\n", encoding="utf-8")
    return path
