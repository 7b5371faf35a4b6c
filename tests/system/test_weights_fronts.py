"""Declared weights through every front: schema, files, estimators, search, command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import app
from sottovoce.cli.wording import in_words_of_the_command_line
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.data.weights import counts, declared_class_weights
from sottovoce.errors import DataError, ParameterError
from sottovoce.models.softmax import SoftmaxRisk
from tests.strategies import attack

ROWS = 400
PLAIN = Schema((Numeric("age", 0, 100),), Target("ill", classes=("yes", "no")))
WEIGHTED = replace(
    PLAIN,
    weight="design",
    weight_cap=4.0,
    target=Target("ill", classes=("yes", "no"), class_weight={"yes": 3.0}),
)


def table(seed: int = 0) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    age = rng.uniform(0, 100, ROWS)
    ill = np.where(age + rng.normal(size=ROWS) * 20 > 50, "yes", "no")
    design = rng.uniform(-1.0, 6.0, ROWS)
    return {"age": age.tolist(), "ill": ill.tolist(), "design": design.tolist()}


def expected(held: dict[str, list[Any]]) -> np.ndarray:
    shares = np.where(np.array(held["ill"]) == "yes", 1.0, 1.0 / 3.0)
    return np.asarray(np.clip(held["design"], 0.0, 4.0) / 4.0 * shares)


def written(folder: Path, held: dict[str, list[Any]]) -> tuple[Path, Path]:
    pq.write_table(pa.table(held), folder / "rows.parquet")
    pd.DataFrame(held).to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv", folder / "rows.parquet"


def test_every_door_gives_rows_their_weight_over_the_cap_and_their_class_over_the_largest(
    tmp_path: Path,
) -> None:
    held = table()
    csv, parquet = written(tmp_path, held)
    for records in (
        sv.Records.from_table(pd.DataFrame(held), WEIGHTED),
        sv.Records.from_table(csv, WEIGHTED),
        sv.Records.from_parquet(parquet, WEIGHTED, memory=0),
        sv.Records.from_parquet(parquet, WEIGHTED),
    ):
        np.testing.assert_allclose(records._rows.weights, expected(held), rtol=1e-12)  # type: ignore[union-attr]
        assert records.weight_cap == 1.0
        assert records.n == ROWS


@attack
@given(seed=st.integers(0, 10**9), norm=st.sampled_from([1, 2, np.inf]))
def test_no_weights_move_a_sum_further_than_records_that_count_one(norm: float, seed: int) -> None:
    """||q a - r b|| over q, r of `counts` never passes the larger of ||a||, ||b||, ||a - b||."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 3)) * rng.choice([0.01, 1.0, 100.0], (2, 1))
    cap, shares = float(10 ** rng.uniform(-6, 6)), tuple(10 ** rng.uniform(-6, 6, 3))
    weights = rng.choice([0.0, -1.0, cap, 0.5 * cap, 1e300, 1e-300], 2)
    q, r = counts(2, weights=weights, cap=cap, codes=rng.integers(-1, 3, 2), class_weights=shares)
    assert min(q, r) >= 0.0
    assert max(q, r) <= 1.0
    furthest = max(np.linalg.norm(part, norm) for part in (a, b, a - b))
    assert np.linalg.norm(q * a - r * b, norm) <= furthest * (1 + 1e-12)


def test_one_record_changes_what_no_other_counts() -> None:
    held = table()
    before = sv.Records.from_table(pd.DataFrame(held), WEIGHTED)._rows.weights  # type: ignore[union-attr]
    held["design"][3], held["ill"][3] = 1e300, "no"
    after = sv.Records.from_table(pd.DataFrame(held), WEIGHTED)._rows.weights  # type: ignore[union-attr]
    assert np.array_equal(np.delete(before, 3), np.delete(after, 3))
    assert after[3] == 1.0 / 3.0


@pytest.mark.parametrize("cell", [None, "", "much", np.nan, np.inf])
def test_a_missing_weight_is_refused_without_a_quote_or_counts_nothing(tmp_path: Path, cell: Any) -> None:
    held = table()
    held["design"] = [*held["design"][:-1], cell]
    frame = pd.DataFrame({**held, "design": pd.Series(held["design"], dtype=object)})
    with pytest.raises(DataError, match="'design'") as refusal:
        sv.Records.from_table(frame, WEIGHTED)
    assert "much" not in str(refusal.value)
    lenient = sv.Records.from_table(frame, WEIGHTED, invalid="zero")
    assert lenient._rows.weights[-1] == 0.0  # type: ignore[union-attr, index]


def test_a_schema_with_weights_survives_its_files(tmp_path: Path) -> None:
    for suffix, text in ((".toml", WEIGHTED.to_toml()), (".json", json.dumps(WEIGHTED.to_dict()))):
        path = tmp_path / f"schema{suffix}"
        path.write_text(text)
        assert Schema.load(path) == WEIGHTED
    assert WEIGHTED.target is not None
    assert WEIGHTED.target.class_weight == (3.0, 1.0)
    by_name = WEIGHTED.to_toml().replace("class_weight = [3.0, 1.0]", "class_weight = {yes = 3}")
    (tmp_path / "named.toml").write_text(by_name)
    assert Schema.load(tmp_path / "named.toml") == WEIGHTED
    assert len({PLAIN.digest, WEIGHTED.digest, replace(WEIGHTED, weight_cap=5.0).digest}) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weight_cap": None}, "go together"),
        ({"weight": None}, "go together"),
        ({"weight": "age"}, "declared twice"),
        ({"weight": "ill"}, "declared twice"),
        ({"person": "design"}, "declared twice"),
        ({"weight_cap": -1.0}, "weight_cap must be a number"),
    ],
)
def test_a_schema_whose_weights_cannot_be_meant_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        replace(WEIGHTED, **change)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("balanced", "private"),
        ({"maybe": 2.0}, "not declared"),
        ({1: 2.0, "1": 3.0}, "one twice"),
        ({0: 0.0}, "only their ratios"),
        ({0: True}, "only their ratios"),
        ({0: float("nan")}, "only their ratios"),
        ([1.0, 2.0], "{label: weight}"),
    ],
)
def test_class_weights_that_are_no_constants_are_refused(weights: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        declared_class_weights(weights, (0, 1))
    with pytest.raises(ParameterError, match=words):
        sv.PrivateClassifier(delta=1e-5, classes=(0, 1), class_weight=weights).fit([[0.1], [0.2]], [0, 1])


def test_labels_left_out_weigh_one_and_numbers_may_be_spelled() -> None:
    assert declared_class_weights({"1": 3}, (0, 1)) == (1.0, 3.0)
    assert declared_class_weights({np.int64(0): 2}, (0, 1)) == (2.0, 1.0)
    assert declared_class_weights({"true": 2}, (False, True)) == (1.0, 2.0)


def test_estimators_weigh_as_schemas_do_and_want_a_cap() -> None:
    held = table()
    X, y, weights = np.array(held["age"])[:, None] / 100, np.array(held["ill"]), np.array(held["design"])
    common: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-5, "classes": ("no", "yes"), "simulate": 3}
    with pytest.raises(ParameterError, match="declare weight_cap"):
        sv.PrivateClassifier(**common).fit(X, y, sample_weight=weights)
    by_both = sv.PrivateClassifier(**common, weight_cap=4.0, class_weight={"yes": 3.0}).fit(X, y, weights)
    by_hand = sv.PrivateClassifier(**common, weight_cap=1.0).fit(X, y, expected(held))
    np.testing.assert_allclose(by_both.coef_, by_hand.coef_)
    unweighted = sv.PrivateClassifier(**common).fit(X, y)
    assert not np.allclose(by_both.coef_, unweighted.coef_)
    numbers = sv.PrivateRegressor(epsilon=3.0, delta=1e-5, target=(0, 1), simulate=0, weight_cap=4.0)
    assert np.isfinite(numbers.fit(X, X[:, 0], sample_weight=weights).coef_).all()


def test_a_class_that_counts_more_is_predicted_more_often() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6000, 1))
    y = np.where(X[:, 0] + rng.normal(size=6000) > 1.0, 1, 0)
    common: dict[str, Any] = {"epsilon": 5.0, "delta": 1e-6, "classes": (0, 1), "simulate": 1}
    plain = sv.PrivateClassifier(**common).fit(X, y).predict(X).mean()
    weighted = sv.PrivateClassifier(**common, class_weight={1: 5.0}).fit(X, y).predict(X).mean()
    assert weighted > plain + 0.2
    three = rng.integers(0, 3, 6000)
    softmax = sv.PrivateClassifier(**{**common, "classes": (0, 1, 2)}, class_weight={2: 9.0}).fit(X, three)
    assert (softmax.predict(X) == 2).mean() > 0.9


def test_a_search_divides_weights_with_its_rows() -> None:
    held = table()
    X, y = np.array(held["age"])[:, None] / 100, np.array(held["ill"])
    search = sv.PrivateSearch(
        sv.PrivateClassifier(classes=("no", "yes"), weight_cap=4.0),
        {"strength": [1e-6, 1e-2]},
        epsilon=4.0,
        delta=1e-5,
        simulate=0,
    )
    assert search.fit(X, y, sample_weight=held["design"]).best_index_ in (0, 1)
    with pytest.raises(DataError, match="sample_weight"):
        search.fit(X, y, sample_weight=held["design"][:-1])


def test_persons_with_weights_count_one_together() -> None:
    held = table()
    keys = [f"p{place % 80}" for place in range(ROWS)]
    records = sv.Records.from_table(pd.DataFrame({**held, "who": keys}), replace(WEIGHTED, person="who"))
    totals = np.bincount(np.arange(ROWS) % 80, records._rows.weights)  # type: ignore[union-attr, arg-type]
    assert records.n == 80
    assert totals.max() <= 1.0
    np.testing.assert_allclose(totals, np.bincount(np.arange(ROWS) % 80, expected(held)) / 5, rtol=1e-9)


def test_a_schemas_weights_and_the_callers_exclude_each_other(tmp_path: Path) -> None:
    held = table()
    _, parquet = written(tmp_path, held)
    for door in (sv.Records.from_table, sv.Records.from_parquet):
        with pytest.raises(ParameterError, match="the schema weighs"):
            door(parquet, WEIGHTED, sample_weight=np.ones(ROWS))


def test_the_command_line_weighs_as_the_schema_does(tmp_path: Path) -> None:
    csv, _ = written(tmp_path, table())
    (tmp_path / "plain.toml").write_text(PLAIN.to_toml())
    (tmp_path / "weighted.toml").write_text(WEIGHTED.to_toml())
    run = CliRunner()
    common = ["--epsilon", "2", "--delta", "1e-5", "--simulate", "0"]
    weighing = ["--weight", "design", "--weight-cap", "4", "--class-weight", "yes=3"]
    weights = []
    for name, options in (("plain", weighing), ("weighted", [])):
        model = tmp_path / f"{name}.json"
        schema = ["--schema", str(tmp_path / f"{name}.toml")]
        done = run.invoke(app, ["fit", str(csv), *schema, *common, *options, "-o", str(model)])
        assert done.exit_code == 0, done.output
        loaded = sv.Model.load(model)
        assert loaded.schema == WEIGHTED
        weights.append(loaded.result.weights)
    assert np.array_equal(*weights)
    unweighted = pd.DataFrame(table()).drop(columns="design")
    assert len(loaded.predict(unweighted)) == ROWS
    unweighted.to_csv(tmp_path / "test.csv", index=False)
    found = run.invoke(app, ["evaluate", str(model), str(tmp_path / "test.csv"), *common])
    assert found.exit_code == 0, found.output
    for wrong, words in (
        (["--weight", "design"], "--weight and --weight-cap go together"),
        (["--class-weight", "yes"], "--class-weight yes=3"),
        (["--class-weight", "yes=many"], "--class-weight yes=3"),
        (["--class-weight", "maybe=3"], "not declared"),
        (["--weight", "heft", "--weight-cap", "2"], "'heft'"),
    ):
        schema = ["--schema", str(tmp_path / "plain.toml")]
        refused = run.invoke(
            app, ["fit", str(csv), *schema, *common, *wrong, "-o", str(tmp_path / "no.json")]
        )
        assert isinstance(refused.exception, sv.errors.SottovoceError), refused.output
        assert words in in_words_of_the_command_line(refused.exception, {})


def test_softmax_takes_the_schemas_weights(tmp_path: Path) -> None:
    held = table()
    held["ill"] = list(np.random.default_rng(1).choice(["a", "b", "c"], ROWS))
    target = Target("ill", classes=("c", "a", "b"), class_weight={"b": 2.0})
    records = sv.Records.from_table(pd.DataFrame(held), replace(WEIGHTED, target=target))
    shares = np.where(np.array(held["ill"]) == "b", 1.0, 0.5)
    given = np.clip(held["design"], 0, 4) / 4 * shares
    np.testing.assert_allclose(records._rows.weights, given, rtol=1e-12)  # type: ignore[union-attr]
    assert SoftmaxRisk(records).problem.weight == 1.0
