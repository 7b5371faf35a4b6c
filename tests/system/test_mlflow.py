"""docs/howto/mlflow.md: what it logs was released or declared; no score of rows is among it."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "mlflow.md"


class Tracker:
    """Stands for the module mlflow and keeps all it is told."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}

    def start_run(self) -> Any:
        return nullcontext()

    def set_tags(self, values: dict[str, str]) -> None:
        self.told |= values

    log_params = log_metrics = set_tags

    def log_dict(self, values: Any, name: str) -> None:
        self.told[name] = values

    log_text = log_dict


def test_the_example_logs_released_figures_and_no_score_of_rows() -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[0]
    scope: dict[str, Any] = {}
    exec(code.replace('find_spec("mlflow")', "False"), scope)
    model, rows, tracker = scope["model"], scope["claims"], Tracker()
    scope["log_released"](model, tracker)
    numbers = {name: value for name, value in tracker.told.items() if isinstance(value, float)}
    released = {figure.name: figure.value for figure in model.figures}
    assert {name: numbers[name] for name in released} == released
    assert {"epsilon", "delta"} <= set(numbers)
    exact = float(np.mean(model.predict(rows) == rows.claim))
    assert exact not in numbers.values()
    assert tracker.told["guarantee"] == str(model.result.guarantee)
    assert "charged, together (1, 1e-06)" in tracker.told["caveat 1"]
    assert sv.Model.from_dict(tracker.told["model.json"]).schema == model.schema
    assert str(model.result.guarantee) in tracker.told["score.sql"]
    assert "disable=True" in code
