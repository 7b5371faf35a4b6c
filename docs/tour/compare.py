"""Adult scored in DuckDB, ONNX Runtime and scikit-learn, compared with our own. Imports no Sottovoce."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pandas as pd

CHANCE = "probability of >50K"


def main(data: Path, folder: Path) -> None:
    table = pd.read_csv(data).rename(columns=str.strip)
    ours = pd.read_csv(folder / "predictions.csv")
    own = ours.filter(like=">50K").iloc[:, -1].to_numpy()
    found = {"DuckDB": in_duckdb(table, folder), "ONNX Runtime": in_onnx(table, folder)}
    found["scikit-learn"] = in_sklearn(table, folder)
    for tool, chances in found.items():
        gap = float(np.abs(chances - own).max())
        print(f"{tool}: {len(chances):,} rows, largest difference of a probability {gap:.1e}")
        assert gap < 1e-6, tool
    assert not any(name.split(".")[0] == "sottovoce" for name in sys.modules)


def in_duckdb(table: pd.DataFrame, folder: Path) -> Any:
    with duckdb.connect() as connection:
        connection.register("adult", table)
        return connection.execute((folder / "score.sql").read_text()).fetchdf()[CHANCE].to_numpy()


def in_onnx(table: pd.DataFrame, folder: Path) -> Any:
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    given = {}
    for wanted in session.get_inputs():
        column = table[wanted.name]
        text = wanted.type == "tensor(string)"
        given[wanted.name] = (column.fillna("").astype(object) if text else column.astype(float)).to_numpy()[
            :, None
        ]
    return session.run(["probabilities"], given)[0][:, 1]


def in_sklearn(table: pd.DataFrame, folder: Path) -> Any:
    pipeline = pickle.loads((folder / "pipeline.pickle").read_bytes())
    return pipeline.predict_proba(table)[:, 1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
