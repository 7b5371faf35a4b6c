"""Commands write and print the same over tables that differ in one row and give the same released answers."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster

from sottovoce import cli
from sottovoce.privacy.noise import ExactNoise
from tests.attacks.test_replay_fronts import hearing, require_same
from tests.covering import covering
from tests.doubles import Recorder, Replay
from tests.tables import RANGE, THREE, TWO, lines

BUDGET = ("--epsilon", "1", "--delta", "1e-5")
TRIED = {"fit", "evaluate", "recalibrate", "schema", "predict"}
READ_NO_RECORDS = {
    "demo": "embedded public data",
    "bench": "embedded public data",
    "plan": "public numbers",
    "reproduce": "public data",
    "audit": "synthetic data",
    "report": "a saved run, which is tried as written by fit",
    "ledger": "charges, which are tried as written by fit",
    "export": "a model, which is tried as written by fit",
    "summary": "a model, which is tried as written by fit",
    "check": "exact counts, for the owner's eyes only and marked so: outside the guarantee",
}
PLACE = 40
ROWS = (
    "1e9,,nowhere,yes,high,-7",
    ",,,,,",
    "nan,inf,north,no,low,1e400",
    "0x1f,1_000,south,maybe,none,-inf",
    '"18","""",west,yes,"high",5e-324',
    "58,100,north,no,middle,250",
)
SCHEMAS = {"two classes": TWO, "three classes": THREE, "a range": RANGE}


class Commands:
    """A folder with a table or its neighbour in it, and the command line over either."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder, self.capsys, self.patch = folder, capsys, patch
        patch.chdir(folder)
        self.rows = lines(300)
        self.declare(TWO)

    def declare(self, schema: Any) -> None:
        (self.folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")

    def put(self, other: str | None) -> None:
        rows = list(self.rows)
        if other is not None:
            rows[PLACE] = other
        (self.folder / "claims.csv").write_text("\n".join(rows), encoding="utf-8")

    def run(self, *arguments: str) -> list[bytes]:
        """What a command printed and wrote."""
        self.patch.setattr(sys, "argv", ["sottovoce", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = self.capsys.readouterr()
        written = sorted(path for path in self.folder.iterdir() if path.suffix in (".json", ".html", ".out"))
        texts = (str(end.value.code), said.out, said.err)
        return [*(text.encode() for text in texts), *(path.read_bytes() for path in written)]

    def fit(self, other: str | None, *more: str) -> list[bytes]:
        self.put(other)
        told = ("--schema", "schema.toml", *BUDGET, "-o", "model.json", "--invalid", "zero", "--force")
        return self.run("fit", "claims.csv", *told, *more)


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    return Commands(tmp_path, capsys, monkeypatch)


def test_every_command_is_tried_or_reads_no_records() -> None:
    commands = {command.callback.__name__ for command in cli.app.registered_commands if command.callback}
    groups = {str(group.name) for group in cli.app.registered_groups}
    assert commands | groups == TRIED | set(READ_NO_RECORDS)


@pytest.mark.parametrize(("name", "other"), covering(product(SCHEMAS, ROWS), together=1))
def test_fit_writes_and_prints_the_same_over_neighbours(commands: Commands, name: str, other: str) -> None:
    commands.declare(SCHEMAS[name])
    more = [(), ("--report", "page.html", "--inference", "0.3", "--anyway"), ("--json",)][
        ROWS.index(other) % 3
    ]
    require_same(lambda: commands.fit(None, *more), lambda: commands.fit(other, *more), 1)


@pytest.mark.parametrize("method", ["cubic", "2opt-ls", "tr", "dp-gd"])
def test_fit_by_other_methods_says_the_same_over_neighbours(commands: Commands, method: str) -> None:
    more = ("--method", method, "--tolerance", "0.3", "--loss", "sigmoid", "--report", "page.html")
    require_same(lambda: commands.fit(None, *more), lambda: commands.fit(ROWS[0], *more), 2)


@pytest.mark.parametrize(("name", "other"), covering(product(SCHEMAS, ROWS), together=1))
def test_evaluate_prints_the_same_over_neighbours(commands: Commands, name: str, other: str) -> None:
    commands.declare(SCHEMAS[name])
    assert commands.fit(None, "--simulate", "1")[0] == b"0"

    def evaluate(row: str | None) -> list[bytes]:
        commands.put(row)
        return commands.run("evaluate", "model.json", "claims.csv", *BUDGET, "--invalid", "zero")

    require_same(lambda: evaluate(None), lambda: evaluate(other), 2)


@pytest.mark.parametrize("other", ROWS)
def test_recalibrate_writes_and_prints_the_same_over_neighbours(commands: Commands, other: str) -> None:
    assert commands.fit(None, "--simulate", "1")[0] == b"0"

    def mended(row: str | None) -> list[bytes]:
        commands.put(row)
        told = (*BUDGET, "--invalid", "zero", "-o", "mended.json", "--force")
        return commands.run("recalibrate", "model.json", "claims.csv", *told)

    require_same(lambda: mended(None), lambda: mended(other), 1)


def test_a_ledger_file_is_charged_the_same_over_neighbours(commands: Commands) -> None:
    """Everything that `ledger show` prints, but for names drawn at random and the time of day."""

    def charged(other: str | None) -> list[str]:
        for part in commands.folder.glob("budget.db*"):
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        create = ("ledger", "create", "budget.db", "--dataset", "claims", "--epsilon", "3", "--delta", "1e-4")
        assert commands.run(*create)[0] == b"0"
        fitted = commands.fit(other, "--ledger", "budget.db", "--dataset", "claims", "--json")
        measure = ("evaluate", "model.json", "claims.csv", *BUDGET, "--invalid", "zero", "--json")
        measured = commands.run(*measure, "--ledger", "budget.db", "--dataset", "claims")
        shown = commands.run("ledger", "show", "budget.db", "--charges")
        assert fitted[0] == measured[0] == shown[0] == b"0"
        drawn = re.compile(r"\b[0-9a-f]{8,}\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^ ,\n]*")
        return [drawn.sub("*", text.decode()) for text in (fitted[1], measured[1], shown[1])]

    recorder = Recorder(ExactNoise())
    with hearing(recorder):
        first = charged(None)
    replay = Replay(recorder.tape, simulated=False)
    with hearing(replay):
        second = charged(ROWS[0])
    assert replay.spent
    assert "gradient" in first[2]
    assert first == second


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster),
    ):
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Dask and pandas, between themselves
def test_fit_on_a_cluster_says_the_same_over_neighbours(commands: Commands, scheduler: str) -> None:
    def fit(other: str | None) -> list[bytes]:
        commands.put(other)
        table = pyarrow.csv.read_csv(commands.folder / "claims.csv")
        pyarrow.parquet.write_table(table, commands.folder / "claims.parquet")
        told = ("--schema", "schema.toml", *BUDGET, "-o", "model.json", "--force", "--invalid", "zero")
        return commands.run("fit", "claims.parquet", *told, "--dask", scheduler)

    require_same(lambda: fit(None), lambda: fit("1000000,-5,nowhere,perhaps,high,-7"), 3)


@pytest.mark.parametrize("other", ROWS)
def test_a_schema_is_written_from_names_alone(commands: Commands, other: str) -> None:
    def template(row: str | None) -> list[bytes]:
        commands.put(row)
        said = commands.run("schema", "claims.csv", "-o", "new.toml", "--force")
        return [*said, (commands.folder / "new.toml").read_bytes()]

    assert template(None) == template(other)


@pytest.mark.parametrize("other", ROWS)
def test_a_row_changes_no_prediction_but_its_own(commands: Commands, other: str) -> None:
    """Predictions are exact and for the rows' owner; one unreadable field must still not touch other rows."""
    assert commands.fit(None, "--simulate", "1")[0] == b"0"
    found = []
    for row in (None, other):
        commands.put(row)
        commands.run("predict", "model.json", "claims.csv", "-o", "said.out", "--force")
        found.append((commands.folder / "said.out").read_text(encoding="utf-8").splitlines())
    unequal = [place for place, (a, b) in enumerate(zip(*found, strict=True)) if a != b]
    assert set(unequal) <= {PLACE}


def test_a_page_is_made_from_the_saved_run_alone(commands: Commands) -> None:
    assert commands.fit(None, "--simulate", "1")[0] == b"0"
    pages = []
    for row in (None, ROWS[0]):
        commands.put(row)
        pages.append(commands.run("report", "model.json", "-o", "page.html", "--force"))
    assert pages[0] == pages[1]
    assert json.loads((commands.folder / "model.json").read_text(encoding="utf-8"))["dataset"] == "claims"
