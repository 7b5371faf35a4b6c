"""Coverage and width of 95 % intervals of counts with an exposure and of times to event.

    python -m benchmarks.exposure_and_survival run --out FILE --n 5000 20000 --sets 1000 --part 0/2
    python -m benchmarks.exposure_and_survival table FILE...

Simulated records, or persons with two rows each, at epsilon 1 and 3, noise simulated. A data set is read once
and fitted at both epsilons. One of every size after the other, a line of JSON each, so that whoever stops it
early has as many of each and goes on where it stopped; a line holds what was released, and the table is made
of it by the summary of today. The first sets are compared with statsmodels and
lifelines on the same records without privacy, where they are installed. No constant was chosen on them."""

from __future__ import annotations

import argparse
import json
import zlib
from collections import defaultdict
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import sottovoce as sv
from sottovoce.data.contrasts import asked_in
from sottovoce.data.files import read_compact, training
from sottovoce.data.options import AS_WRITTEN
from sottovoce.exports.units import terms_for
from sottovoce.fitting import chosen_loss, loss_for, versions
from sottovoce.results.inference.findings import LastAnswers
from sottovoce.results.inference.summary import summarized

COLUMNS = {
    "age": {"type": "numeric", "low": 40, "high": 80},
    "arm": {"type": "categorical", "categories": ["control", "treated"]},
}
GRID = (90, 180, 270)
EPSILONS = (1.0, 3.0)
COMPARED = 20
"""Sets of a setting, the first of a run, whose errors are compared with those without privacy."""


class Setting(NamedTuple):
    kind: str
    n: int
    persons: bool
    method: str

    def at(self, epsilon: float) -> str:
        unit = "persons" if self.persons else "records"
        return f"{self.kind}, {self.n:,} {unit}, epsilon {epsilon:g}, {self.method}"


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
    target = {"type": "survival", "event": "died", "time": "days", "grid": list(GRID), "typical": 0.15}
    if persons:
        early = np.where((days <= 90) & (died == "yes"), "yes", "no")
        first = table.assign(died=early, days=np.minimum(days, 90), since=0.0)
        table = pd.concat([first, table[days > 90].assign(since=90.0)], ignore_index=True)
        target["entry"] = "since"
    truth = {"age": 0.03, "arm=treated": -0.7, "interval=to 180": 0.0, "interval=to 270": 0.0}
    return table, target, {**truth, "intercept": -1.6 - 1.8}


def drawn(setting: Setting, number: int) -> tuple[pd.DataFrame, dict[str, Any], Any]:
    kind, n, persons, _ = setting
    rng = np.random.default_rng([number, n, len(kind), int(persons), 2626])
    return (rates if kind == "rate" else times)(n, persons, rng)


def models(table: pd.DataFrame, schema: sv.Schema, method: str, noise: int) -> dict[float, sv.Model]:
    """What `sv.fit` with three tenths for inference makes of a table at each epsilon; it is read once."""
    aim = schema.target
    assert aim is not None
    held = read_compact(table, schema)
    risk = sv.Risk(training(held, aim, None, AS_WRITTEN), loss_for(None, aim), sv.regularizers.L2(1e-6))
    asked = sv.Inference(0.3, anyway=True, design=asked_in(schema))
    return {
        epsilon: sv.Model(
            result=sv.minimize(
                risk, budget=sv.Budget(epsilon, 1e-6), method=method, inference=asked, simulate=noise
            ),
            schema=schema,
            marginals=(),
            loss=chosen_loss(None, aim),
            created="2026-11-18",
            versions=versions(),
            **asdict(sv.About()),
        )
        for epsilon in EPSILONS
    }


def declared(setting: Setting, target: dict[str, Any]) -> sv.Schema:
    unit = {"person": "who"} if setting.persons else {}
    return sv.Schema.from_dict({**unit, "columns": COLUMNS, "target": target})


def found(setting: Setting, number: int, compared: bool) -> list[dict[str, Any]]:
    """What was released at each epsilon, from which a summary follows, and the errors without privacy."""
    table, target, _ = drawn(setting, number)
    plain, cox = plain_errors(setting.kind, table) if compared else ({}, {})
    fitted = models(table, declared(setting, target), setting.method, noise_of(setting, number))
    return [
        {
            "setting": setting,
            "epsilon": epsilon,
            "number": number,
            "answers": None if model.result.inference is None else model.result.inference.to_dict(),
            "plain": plain,
            "cox": cox,
        }
        for epsilon, model in fitted.items()
    ]


def said(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Of every coefficient: what the summary of these answers says of it, and its truth."""
    setting = Setting(*line["setting"])
    _, target, truth = drawn(setting._replace(n=1), 0)
    schema = declared(setting, target)
    assert schema.target is not None
    terms = terms_for(schema, chosen_loss(None, schema.target))
    return [
        {
            "term": one.term,
            "truth": truth[one.term],
            **({"error": one.error, "low": one.low, "high": one.high} if one.resolved else {}),
            **{beside: line[beside][one.term] for beside in ("plain", "cox") if one.term in line[beside]},
        }
        for one in summarized(LastAnswers.from_dict(line["answers"]), terms).lines
        if one.term in truth
    ]


def noise_of(setting: Setting, number: int) -> int:
    return zlib.crc32(f"{setting} {number}".encode())


def plain_errors(kind: str, table: pd.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    """Robust errors by persons: of statsmodels for the same likelihood, and of lifelines for proportional
    hazards, whose coefficients are logarithms of hazards, not odds. None where they are not installed."""
    if find_spec("statsmodels") is None or find_spec("lifelines") is None:
        return {}, {}
    import statsmodels.api as sm
    from lifelines import CoxPHFitter

    cox = {}
    if kind == "rate":
        family, exposure, rows, y = sm.families.Poisson(), table["years"], table, table["stays"]
    else:
        rows, y = at_risk(table)
        family, exposure = sm.families.Binomial(), None
        spells = rows.assign(treated=(rows["arm"] == "treated").astype(float), start=rows["end"] - 90.0)
        columns = ["age", "treated", "start", "end", "struck", "who"]
        times = {"entry_col": "start", "duration_col": "end", "event_col": "struck", "cluster_col": "who"}
        errors = CoxPHFitter().fit(spells[columns], **times).standard_errors_
        cox = {"age": float(errors["age"]), "arm=treated": float(errors["treated"])}
    X = pd.DataFrame({"age": rows["age"], "arm=treated": (rows["arm"] == "treated").astype(float)})
    for end in GRID[1:] if kind == "survival" else ():
        X[f"interval=to {end}"] = (rows["end"] == end).astype(float)
    X["intercept"] = 1.0
    fitted = sm.GLM(y, X, family=family, exposure=exposure).fit(
        cov_type="cluster", cov_kwds={"groups": rows["who"]}
    )
    return dict(fitted.bse), cox


def at_risk(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    since = table.get("since", 0.0)
    parts = []
    for start, end in zip((0, *GRID), GRID, strict=False):
        inside = (since <= start) & (table["days"] > start)
        inside &= (table["died"] == "yes") | (table["days"] >= end)
        rows = table[inside].assign(end=end)
        parts.append(rows.assign(struck=((rows["died"] == "yes") & (rows["days"] <= end)).astype(float)))
    rows = pd.concat(parts, ignore_index=True)
    return rows, rows["struck"]


def run(
    out: Path,
    sizes: list[int],
    numbers: range,
    kinds: list[str],
    method: str | None,
    part: tuple[int, int],
) -> None:
    done = {(*line["setting"], line["number"]) for line in _lines([out])}
    settings = [
        Setting(kind, n, persons, method or ("auto" if kind == "rate" else "majorize"))
        for n in sizes
        for kind in kinds
        for persons in (False, True)
    ]
    with out.open("a") as file:
        for number in numbers[part[0] :: part[1]]:
            for setting in settings:
                if (*setting, number) not in done:
                    lines = found(setting, number, number < numbers.start + COMPARED)
                    print("\n".join(map(json.dumps, lines)), file=file, flush=True)


def table(stores: list[Path]) -> str:
    """Of each setting: sets, determined, inside with the 95 % range of a part, errors by those without
    privacy. Of persons and records alike, the intercept aside in the widths."""
    held: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    for line in _lines(stores):
        held[Setting(*line["setting"]).at(line["epsilon"])].append(said(line))
    rows = [
        "| setting | sets | determined | inside | 95 % range | errors / statsmodels | / lifelines' Cox |",
        "|" + " --- |" * 7,
    ]
    together: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for setting in sorted(held, key=lambda name: (name.split(",")[0], name.split(" epsilon")[1], name)):
        listed = [one for each in held[setting] for one in each]
        seen = [one for one in listed if "low" in one]
        inside = [one["low"] <= one["truth"] <= one["high"] for one in seen]
        spans = f"{_ratios(seen, 'plain')} | {_ratios(seen, 'cox')}"
        rows.append(
            f"| {setting} | {len(held[setting])} | {len(seen)} of {len(listed)} | {_part(inside)} | "
            f"{_range(sum(inside), len(inside))} | {spans} |"
        )
        for name in (setting.split(",")[0], "all"):
            together[name][0] += sum(inside)
            together[name][1] += len(inside)
    for name, (hits, of) in together.items():
        rows.append(f"| {name}, together | | {of} | {hits / max(of, 1):.4f} | {_range(hits, of)} | | |")
    return "\n".join(rows)


def _part(inside: list[bool]) -> str:
    return f"{np.mean(inside):.3f}" if inside else "none"


def _range(hits: int, of: int) -> str:
    """Clopper's and Pearson's; coefficients of a set are not independent, so it is somewhat wider."""
    if not of:
        return ""
    low = stats.beta.ppf(0.025, hits, of - hits + 1) if hits else 0.0
    high = stats.beta.ppf(0.975, hits + 1, of - hits) if hits < of else 1.0
    return f"{low:.3f} to {high:.3f}"


def _ratios(seen: list[dict[str, Any]], beside: str) -> str:
    """Least and most over the terms of the median of our error by the one beside it."""
    by_term: dict[str, list[float]] = defaultdict(list)
    for one in seen:
        if beside in one and one["term"] != "intercept":
            by_term[one["term"]].append(one["error"] / one[beside])
    medians = [float(np.median(ratios)) for ratios in by_term.values()]
    return f"{min(medians):.2f} to {max(medians):.2f}" if medians else ""


def _lines(stores: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for store in stores if store.exists() for line in store.open() if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exposure_and_survival")
    doing = parser.add_subparsers(dest="what", required=True)
    runs = doing.add_parser("run")
    runs.add_argument("--out", type=Path, required=True)
    runs.add_argument("--n", type=int, nargs="+", default=[5_000, 20_000, 100_000])
    runs.add_argument("--sets", type=int, default=1000)
    runs.add_argument("--first", type=int, default=0, help="number of the first set")
    runs.add_argument("--kinds", nargs="+", default=["rate", "survival"])
    runs.add_argument("--method", help="auto for rates, majorize for times to event unless said")
    runs.add_argument("--part", default="0/1", help="this one of so many parts, 0/2 and 1/2")
    doing.add_parser("table").add_argument("stores", type=Path, nargs="+")
    given = parser.parse_args()
    if given.what == "table":
        print(table(given.stores))
    else:
        one, of = map(int, given.part.split("/"))
        numbers = range(given.first, given.first + given.sets)
        run(given.out, given.n, numbers, given.kinds, given.method, (one, of))


if __name__ == "__main__":
    main()
