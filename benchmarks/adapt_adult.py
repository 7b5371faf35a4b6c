"""Adult as a user trains it: the published text through a schema and `fit`, judged on its test file."""

from __future__ import annotations

import gzip
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from benchmarks.adapt_problems import FOLDER, adult_frames, adult_schema


@lru_cache(maxsize=1)
def _files() -> tuple[Path, Any, np.ndarray, Any]:
    """The training file as text, the rows held out, whether each earns more, and the schema."""
    frames = adult_frames()
    folder = Path(tempfile.mkdtemp())
    raw = folder / "adult.csv"
    with gzip.open(FOLDER / "adult.csv.gz") as published:
        raw.write_bytes(published.read())
    marks = frames[1]["Y"].str.startswith(">50K").to_numpy()
    return raw, frames[1], marks, adult_schema(frames[0])


def adult_model(epsilon: float, seed: int | None = None) -> dict[str, float]:
    """Accuracy and mean log loss on the test file of one run with the default method."""
    raw, held, marks, schema = _files()
    model = sv.fit(raw, schema, epsilon=epsilon, delta=1e-6, simulate=seed)
    odds = np.asarray(model.decision_function(held)).ravel()
    return {
        "accuracy": float(np.mean((odds > 0.0) == marks)),
        "loss": float(np.logaddexp(0.0, np.where(marks, -odds, odds)).mean()),
    }


def spread(figure: str, found: list[dict[str, float]]) -> dict[str, object]:
    """Mean, standard error and worst of a figure."""
    reached = [run[figure] for run in found]
    worst = np.min(reached) if figure == "accuracy" else np.max(reached)
    error = float(np.std(reached, ddof=1) / np.sqrt(len(reached)))
    return {figure: float(np.mean(reached)), "standard error": error, "worst": float(worst)}
