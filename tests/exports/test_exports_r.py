"""The R script in R itself: predictions are the model's, coefficients are in the units of the table."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.data.schema import Categorical, DatePart, Numeric, Target
from sottovoce.model import Model
from tests.exports.test_exports import TARGETS, alike, hostile, model_of, schema_of

needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (r-base-core)")
READ = """
args <- commandArgs(TRUE)
source(args[1], encoding = "UTF-8")
table <- read.csv(args[2], colClasses = "character", na.strings = "<none>", check.names = FALSE,
  encoding = "UTF-8", strip.white = FALSE, comment.char = "")
for (name in names(table)) {
  if (startsWith(name, "day"))
    table[[name]] <- as.POSIXct(table[[name]], tz = "UTC", format = "%Y-%m-%dT%H:%M:%OS")
}
show <- function(value) cat(if (is.character(value)) value else sprintf("%.17g", value), sep = "\n")
"""


def in_r(model: Model, table: pd.DataFrame, asked: str, folder: Path) -> list[str]:
    """What R prints, a value a line, after it has read script and table."""
    (folder / "model.R").write_text(model.to_r(), encoding="ascii")
    with (folder / "table.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(table.columns)
        writer.writerows([_cell(value) for value in row] for row in table.itertuples(index=False))
    (folder / "ask.R").write_text(READ + asked, encoding="utf-8")
    command = ["Rscript", "--vanilla", *(str(folder / name) for name in ("ask.R", "model.R", "table.csv"))]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def _cell(value: Any) -> str:
    if value is None or value is pd.NaT:
        return "<none>"
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if isinstance(value, float):
        return "NaN" if np.isnan(value) else repr(value).replace("inf", "Inf")
    return str(value)


@needs_r
@pytest.mark.parametrize("target", TARGETS)
def test_r_predicts_as_the_model_on_hostile_values(target: str, tmp_path: Path) -> None:
    model = model_of(schema_of(target))
    table = hostile(600, np.random.default_rng(3), model.schema)
    if not model.is_classifier:
        found = in_r(model, table, "show(predict(model, table))", tmp_path)
        alike(model, table, np.array(found, dtype=float), None)
        return
    asked = "show(t(predict(model, table)))\nshow(as.character(predict(model, table, type = 'class')))"
    found = in_r(model, table, asked, tmp_path)
    chances = np.array(found[: len(table) * len(model.classes_)], dtype=float).reshape(len(table), -1)
    labels: Any = found[chances.size :]
    alike(model, table, labels if target == "two classes" else np.array(labels, dtype=int), chances)


@needs_r
def test_r_reads_parts_of_dates_as_the_model_does(tmp_path: Path) -> None:
    parts = ("month", "quarter", "weekday", "hour", "year")
    bounds = {"year": {"low": 1980, "high": 2010}}
    columns = tuple(DatePart(f"day_{part}", part, indicator=True, **bounds.get(part, {})) for part in parts)
    schema = sv.Schema(columns, Target("y", ("no", "yes")))
    table = hostile(600, np.random.default_rng(4), schema)
    table = pd.DataFrame({**{column.source: table["day"] for column in columns}, "y": table["y"]})
    fitted = sv.fit(
        table,
        schema,
        epsilon=1.0,
        delta=1e-3,
        method="majorize",
        simulate=0,
        reading=sv.ReadOptions(invalid="zero"),
    )
    raw = fitted.to_dict()
    raw["result"]["weights"] = np.random.default_rng(2).normal(0, 2, fitted.result.weights.size).tolist()
    model = Model.from_dict(raw)
    found = in_r(model, table, "show(predict(model, table, type = 'link'))", tmp_path)
    np.testing.assert_allclose(np.array(found, dtype=float), model.decision_function(table), atol=1e-9)


NATURAL = """
x <- setNames(rep(0, ncol(model$weights)), colnames(model$weights))
x["intercept"] <- 1
linked <- vapply(seq_len(nrow(table)), function(row) {
  x["age"] <- as.numeric(table$age[row])
  x["income"] <- as.numeric(table$income[row])
  region <- paste0("region=", table$region[row])
  if (region %in% names(x)) x[region] <- 1
  sum(model$weights[1, ] * x)
}, 0)
show(linked)
show(predict(model, table, type = "link"))
stopifnot(all(names(model$centre) == c("age", "income")))
stopifnot(model$centre[["age"]] == 58, model$scale[["age"]] == 40)
stopifnot(all(names(coef(model)) == colnames(model$weights)), identical(coef(model), model$coefficients))
print(model)
"""


@needs_r
@pytest.mark.parametrize("target", [Target("y", ("no", "yes")), Target("y", low=-3, high=40)])
def test_coefficients_times_cells_are_the_score(target: Target, tmp_path: Path) -> None:
    """sum(coef * x) was .9999998 where the model says .3706."""
    regions = ("north", "south", "w\u00e9st \U0001f600 \"'\\")
    schema = sv.Schema(
        (Numeric("age", 18, 98), Numeric("income", 0, 200), Categorical("region", regions)), target
    )
    rng = np.random.default_rng(5)
    n = 300
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 98, n),
            "income": rng.uniform(0, 200, n),
            "region": rng.choice(np.array(regions, dtype=object), n),
            "y": rng.choice(np.array(["no", "yes"] if target.classes else [0.0, 30.0], dtype=object), n),
        }
    )
    model = sv.fit(table, schema, epsilon=5.0, delta=1e-3, inference=0.5, simulate=1)
    found = in_r(model, table, NATURAL + "cat(names(estimates)[1], dim(vcov(model))[1])", tmp_path)
    linked, predicted = (np.array(found[at : at + n], dtype=float) for at in (0, n))
    exact = model.decision_function(table) if target.classes else model.predict(table)
    np.testing.assert_allclose(linked, exact, atol=1e-6, rtol=1e-6)
    np.testing.assert_allclose(predicted, exact, atol=1e-9, rtol=1e-9)
    assert any(str(model.result.guarantee) in line for line in found[2 * n :])
    assert found[-1].startswith("term ")


@needs_r
def test_a_column_that_newdata_lacks_is_named(tmp_path: Path) -> None:
    model = model_of(schema_of("two classes"))
    table = hostile(5, np.random.default_rng(3), model.schema)
    asked = "cat(tryCatch(predict(model, table['age']), error = conditionMessage))"
    assert "sector" in in_r(model, table, asked, tmp_path)[0]


def test_the_script_is_ascii_and_its_text_stays_in_quotes() -> None:
    from sottovoce.exports.r import quoted

    assert quoted('a"b\\c\nd\u00e9\U0001f600') == '"a\\"b\\\\c\\nd\\U{e9}\\U{1f600}"'
    with pytest.raises(sv.errors.ParameterError):
        quoted("a\0b")
    model = model_of(schema_of("two classes"))
    assert model.to_r().isascii()
    assert json.dumps(str(model.result.guarantee)) in model.to_r()
