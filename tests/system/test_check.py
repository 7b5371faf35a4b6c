"""`sottovoce check`, and UCI's own Adult file with its spaces."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import app
from sottovoce.data.inspection import inspect

SCHEMA = Path(__file__).parents[2] / "docs" / "tour" / "adult.toml"
ADULT = Path(os.environ.get("SOTTOVOCE_DATA", "/nowhere")) / "adult.csv.gz"
needs_adult = pytest.mark.skipif(not ADULT.is_file(), reason="SOTTOVOCE_DATA names no folder with Adult")


def test_every_kind_of_cell_is_counted(tmp_path: Path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("age, sector, y\n10,a,no\n?, a,yes\n250,c,yes\nx,?,maybe\n-1,a,\n")
    schema = tmp_path / "s.toml"
    schema.write_text(
        'missing = ["?"]\n[columns.age]\ntype = "numeric"\nlow = 0\nhigh = 100\n[columns.sector]\n'
        'type = "categorical"\ncategories = ["a", "b"]\n[target]\ncolumn = "y"\nclasses = ["no", "yes"]\n'
    )
    ran = CliRunner().invoke(app, ["check", str(data), "--schema", str(schema), "--json"])
    assert ran.exit_code == 0, ran.output
    answer = json.loads(ran.output)
    assert "owner" in answer["warning"]
    found = {part.pop("column"): part for part in answer["columns"]}
    plain = {"rows": 5, "missing": 0, "undeclared": 0, "clipped": 0, "untrimmed": 0, "constant": False}
    assert found["age"] == {**plain, "missing": 1, "undeclared": 1, "clipped": 2}
    assert found["sector"] == {**plain, "missing": 1, "undeclared": 1, "untrimmed": 1}
    assert found["y"] == {**plain, "missing": 1, "undeclared": 1}
    words = CliRunner().invoke(app, ["check", str(data), "--schema", str(schema)]).output
    assert "For the owner of the data only" in words


def test_persons_and_rows_without_a_key_are_counted(tmp_path: Path) -> None:
    data, schema = tmp_path / "a.csv", tmp_path / "s.toml"
    data.write_text("who,age\nann,10\n ann ,20\n,30\nbob,40\n")
    schema.write_text('person = "who"\n[columns.age]\ntype = "numeric"\nlow = 0\nhigh = 100\n')
    ran = CliRunner().invoke(app, ["check", str(data), "--schema", str(schema), "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.output)["columns"][-1]
    assert (found["column"], found["rows"], found["missing"], found["persons"]) == ("who", 4, 1, 2)
    assert "2 persons" in CliRunner().invoke(app, ["check", str(data), "--schema", str(schema)]).output


@needs_adult
def test_the_raw_adult_file_is_read_whole() -> None:
    found = {part.column: part for part in inspect(ADULT, sv.Schema.load(SCHEMA))}
    assert found["age"].rows == 32_561
    assert found["Y"].undeclared == found["Y"].missing == 0
    assert found["workclass"].missing == 1_836
    assert found["workclass"].undeclared == found["sex"].undeclared == found["occupation"].undeclared == 0
    assert found["workclass"].untrimmed == 32_561 - 1_836
    assert not any(part.constant or part.clipped for part in found.values())


@needs_adult
def test_spaces_no_longer_cost_the_categories_of_adult() -> None:
    """To the letter every categorical column is lost and always saying <=50K is right for .7592."""
    model = sv.fit(ADULT, SCHEMA, epsilon=1.0, delta=1e-6, simulate=0)
    table = sv.Records.from_table(ADULT, SCHEMA)
    assert table.n == 32_561
    found = sv.evaluation.accuracy(model, ADULT, budget=sv.Budget(20.0, 1e-6), simulate=0)
    assert found.value > 0.83
