"""Estimators and commands, too, say the same over neighbours that give the same released answers."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import cli
from sottovoce.estimators import PrivateClassifier, PrivateRegressor
from sottovoce.noise import SimulatedNoise
from tests.doubles import Recorder, Replay
from tests.tables import RANGE, THREE, TWO, lines

BUDGET = ("--epsilon", "1", "--delta", "1e-5")


@contextmanager
def hearing(noise: object) -> Iterator[None]:
    """Training, evaluation and tuning draw from this source."""
    with (
        mock.patch("sottovoce.training.noise_for", return_value=noise),
        mock.patch("sottovoce.selection.noise_for", return_value=noise),
    ):
        yield


def insist_same(here: Callable[[], list[bytes]], there: Callable[[], list[bytes]], seed: int) -> None:
    recorder = Recorder(SimulatedNoise(seed))
    with hearing(recorder):
        first = here()
    assert recorder.tape
    replay = Replay(recorder.tape, simulated=True)
    with hearing(replay):
        second = there()
    assert replay.spent
    assert first == second


def arrays(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y with one row and its y replaced by an extreme one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, 1, -1)
    other_X, other_y = X.copy(), y.copy()
    place = int(rng.integers(120))
    other_X[place] = rng.choice([1e6, -1.0, 0.0]) * X[place]
    other_y[place] = -y[place]
    return X, y, other_X, other_y


def fitted(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> list[bytes]:
    estimator = make().fit(X, y)
    probe = np.eye(3)
    return [pickle.dumps(estimator), repr(estimator).encode(), np.asarray(estimator.predict(probe)).tobytes()]


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "classifier": lambda: PrivateClassifier(epsilon=1.0, delta=1e-5, classes=(-1, 1), simulate=0),
    "classifier, cubic": lambda: PrivateClassifier(
        epsilon=3.0, delta=1e-5, classes=(-1, 1), method="cubic", loss="sigmoid", simulate=0
    ),
    "classifier, tolerance": lambda: PrivateClassifier(
        epsilon=3.0,
        delta=1e-5,
        classes=(-1, 1),
        method="2opt-ls",
        tolerance=sv.Tolerance(gradient=0.3),
        simulate=0,
    ),
    "three classes": lambda: PrivateClassifier(epsilon=1.0, delta=1e-5, classes=(-1, 1, 2), simulate=0),
    "regressor": lambda: PrivateRegressor(epsilon=1.0, delta=1e-5, target=(-1.0, 1.0), simulate=0),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_says_the_same_over_neighbours(name: str, seed: int) -> None:
    X, y, other_X, other_y = arrays(seed)
    insist_same(
        lambda: fitted(ESTIMATORS[name], X, y), lambda: fitted(ESTIMATORS[name], other_X, other_y), seed
    )


class Desk:
    """A folder with a table and its neighbour, and the command line over either."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder, self.capsys, self.patch = folder, capsys, patch
        patch.chdir(folder)
        rows = lines(300)
        self.tables = {"here": rows, "there": [*rows[:40], "1e9,,nowhere,yes,high,-7", *rows[41:]]}

    def put(self, table: str) -> None:
        (self.folder / "claims.csv").write_text("\n".join(self.tables[table]), encoding="utf-8")

    def run(self, *arguments: str) -> list[bytes]:
        """What a command printed and wrote."""
        self.patch.setattr(sys, "argv", ["sottovoce", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = self.capsys.readouterr()
        written = sorted(path for path in self.folder.iterdir() if path.suffix in (".json", ".html"))
        return [
            str(end.value.code).encode(),
            said.out.encode(),
            said.err.encode(),
            *(p.read_bytes() for p in written),
        ]


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("schema", [TWO, THREE, RANGE], ids=["two classes", "three classes", "a range"])
@pytest.mark.parametrize("more", [(), ("--report", "report.html", "--intervals", "0.1"), ("--json",)])
def test_fit_writes_and_prints_the_same_over_neighbours(
    desk: Desk, schema: Any, more: tuple[str, ...]
) -> None:
    (desk.folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")

    def fit(table: str) -> list[bytes]:
        desk.put(table)
        command = (
            "fit",
            "claims.csv",
            "--schema",
            "schema.toml",
            *BUDGET,
            "-o",
            "model.json",
            "--invalid",
            "zero",
        )
        return desk.run(*command, *more)

    insist_same(lambda: fit("here"), lambda: fit("there"), 1)


@pytest.mark.parametrize("schema", [TWO, THREE, RANGE], ids=["two classes", "three classes", "a range"])
def test_evaluate_prints_the_same_over_neighbours(desk: Desk, schema: Any) -> None:
    (desk.folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
    desk.put("here")
    fit = ("fit", "claims.csv", "--schema", "schema.toml", *BUDGET, "-o", "model.json", "--simulate", "1")
    assert desk.run(*fit)[0] == b"0"

    def evaluate(table: str) -> list[bytes]:
        desk.put(table)
        return desk.run("evaluate", "model.json", "claims.csv", *BUDGET, "--invalid", "zero")

    insist_same(lambda: evaluate("here"), lambda: evaluate("there"), 2)
