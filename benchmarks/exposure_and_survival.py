"""`python -m benchmarks.exposure_and_survival [--sets 200] [--n 5000 20000]`: coverage of 95 % intervals.

Simulated counts with an exposure and times to event, of records and of persons with two rows each, at epsilon
1 and 3. One data set of every setting after the other, printed as it goes: whoever stops it early has as many
of each. No seed here chose a constant."""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import sottovoce as sv

COLUMNS = {
    "age": {"type": "numeric", "low": 40, "high": 80},
    "arm": {"type": "categorical", "categories": ["control", "treated"]},
}


class Setting(NamedTuple):
    kind: str
    n: int
    epsilon: float
    persons: bool

    def __str__(self) -> str:
        unit = "persons" if self.persons else "records"
        return f"{self.kind}, {self.n:,} {unit}, epsilon {self.epsilon:g}"


def people(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    return np.clip(rng.normal(60, 8, n), 40, 80), rng.choice(["control", "treated"], n)


def rates(n: int, persons: bool, rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any], Any]:
    """Rows of a person share a frailty."""
    age, arm = people(n, rng)
    who = np.repeat(np.arange(n), 2) if persons else np.arange(n)
    years = rng.uniform(0.3, 2.0, len(who))
    frailty = (rng.gamma(4.0, 0.25, n) if persons else np.ones(n))[who]
    rate = np.exp(0.5 + 0.02 * (age - 60) - 0.4 * (arm == "treated"))[who]
    stays = rng.poisson(frailty * years * rate)
    table = pd.DataFrame({"age": age[who], "arm": arm[who], "years": years, "stays": stays, "who": who})
    exposed = {"exposure": "years", "exposure_high": 2.0, "typical": 1.5}
    target = {"column": "stays", "type": "count", "high": 20, **exposed}
    return table, target, {"age": 0.02, "arm=treated": -0.4, "intercept": 0.5 - 1.2}


def times(n: int, persons: bool, rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any], Any]:
    """Of persons, observation is cut after the first interval and goes on with an entry."""
    age, arm = people(n, rng)
    score = -1.6 + 0.03 * (age - 60) - 0.7 * (arm == "treated")
    lived, left = rng.geometric(1.0 / (1.0 + np.exp(-score))), rng.integers(1, 6, n)
    days = np.where(lived <= left, 90 * lived - 10, 90 * left + 5)
    died = np.where(lived <= left, "yes", "no")
    table = pd.DataFrame({"age": age, "arm": arm, "days": days, "died": died, "who": np.arange(n)})
    target = {"type": "survival", "event": "died", "time": "days", "grid": [90, 180, 270], "typical": 0.15}
    if persons:
        early = np.where((days <= 90) & (died == "yes"), "yes", "no")
        first = table.assign(died=early, days=np.minimum(days, 90), since=0.0)
        table = pd.concat([first, table[days > 90].assign(since=90.0)], ignore_index=True)
        target["entry"] = "since"
    truth = {"age": 0.03, "arm=treated": -0.7, "interval=to 180": 0.0, "interval=to 270": 0.0}
    return table, target, {**truth, "intercept": -1.6 - 1.8}


def intervals(setting: Setting, number: int) -> list[tuple[bool, bool]]:
    """Of every coefficient whose truth is known: whether it was determined, and its interval holds it."""
    kind, n, epsilon, persons = setting
    rng = np.random.default_rng([number, n, int(10 * epsilon), len(kind), int(persons), 4242])
    table, target, truth = (rates if kind == "rate" else times)(n, persons, rng)
    unit = {"person": "who"} if persons else {}
    schema = sv.Schema.from_dict({**unit, "columns": COLUMNS, "target": target})
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6, "inference": 0.3, "anyway": True}
    model = sv.fit(table, schema, simulate=number, **budget)
    lines = [line for line in model.summary().lines if line.term in truth]
    return [(line.resolved, line.resolved and line.low <= truth[line.term] <= line.high) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exposure_and_survival")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--n", type=int, nargs="+", default=[5_000, 20_000])
    given = parser.parse_args()
    kinds = [(kind, persons) for kind in ("rate", "survival") for persons in (False, True)]
    settings = [Setting(k, n, epsilon, p) for n in given.n for epsilon in (1.0, 3.0) for k, p in kinds]
    found: dict[Setting, list[tuple[bool, bool]]] = {setting: [] for setting in settings}
    for number in range(given.sets):
        for setting in settings:
            found[setting] += intervals(setting, number)
        print(f"after {number + 1} sets of each, {time.strftime('%H:%M')}")
        for setting, seen in found.items():
            determined, inside = (sum(part) for part in zip(*seen, strict=True))
            print(f"  {setting}: {inside} of {determined} determined, {len(seen)} in all", flush=True)


if __name__ == "__main__":
    main()
