"""DP-EBM at its defaults: run by `benchmarks.documented_contest`, in an environment with interpret-core."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    schema, asked = (json.loads((folder / f"{part}.json").read_text()) for part in ("schema", "asked"))
    train, test = (
        pd.read_csv(folder / f"{part}.csv", dtype=object, keep_default_na=False) for part in ("train", "test")
    )
    aim, columns = schema["target"], schema["columns"]
    numbers = [name for name in columns if columns[name]["type"] == "numeric"]
    bounds = {name: (columns[name]["low"], columns[name]["high"]) for name in numbers}
    known = {
        "delta": asked["delta"],
        "feature_names": list(columns),
        "feature_types": ["continuous" if name in numbers else "nominal" for name in columns],
        "privacy_bounds": {name: bounds.get(name, (0.0, 1.0)) for name in columns},
        "n_jobs": 1,
    }

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[list(columns)].astype({name: float if name in numbers else str for name in columns})

    X, Z = rows(train), rows(test)
    y, z = (frame["answer"].astype(float).to_numpy() for frame in (train, test))

    def loss(epsilon: float, seed: int) -> float:
        given = {**known, "epsilon": epsilon, "random_state": seed}
        if "classes" in aim:
            model = DPExplainableBoostingClassifier(**given).fit(X, y.astype(int))
            chance = np.clip(model.predict_proba(Z)[:, 1], 1e-6, 1 - 1e-6)
            return float(-np.mean(np.where(z == 1, np.log(chance), np.log1p(-chance))))
        ends = {"privacy_target_min": aim["low"], "privacy_target_max": aim["high"]}
        model = DPExplainableBoostingRegressor(**given, **ends).fit(X, y)
        return float(np.mean((model.predict(Z) - z) ** 2) / np.var(z))

    for epsilon, runs in asked["runs"].items():
        for run in runs:
            row = {"epsilon": float(epsilon), "run": run, "loss": loss(float(epsilon), asked["first"] + run)}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
