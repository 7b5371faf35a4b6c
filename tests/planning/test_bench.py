"""The short benchmark: every pass against the yardstick, from one run."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sottovoce.cli import app
from sottovoce.datasets import covertype
from sottovoce.planning import bench


@pytest.fixture
def few_rows(monkeypatch):
    table = covertype.load()
    few = table.rows(np.arange(table.cover.size) % 500 == 0)
    monkeypatch.setattr(covertype, "load", lambda: few)
    return few.two_classes().cover.size


def test_the_fastest_run_counts_and_calls_take_turns(monkeypatch):
    clock = iter([0.0, 5.0, 10.0, 11.0, 20.0, 23.0, 30.0, 30.5])
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(clock))
    made = []
    calls = {"a": lambda: made.append("a"), "b": lambda: made.append("b")}
    assert bench.fastest(calls, rounds=2, repeats=1) == {"a": 3.0, "b": 0.5}
    assert made == ["a", "b", "a", "b", "a", "b"]


def test_ratios_are_in_units_of_the_first_call():
    assert bench.Timings({"one": 0.5, "two": 1.0}).ratios == {"one": 1.0, "two": 2.0}


@pytest.mark.parametrize("path", ["reference", "compiled"])
def test_bench_times_every_pass_and_tells_the_path(few_rows, path, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", path)
    answer = CliRunner().invoke(app, ["bench", "--rounds", "1", "--tiles", "2", "--json"])
    assert answer.exit_code == 0
    found = json.loads(answer.stdout)
    assert (found["rows"], found["columns"], found["kernels"]) == (2 * few_rows, 54, path)
    assert found["ratios"][bench.YARDSTICK] == 1.0
    assert {"Gram", "Hessian, sigmoid", "one trial on the line"} < set(found["seconds"])
    assert all(seconds > 0.0 for seconds in found["seconds"].values())


@pytest.mark.usefixtures("few_rows")
def test_bench_prints_a_line_for_each_pass():
    lines = CliRunner().invoke(app, ["bench", "--rounds", "1"]).stdout.splitlines()
    assert lines[0].startswith("9") or "Covertype" in lines[0]
    assert len([line for line in lines if line.endswith("x")]) == 10
