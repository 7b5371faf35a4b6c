"""What is not determined carries no number that a reader could take for an estimate, in any form; and R reads
the same estimates, covariances and predictions as are here."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import app, application
from sottovoce.data.numbers import Numeric, Spline
from sottovoce.data.schema import Schema, Target
from sottovoce.exports.units import terms_for
from sottovoce.report import render
from tests.tables import TWO, write

COLUMNS = {
    "age": {"type": "numeric", "low": 20, "high": 80},
    "arm": {"type": "categorical", "categories": ["control", "treated"]},
    "sex": {"type": "categorical", "categories": ["f", "m"]},
}
TARGETS: dict[str, dict[str, Any]] = {
    "classes": {"column": "ill", "classes": ["no", "yes"]},
    "rates": {
        "column": "stays",
        "type": "count",
        "high": 8,
        "typical": 1.5,
        "exposure": "years",
        "exposure_high": 2.0,
    },
    "times": {"type": "survival", "event": "ill", "time": "days", "grid": [90, 180]},
    "numbers": {"column": "cost", "low": 0, "high": 10},
}
NUMBERS = ("estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n),
            "arm": rng.choice(["control", "treated"], n),
            "sex": rng.choice(["f", "m"], n),
            "years": rng.uniform(0.5, 2.0, n),
            "days": rng.integers(1, 250, n),
        }
    )
    lift = 0.02 * (frame["age"] - 50) + 0.6 * (frame["arm"] == "treated")
    frame["ill"] = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-lift)), "yes", "no")
    frame["stays"] = rng.poisson(frame["years"] * np.exp(0.3 + 0.3 * lift))
    frame["cost"] = np.clip(5.0 + lift + rng.normal(size=n), 0.0, 10.0)
    return frame


def fitted(kind: str, epsilon: float, n: int = 6000) -> sv.Model:
    schema = sv.Schema.from_dict(
        {"columns": COLUMNS, "interactions": [["arm", "sex"]], "target": TARGETS[kind]}
    )
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6, "inference": sv.Inference(0.4, anyway=True)}
    return sv.fit(table(n), schema, method="majorize", simulate=3, **budget)


@pytest.fixture(scope="module", params=[(kind, epsilon) for kind in TARGETS for epsilon in (0.05, 6.0)])
def model(request: pytest.FixtureRequest) -> sv.Model:
    kind, epsilon = request.param
    return fitted(kind, epsilon)


def run(folder: Path, *words: str) -> str:
    found = CliRunner().invoke(application(words[0]), [words[0], str(folder / "model.json"), *words[1:]])
    assert found.exit_code == 0, found.output
    return found.output


def rows_of_text(text: str, terms: list[str]) -> dict[str, str]:
    """What follows each term on its line."""
    return {
        term: line[len(term) :]
        for term in terms
        for line in text.splitlines()
        if line.startswith(f"{term}  ")
    }


def rows_of_html(page: str) -> dict[str, str]:
    """The cells of each row of a table, after its head."""
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", page, flags=re.S):
        if head := re.match(r"<th[^>]*>(.*?)</th>", row, flags=re.S):
            found[html.unescape(head[1])] = re.sub(r"<[^>]*>", " ", row[head.end() :])
    return found


def rows_of_latex(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if "&" in line]
    return {line.split("&", 1)[0].strip().replace("\\_", "_"): line.split("&", 1)[1] for line in lines}


@pytest.mark.parametrize("ratios", [False, True])
def test_no_form_of_a_summary_has_a_number_where_nothing_is_determined(
    model: sv.Model, ratios: bool, tmp_path: Path
) -> None:
    if ratios and "cost" in str(model.schema.to_dict()["target"]):
        return
    summary = model.summary(exp=ratios)
    terms = [line.term for line in summary.lines]
    hidden = [line.term for line in summary.lines if not line.resolved]
    assert hidden
    model.save(tmp_path / "model.json")
    exp = ("--exp",) if ratios else ()
    page = run(
        tmp_path, "summary", *exp, "--html", str(tmp_path / "t.html"), "--latex", str(tmp_path / "t.tex")
    )
    assert "Wrote" in page
    assert "`" not in (tmp_path / "t.html").read_text() + (tmp_path / "t.tex").read_text()
    forms = {
        "str": rows_of_text(str(summary), terms),
        "console": rows_of_text(run(tmp_path, "summary", *exp), terms),
        "notebook": rows_of_html(summary._repr_html_()),
        "HTML": rows_of_html((tmp_path / "t.html").read_text()),
        "LaTeX": rows_of_latex((tmp_path / "t.tex").read_text()),
    }
    if ratios or "cost" in str(model.schema.to_dict()["target"]):
        forms["report"] = rows_of_html(render(model.result, card=model.card()))
    for form, rows in forms.items():
        for term in hidden:
            assert "not determined" in rows[term], (form, term)
            assert not re.search(r"\d", rows[term]), (form, term, rows[term])
        for term in set(terms) - set(hidden):
            assert re.search(r"\d", rows[term]), (form, term)


def test_no_export_and_no_frame_has_a_number_where_nothing_is_determined(
    model: sv.Model, tmp_path: Path
) -> None:
    summary = model.summary()
    hidden = [line.term for line in summary.lines if not line.resolved]
    model.save(tmp_path / "model.json")
    told = json.loads(run(tmp_path, "summary", "--json"))
    run(tmp_path, "export", "--format", "json", "-o", str(tmp_path / "export.json"))
    exported = json.loads((tmp_path / "export.json").read_text())
    assert "coefficients" not in exported
    assert set(exported["weights"])
    for found in (told, exported["inference"]):
        rows = {row["term"]: row for row in found["coefficients"]}
        places = [row["term"] for row in found["coefficients"]]
        for term in hidden:
            assert all(rows[term][name] is None for name in (*NUMBERS, "privacy.share"))
            assert rows[term]["resolved"] is False
            place = places.index(term)
            assert all(row[place] is None for row in found["covariance"])
            assert all(entry is None for entry in found["covariance"][place])
    frames = [summary.frame().set_index("term"), summary.frame(references=True).set_index("term")]
    for frame in frames:
        assert frame.loc[hidden, list(NUMBERS)].isna().all(axis=None)
    listed = {row["term"]: row for row in csv.DictReader(io.StringIO(summary.to_csv()))}
    assert {listed[term][name] for term in hidden for name in NUMBERS} == {""}
    for term in hidden:
        assert not summary.contrast({term: 1.0}).resolved
        assert not re.search(r"= *[\d.]", str(summary.wald([term])))


def test_what_a_fit_prints_as_json_has_the_summary_and_no_weights_beside_it(tmp_path: Path) -> None:
    """Weights predict with a penalty and their noise is not an error: beside a coefficient that is not
    determined they would be read as its estimate."""
    write(tmp_path / "data.csv", 300)
    (tmp_path / "schema.toml").write_text(TWO.to_toml(), encoding="utf-8")
    options = ("--schema", str(tmp_path / "schema.toml"), "--epsilon", "0.2", "--delta", "1e-6", "--json")
    asked = ("--inference", "0.3", "--anyway")
    for more, told, left_out in ((asked, "summary", "coefficients"), ((), "coefficients", "summary")):
        place = tmp_path / f"{told}.json"
        ran = CliRunner().invoke(app, ["fit", str(tmp_path / "data.csv"), *options, *more, "-o", str(place)])
        assert ran.exit_code == 0, ran.output
        found = json.loads(ran.stdout)
        assert told in found
        assert left_out not in found


READ = """
source("model.R")
table <- read.csv("table.csv", check.names = FALSE)
show <- function(value) cat(sprintf("%.17g", value), sep = "\\n")
show(coef(model)); show(t(vcov(model))); show(sqrt(diag(vcov(model)))); show(confint(model))
show(t(as.matrix(predict(model, table))))
"""


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R (Debian: r-base-core)")
@pytest.mark.parametrize("kind", [*TARGETS])
def test_in_r_coefficients_covariances_and_predictions_are_ours(kind: str, tmp_path: Path) -> None:
    model = fitted(kind, 6.0)
    frame = table(40)
    if kind == "times":
        frame["interval"] = np.where(np.arange(40) % 2, "to 90", "to 180")
    frame.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "model.R").write_text(model.to_r(), encoding="utf-8")
    ran = subprocess.run(
        ["Rscript", "--vanilla", "-e", READ], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    numbers = np.array([np.nan if word == "NA" else float(word) for word in ran.stdout.split()])
    lines = model.summary().lines
    size = len(lines)
    close: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(numbers[:size], [line.estimate for line in lines], **close)
    matrix = numbers[size : size + size**2].reshape(size, size)
    np.testing.assert_allclose(matrix, model.summary().covariance, **close)
    rest = numbers[size + size**2 :]
    np.testing.assert_allclose(rest[:size], [line.error for line in lines], **close)
    ends = [line.low for line in lines] + [line.high for line in lines]
    np.testing.assert_allclose(rest[size : 3 * size], ends, **close)
    ours = model.predict_proba(frame) if kind in ("classes", "times") else model.predict(frame)
    np.testing.assert_allclose(rest[3 * size :], np.ravel(ours), **close)
    shown = subprocess.run(
        [
            "Rscript",
            "--vanilla",
            "-e",
            'source("model.R"); options(width = 500); print(model); '
            "stopifnot(identical(summary(model), estimates), identical(model$coefficients, coef(model)), "
            "identical(is.na(unname(model$coefficients)), !estimates$resolved))",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    hidden = [line.term for line in lines if not line.resolved]
    for row in shown.splitlines():
        for term in hidden:
            if row.strip().startswith(f"{term} "):
                assert not re.search(r"\d", row.strip()[len(term) :])


@pytest.mark.parametrize("indicator", [False, True])
def test_a_curve_is_assumed_to_be_off_from_its_middle_to_an_end_as_a_line_is(indicator: bool) -> None:
    """By one full move; by the root of 2/m of it from one of its m + 1 weights to the next."""
    curve = Spline("x", 0.0, 1.0, (0.2, 0.4, 0.5, 0.6, 0.8), indicator=indicator)
    schema = Schema((Numeric("z", 0.0, 1.0), curve), Target("y", classes=(0, 1)))
    moves = terms_for(schema, "logistic").moves
    assert moves is not None
    spread = np.linalg.inv(moves)
    spread = schema.unit**2 * (spread @ spread.T)
    weights = slice(1, 10)  # m = 8, beside the number's own

    def off(one: int, other: int) -> float:
        apart = np.eye(9)[one] - np.eye(9)[other]
        return float(apart @ spread[weights, weights] @ apart)

    assert np.allclose([off(0, 4), off(4, 8)], 1.0)
    assert np.allclose([off(place, place + 1) for place in range(8)], 2.0 / 8.0)
    assert np.isclose(spread[0, 0], 1.0)
