"""Persons through every front: files, estimators, search and evaluation; the guarantee names them."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.accounting.relations import Relation
from sottovoce.cli import app
from sottovoce.data.persons import Persons
from sottovoce.evaluation.private_evaluation import STEPS
from sottovoce.privacy.counting import CountOracle

BUDGET = sv.Budget(2.0, 1e-5)
ZERO_OUT = sv.Budget(2.0, 1e-5, "zero-out")
ROWS, PEOPLE = 600, 90
SECRET = "patient-000"
SCHEMA = """\
person = "patient_id"

[columns.age]
type = "numeric"
low = 0
high = 100

[target]
column = "ill"
classes = ["no", "yes"]
"""


def table(seed: int = 0) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    owners = np.concatenate([np.arange(PEOPLE), rng.integers(PEOPLE, size=ROWS - PEOPLE)])
    age = rng.uniform(0, 100, ROWS)
    ill = np.where(age + rng.normal(size=ROWS) * 20 > 50, "yes", "no")
    return {"patient_id": [f"patient-{o:03}" for o in owners], "age": age.tolist(), "ill": ill.tolist()}


def arrays(seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    held = table(seed)
    return np.array(held["age"])[:, None] / 100, np.array(held["ill"]), held["patient_id"]


def written(folder: Path, kind: str) -> Path:
    path, held = folder / f"claims.{kind}", pa.table(table())
    if kind == "parquet":
        pq.write_table(held, path)
    else:
        rows = zip(*(held.column(name).to_pylist() for name in held.column_names), strict=True)
        lines = [",".join(map(str, row)) for row in rows]
        path.write_text("\n".join([",".join(held.column_names), *lines]) + "\n")
    (folder / "schema.toml").write_text(SCHEMA)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_command_line_fits_and_evaluates_for_persons(tmp_path: Path, kind: str) -> None:
    data, model = written(tmp_path, kind), tmp_path / "model.json"
    run = CliRunner()
    common = ["--epsilon", "2", "--delta", "1e-5"]
    fitted = run.invoke(
        app, ["fit", str(data), "--schema", str(tmp_path / "schema.toml"), *common, "-o", str(model)]
    )
    assert fitted.exit_code == 0, fitted.output
    assert "all records of one person" in fitted.output
    assert f"n = {PEOPLE}" in fitted.output
    assert SECRET not in model.read_text() + fitted.output
    plain = SCHEMA.replace('person = "patient_id"\n', "")
    (tmp_path / "plain.toml").write_text(plain)
    again = ["fit", str(data), "--schema", str(tmp_path / "plain.toml"), "--person", "patient_id", *common]
    zero_out = ["--relation", "zero-out", "--persons", "100", "--json", "-o", str(tmp_path / "zero.json")]
    second = run.invoke(app, [*again, *zero_out])
    assert second.exit_code == 0, second.output
    stated = json.loads(second.stdout)["guarantee"]
    assert (stated["relation"], stated["unit"], stated["n"]) == ("REPLACE_SPECIAL", "person", 100)
    refused = run.invoke(app, [*again, "--relation", "zero-out", "-o", str(tmp_path / "no.json")])
    assert refused.exit_code != 0
    ledger = ["--ledger", str(tmp_path / "budget.db"), "--dataset", "claims"]
    cap = ["--dataset", "claims", "--epsilon", "5", "--delta", "1e-4"]
    made = run.invoke(app, ["ledger", "create", ledger[1], *cap, "--unit", "person", "--json"])
    assert json.loads(made.stdout)["unit"] == "person"
    counted = run.invoke(app, ["evaluate", str(model), str(data), *common, *ledger])
    assert counted.exit_code == 0, counted.output
    for words in ("replace all records of one person", "under zero-out nothing is stated", "Persons by true"):
        assert words in counted.output
    single = run.invoke(app, [*again[:4], *common, *ledger, "-o", str(tmp_path / "no.json")])
    assert isinstance(single.exception, sv.errors.LedgerError)
    assert "for every person for life" in str(single.exception)
    shown = run.invoke(app, ["ledger", "show", ledger[1]]).output
    assert "replace-one, for every person" in shown
    kept = json.loads(run.invoke(app, ["ledger", "show", ledger[1], "--json"]).output)["datasets"][0]
    assert (kept["relation"], kept["unit"]) == ("REPLACE_ONE", "person")
    found = run.invoke(app, ["evaluate", str(model), str(data), *common, "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["unit"] == "person"
    assert json.loads(found.stdout)["accuracy"]["n"] == PEOPLE


def test_streamed_and_held_files_give_persons_the_same_answers(tmp_path: Path) -> None:
    path, schema = written(tmp_path, "parquet"), sv.Schema.load(tmp_path / "schema.toml")
    streamed = sv.Records.from_parquet(path, schema, memory=0)
    held = sv.Records.from_table(path, schema)
    assert streamed.n == held.n == PEOPLE
    w = np.array([1.0, -0.5])
    one, other = (sv.Risk(records, sv.losses.Logistic()).gradient(w) for records in (streamed, held))
    np.testing.assert_allclose(one, other, atol=1e-12)
    assert sv.Schema.from_dict(schema.to_dict()) == schema
    assert schema.digest != replace(schema, person=None).digest
    assert 'person = "patient_id"' in schema.to_toml()


def test_estimators_and_search_promise_to_persons() -> None:
    X, y, keys = arrays()
    model = sv.PrivateClassifier(epsilon=2.0, delta=1e-5, classes=("no", "yes")).fit(X, y, groups=keys)
    assert (model.guarantee_.unit, model.guarantee_.n) == ("person", PEOPLE)
    search = sv.PrivateSearch(
        sv.PrivateClassifier(classes=("no", "yes")), {"strength": [1e-6, 1e-2]}, epsilon=4.0, delta=1e-5
    ).fit(X, y, groups=keys)
    assert (search.guarantee_.unit, search.guarantee_.n) == ("person", PEOPLE)
    assert sum(result.guarantee.n for result in search.results_) < 2 * PEOPLE
    unnamed = sv.PrivateSearch(
        sv.PrivateClassifier(classes=("no", "yes")), {"strength": [1e-6]}, delta=1e-5, relation="zero-out"
    )
    with pytest.raises(sv.errors.ParameterError, match="may not be counted"):
        unnamed.fit(X, y, groups=keys)
    declared = unnamed.fit(X, y, groups=keys, persons=PEOPLE)
    assert declared.guarantee_.relation is Relation.ZERO_OUT
    assert declared.results_[0].guarantee.n <= PEOPLE


class Steady:
    """Predicts by the sign of the first column."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[(np.asarray(X)[:, 0] > 0.5).astype(int)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        yes = np.clip(np.asarray(X)[:, 0], 0.01, 0.99)
        return np.column_stack([1 - yes, yes])


@pytest.mark.parametrize("budget", [BUDGET, ZERO_OUT])
def test_evaluation_averages_over_persons_and_no_person_moves_a_figure_past_its_charge(
    budget: sv.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exact counts of neighbouring tables differ by no more than was charged for."""
    counted: list[tuple[np.ndarray, float]] = []

    def exact(
        self: Any, compute: Any, sensitivity: float, entries: int, units: int, figure: object
    ) -> tuple[np.ndarray, float]:
        counted.append((compute(), sensitivity))
        return counted[-1][0], 1.0

    monkeypatch.setattr(CountOracle, "_noisy", exact)
    X, y, keys = arrays()
    mine = np.array(keys) == SECRET
    rng = np.random.default_rng(1)
    for extra in (1, 40):
        other = (rng.uniform(size=(extra, 1)), rng.choice(["no", "yes"], extra), [SECRET] * extra)
        if budget.relation is Relation.ZERO_OUT:
            other = (other[0][:0], other[1][:0], [])
        swapped = (
            np.concatenate([X[~mine], other[0]]),
            np.concatenate([y[~mine], other[1]]),
            [key for key in keys if key != SECRET] + other[2],
        )
        counted.clear()
        for rows, labels, names in ((X, y, keys), swapped):
            found = evaluation.evaluate(
                Steady(), rows, labels, budget=budget, groups=names, persons=PEOPLE, simulate=0
            )
            assert found.accuracy.n == PEOPLE
        half = len(counted) // 2
        for (before, sensitivity), (after, _) in zip(counted[:half], counted[half:], strict=True):
            assert np.linalg.norm(before - after) <= sensitivity
            assert np.all(before == np.floor(before))


def test_a_model_that_names_persons_is_evaluated_for_persons() -> None:
    """Their keys come in a column of categories, too."""
    columns = {"a": {"type": "numeric", "low": -1, "high": 1}}
    schema = sv.Schema.from_dict(
        {"person": "who", "columns": columns, "target": {"column": "y", "classes": ["n", "p"]}}
    )
    rng = np.random.default_rng(0)
    keys = pa.array([f"w{number % 30}" for number in range(120)])
    labels = np.where(rng.random(120) < 0.5, "n", "p")
    table = pa.table({"a": rng.uniform(-1.0, 1.0, 120), "y": labels, "who": keys}).to_pandas()
    table["who"] = table["who"].astype("category")
    model = sv.fit(table, schema, epsilon=1.0, delta=1e-5, simulate=1)
    assert (model.result.guarantee.unit, model.result.guarantee.n) == ("person", 30)
    budget = sv.Budget(1.0, 1e-5)
    assert evaluation.accuracy(model, table, budget=budget, simulate=1).n == 30
    with pytest.raises(sv.errors.ParameterError, match="may not be counted"):
        evaluation.accuracy(model, table, budget=replace(budget, relation=Relation.ZERO_OUT), simulate=1)
    with pytest.raises(sv.errors.ParameterError, match="pass groups"):
        evaluation.accuracy(model, model.encode(table), labels, budget=budget, persons=30, simulate=1)


def test_a_persons_cells_are_whole_steps_that_sum_to_no_more_than_one_person() -> None:
    people = Persons.of(["a"] * 7 + ["b"] * 3 + ["c"], 11, None, lenient=False)
    places = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 0])
    cells = people.cells(places, 4, STEPS)
    assert cells.sum() <= 3 * STEPS
    np.testing.assert_allclose(cells / STEPS, [3 / 7 + 1, 2 / 7, 1 / 7, 1 / 7 + 1], atol=4 / STEPS)
    assert people.floored(np.ones(11), STEPS).max() <= STEPS


def test_counts_under_zero_out_are_charged_for_one_and_selection_for_one_fall() -> None:
    X, y, _ = arrays()
    for budget, due in ((BUDGET, math.sqrt(2.0)), (ZERO_OUT, 1.0)):
        ledger = sv.Ledger(budget)
        evaluation.confusion_matrix(Steady(), X, y, budget=budget, ledger=ledger)
        (grant,) = ledger.history
        assert grant.event.sensitivity == pytest.approx(due, rel=1e-6)  # type: ignore[union-attr]


@pytest.mark.parametrize("option", [("--invalid", "zero"), ("--relation", "zero-out")])
def test_no_number_of_persons_is_told_where_it_may_not_be_counted(
    tmp_path: Path, option: tuple[str, str]
) -> None:
    """Public facts refuse it: before a warning could name how many there are."""
    path, model = written(tmp_path, "csv"), tmp_path / "model.json"
    sv.fit(path, tmp_path / "schema.toml", budget=BUDGET, simulate=0, method="majorize").save(model)
    told = CliRunner().invoke(
        app, ["evaluate", str(model), str(path), "--epsilon", "0.1", "--delta", "1e-6", *option]
    )
    assert told.exit_code != 0
    assert str(PEOPLE) not in told.output
    terms = {"invalid": "zero"} if option[0] == "--invalid" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sv.errors.ParameterError, match="may not be counted"):
            sv.fit(
                path,
                tmp_path / "schema.toml",
                budget=BUDGET if terms else ZERO_OUT,
                evaluate=0.1,
                reading=sv.ReadOptions(**terms),
            )
