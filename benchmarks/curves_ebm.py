"""DP-EBM and EBM on one table, run by `benchmarks.curves` in an environment that has interpret-core."""

import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from interpret.glassbox import ExplainableBoostingClassifier
from interpret.privacy import DPExplainableBoostingClassifier
from sklearn.ensemble import HistGradientBoostingClassifier

GRID = [(rate, rounds) for rate in (0.01, 0.05, 0.2) for rounds in (20, 80, 300)]


def named(setting: tuple[float, int]) -> str:
    return f"rate {setting[0]:g}, rounds {setting[1]}"


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    schema, asked = (json.loads((folder / f"{part}.json").read_text()) for part in ("schema", "asked"))
    train, test = (pd.read_csv(folder / f"{part}.csv", dtype=object) for part in ("train", "test"))
    target = schema["target"]["column"]
    names = list(schema["columns"])
    numbers = [name for name in names if schema["columns"][name]["type"] == "numeric"]
    bounds = {
        name: (schema["columns"][name]["low"], schema["columns"][name]["high"])
        if name in numbers
        else (0.0, 1.0)
        for name in names
    }
    kinds = ["continuous" if name in numbers else "nominal" for name in names]
    positive = sorted(map(str, schema["target"]["classes"]))[1]

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        held = frame[names].copy()
        for name in names:
            if name in numbers:
                low, high = bounds[name]
                held[name] = held[name].astype(float).fillna((low + high) / 2).clip(low, high)
            else:
                held[name] = held[name].astype(object).where(held[name].notna(), "missing").astype(str)
        return held

    X, Z = rows(train), rows(test)
    y, z = ((frame[target].astype(str) == positive).to_numpy().astype(int) for frame in (train, test))

    def loss(model) -> float:  # type: ignore[no-untyped-def]
        chance = np.clip(model.predict_proba(Z)[:, 1], 1e-6, 1 - 1e-6)
        return float(-np.mean(np.where(z == 1, np.log(chance), np.log1p(-chance))))

    def private(epsilon: float, seed: int, **settings: object) -> float:
        model = DPExplainableBoostingClassifier(
            epsilon=epsilon,
            delta=asked["delta"],
            feature_names=names,
            feature_types=kinds,
            privacy_bounds=bounds,
            random_state=seed,
            n_jobs=1,
            **settings,
        )
        return loss(model.fit(X, y))

    known: dict[tuple[float, str], dict[int, float]] = defaultdict(dict)
    for row in asked["known"]:
        known[row["epsilon"], row["setting"]][row["run"]] = row["loss"]

    def kept(epsilon: float, setting: str, run: int, fitted: Callable[[], float]) -> None:
        losses = known[epsilon, setting]
        if run not in losses:
            losses[run] = fitted()
            row = {"epsilon": epsilon, "setting": setting, "run": run, "loss": losses[run]}
            print(json.dumps(row), flush=True)

    exact = ExplainableBoostingClassifier(
        feature_names=names, feature_types=kinds, interactions=0, outer_bags=4, n_jobs=1, random_state=0
    )
    kept(0.0, "EBM, not private", 0, lambda: loss(exact.fit(X, y)))
    boosted = HistGradientBoostingClassifier(
        categorical_features=[kind == "nominal" for kind in kinds], early_stopping=True, random_state=0
    )

    def coded(frame: pd.DataFrame) -> pd.DataFrame:
        held = frame.copy()
        for name in (name for name in names if name not in numbers):
            held[name] = pd.Categorical(frame[name], sorted(X[name].unique())[:250]).codes
        return held

    def boosting() -> float:
        chance = np.clip(boosted.fit(coded(X), y).predict_proba(coded(Z))[:, 1], 1e-6, 1 - 1e-6)
        return float(-np.mean(np.where(z == 1, np.log(chance), np.log1p(-chance))))

    kept(0.0, "gradient boosting, not private", 0, boosting)

    def tried(epsilon: float, setting: tuple[float, int], run: int) -> None:
        rate, rounds = setting
        fitted = partial(private, epsilon, run, learning_rate=rate, max_rounds=rounds)
        kept(epsilon, named(setting), run, fitted)

    for epsilon in asked["epsilons"]:
        for run in range(1 if asked["best"] else asked["runs"]):
            kept(epsilon, "defaults", run, partial(private, epsilon, run))
            for setting in GRID:
                tried(epsilon, setting, run)
        while asked["best"]:
            setting = min(GRID, key=lambda setting: np.mean(list(known[epsilon, named(setting)].values())))
            if len(known[epsilon, named(setting)]) >= asked["runs"]:
                break
            for run in range(asked["runs"]):
                tried(epsilon, setting, run)


if __name__ == "__main__":
    main()
