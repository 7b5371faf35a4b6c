"""Model files: exact round trips, refusals, and nothing in them or their page that was not released."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce import fitting
from sottovoce.cli.predictions import as_csv
from sottovoce.data import files as tables
from sottovoce.data.schema import Schema
from sottovoce.model import Model
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.report import render
from tests.doubles import Recorder, Replay
from tests.tables import RANGE, THREE, TWO, lines, write

SCHEMAS = {"two classes": TWO, "three classes": THREE, "a range": RANGE}


def clock() -> datetime:
    return datetime(2026, 5, 4, tzinfo=UTC)


def fitted(path: Path, schema: Schema, **options: object) -> Model:
    return fitting.fit(
        path, schema, **{"epsilon": 2.0, "delta": 1e-5, "simulate": 1, "clock": clock, **options}
    )  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "claims.csv")


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_model_survives_the_round_trip_exactly(schema: Schema, data: Path, tmp_path: Path) -> None:
    model = fitted(data, schema)
    model.save(tmp_path / "model.json")
    back = Model.load(tmp_path / "model.json")
    rows = tables.read(data, schema, target=False).features
    assert back.to_dict() == model.to_dict()
    assert np.array_equal(back.predict(rows), model.predict(rows))
    assert as_csv(back, rows) == as_csv(model, rows)
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_a_budget_is_given_whole_or_by_its_numbers(data: Path) -> None:
    options: dict[str, object] = {"method": "majorize", "simulate": 0}
    numbers = fitting.fit(data, TWO, epsilon=2.0, delta=1e-5, relation="zero-out", **options)  # type: ignore[arg-type]
    whole = fitting.fit(data, TWO, budget=sv.Budget(2.0, 1e-5, "zero-out"), **options)  # type: ignore[arg-type]
    assert whole.result.weights.tolist() == numbers.result.weights.tolist()
    assert whole.result.guarantee == numbers.result.guarantee
    for said in (
        {"budget": sv.Budget(2.0, 1e-5), "epsilon": 2.0},
        {"budget": sv.Budget(2.0, 1e-5), "relation": "zero-out"},
        {"budget": 2.0},
        {"epsilon": 2.0},
        {"delta": 1e-5},
        {},
    ):
        with pytest.raises(sv.errors.ParameterError):
            fitting.fit(data, TWO, **said)


def test_a_model_says_what_it_is_in_a_line(data: Path) -> None:
    shown = repr(fitted(data, TWO))
    assert "target=" in shown
    assert len(shown) < 200


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_model_learns_what_is_there(schema: Schema, data: Path) -> None:
    model = fitted(data, schema)
    table = tables.read(data, schema)
    predicted = model.predict(table.features)
    if model.is_classifier:
        share = float(np.mean(predicted == table.target))
        assert share > {2: 0.8, 3: 0.6}[len(model.classes_)]
    else:
        assert table.target is not None
        assert np.mean(np.abs(predicted - table.target)) < 0.8 * np.mean(np.abs(table.target - 250.0))


def test_probabilities_belong_to_the_logistic_loss(data: Path) -> None:
    rows = tables.read(data, TWO, target=False).features
    chances = fitted(data, TWO).predict_proba(rows)
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert not hasattr(fitted(data, TWO, loss="sigmoid"), "predict_proba")
    assert not hasattr(fitted(data, RANGE), "predict_proba")


def test_a_dataframe_is_encoded_as_the_file_is(data: Path) -> None:
    model = fitted(data, TWO)
    frame = pd.read_csv(data)
    assert np.array_equal(model.encode(frame), tables.read(data, TWO, target=False).features)


@pytest.mark.parametrize(
    ("schema", "options", "words"),
    [
        (Schema(TWO.columns), {}, "no target"),
        (TWO, {"loss": "pseudo-huber"}, "does not fit"),
        (RANGE, {"loss": "logistic"}, "does not fit"),
        (THREE, {"loss": "sigmoid"}, "softmax"),
        (TWO, {"delta": "1/m"}, "1/n"),
        (TWO, {"regularizer": "l1"}, "l2"),
    ],
)
def test_what_does_not_fit_is_refused(
    schema: Schema, options: dict[str, object], words: str, data: Path
) -> None:
    with pytest.raises(sv.errors.ParameterError, match=words):
        fitted(data, schema, **options)


def _set(*keys: str, value: object) -> Callable[[dict[str, object]], None]:
    def spoil(raw: dict[str, object]) -> None:
        for key in keys[:-1]:
            raw = raw[key]  # type: ignore[assignment]
        raw[keys[-1]] = value

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _set("format", value="other"),
        _set("schema", "columns", "age", "low", value=0.0),
        _set("schema", value={}),
        _set("versions", value=3),
        _set("result", "weights", value=[1.0]),
        _set("result", value=None),
        lambda raw: raw.pop("loss"),
        lambda raw: raw.clear(),
    ],
)
def test_a_damaged_model_is_refused(spoil: Callable[[dict[str, object]], None], data: Path) -> None:
    raw = json.loads(json.dumps(fitted(data, TWO).to_dict()))
    spoil(raw)
    with pytest.raises(sv.errors.DataError):
        Model.from_dict(raw)


def test_rows_of_another_width_are_refused(data: Path) -> None:
    with pytest.raises(sv.errors.DataError, match="6 encoded columns"):
        fitted(data, TWO).predict(np.zeros((2, 3)))


def everything_written(
    data: Path, schema: Schema, noise: object, patch: pytest.MonkeyPatch, folder: Path, **options: object
) -> list[bytes]:
    """Model file, saved run and page of one fit."""
    patch.setattr("sottovoce.training.noise_for", lambda simulate: noise)
    model = fitted(data, schema, **options)
    model.save(folder / "model.json")
    model.result.save(folder / "run.json")
    page = render(model.result, model.card(), clock=clock)
    return [
        (folder / "model.json").read_bytes(),
        (folder / "run.json").read_bytes(),
        page.encode(),
        repr(model).encode(),
    ]


@pytest.mark.parametrize(
    "options",
    [{}, {"inference": sv.Inference(0.3, anyway=True)}, {"reading": sv.ReadOptions(invalid="zero")}],
    ids=str,
)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_same_released_answers_give_the_same_files_over_neighbouring_data(
    schema: Schema, options: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = lines(500)
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    here.write_text("\n".join(rows), encoding="utf-8")
    other = (
        "oops,1e308,nowhere,maybe,none,-7e9" if options.get("reading") else "1e9,-1e9,elsewhere,yes,high,1e7"
    )
    there.write_text("\n".join([*rows[:17], other, *rows[18:]]), encoding="utf-8")
    recorder = Recorder(SimulatedNoise(5))
    first = everything_written(here, schema, recorder, monkeypatch, tmp_path, **options)
    replay = Replay(recorder.tape, simulated=True)
    second = everything_written(there, schema, replay, monkeypatch, tmp_path, **options)
    assert replay.spent
    assert first == second


def test_labels_that_a_spreadsheet_would_run_are_written_harmless() -> None:
    from sottovoce.cli.predictions import as_csv

    class Says:
        classes_ = np.array(["=1+1", "@x", "-a", "+b", "-1", "plain"])

        def predict(self, rows: np.ndarray) -> np.ndarray:
            return self.classes_

    lines = as_csv(Says(), np.zeros((6, 1))).decode().splitlines()[1:]  # type: ignore[arg-type]
    assert lines == ['"\'=1+1"', '"\'@x"', '"\'-a"', '"\'+b"', '"-1"', '"plain"']
