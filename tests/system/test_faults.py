"""The faults that an operator met on 984a9f2, each by the command line alone.

Nothing of the library is imported, so the same file judges another tree: `PYTHONPATH=OTHER/src pytest -m slow
tests/system/test_faults.py`. On 984a9f2 every test fails; docs/trust.md says how each was seen to."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="limits and signals")]

BUDGET = "--epsilon 1 --delta 1e-6"
LONGEST = 240.0
"""Seconds after which a command hangs; none takes a tenth of that."""


def written(path: Path, rows: int, columns: int = 2) -> Path:
    luck = random.Random(0)
    names = [f"x{place}" for place in range(columns)]
    with path.open("w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow([*names, "y"])
        for _ in range(rows):
            values = [luck.random() for _ in names]
            lines.writerow([*(f"{value:.3f}" for value in values), int(values[0] + luck.gauss(0, 0.3) > 0.5)])
    declared = "".join(f'[columns.{name}]\ntype = "numeric"\nlow = 0.0\nhigh = 1.0\n' for name in names)
    path.with_suffix(".toml").write_text(f'{declared}[target]\ncolumn = "y"\nclasses = [0, 1]\n')
    return path


def begun(folder: Path, words: str, limits: str = "true") -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["bash", "-c", f"{limits}; exec {sys.executable} -m sottovoce {words}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # under `ulimit -f` Python would leave compiled modules that end too early
        env={**os.environ, "TMPDIR": str(folder), "SOTTOVOCE_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def ran(folder: Path, words: str, limits: str = "true") -> tuple[int, str, str]:
    started = begun(folder, words, limits)
    try:
        told, said = started.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        started.kill()
        pytest.fail("it hangs")
    return started.returncode, told, said


def fit(table: str = "m", more: str = "") -> str:
    return f"fit {table}.csv --schema {table}.toml {BUDGET} -o model.json {more}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path / "m.csv", 2000)
    return tmp_path


def ledger(folder: Path, epsilon: float = 1.5) -> str:
    code, _, said = ran(folder, f"ledger create b.db --dataset m --epsilon {epsilon} --delta 1e-6")
    assert code == 0, said
    return "--ledger b.db --dataset m"


def charges(folder: Path) -> int:
    with sqlite3.connect(f"file:{folder / 'b.db'}?mode=ro", uri=True) as file:
        return int(file.execute("SELECT count(*) FROM entry WHERE kind = 'charge'").fetchone()[0])


def shown(folder: Path) -> dict[str, Any]:
    return dict(json.loads(ran(folder, "ledger show b.db --json")[1])["datasets"][0])


def test_1_little_memory_neither_hangs_nor_asks_for_a_report(tmp_path: Path) -> None:
    written(tmp_path / "m.csv", 1_000_000)
    for kilobytes in (250_000, 500_000, 600_000, 800_000, 1_000_000):
        code, _, said = ran(tmp_path, fit(more="--force"), f"ulimit -v {kilobytes}")
        assert code in (0, 1), said
        assert "please report" not in said
        assert "Traceback" not in said


def test_2_a_cap_that_was_granted_can_be_used(tmp_path: Path) -> None:
    written(tmp_path / "m.csv", 20_000, columns=52)
    code, _, _ = ran(tmp_path, "ledger create b.db --dataset m --epsilon 30 --delta 1e-6")
    if code == 0:
        code, told, _ = ran(tmp_path, fit(more="--ledger b.db --dataset m --json"))
        assert code != 0 or json.loads(told)["stop"] == "FINISHED" or json.loads(told)["caveats"]


def test_3_of_two_runs_at_once_each_has_its_budget_or_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "m.csv", 100_000, columns=8)
    charged = ledger(tmp_path, 1.1)
    both = [
        begun(tmp_path, fit(more=f"{charged} -q").replace("model", f"model{place}")) for place in range(2)
    ]
    for each in both:
        each.communicate(timeout=LONGEST)
    assert sorted(each.returncode for each in both) == [0, 3]


def test_4_a_model_that_was_paid_for_is_not_lost(folder: Path) -> None:
    code, told, _ = ran(folder, fit(more="--json"), "ulimit -f 2")
    assert code != 0
    assert "weights" in json.loads(told)["result"]


def test_5_a_run_killed_at_any_moment_goes_on_without_paying_twice(folder: Path) -> None:
    """Twenty kills."""
    charged, luck, kills = ledger(folder), random.Random(5), 0
    run = ""
    while kills < 20:
        killed = begun(folder, fit(more=f"{charged} -q --force {f'--resume {run}' if run else ''}"))
        time.sleep(luck.uniform(0.2, 4.0))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        kills += 1
        runs = [spell for spell in shown(folder)["runs"] if spell["units"]]
        run = runs[0]["identity"] if runs else ""
    code, _, said = ran(folder, fit(more=f"{charged} -q --force {f'--resume {run}' if run else ''}"))
    assert code == 0, said
    (one,) = (spell for spell in shown(folder)["runs"] if spell["units"])
    assert one["identity"].startswith(run)


def test_6_a_signal_says_what_was_charged_and_how_to_go_on(folder: Path) -> None:
    charged = ledger(folder)
    stopped = begun(folder, fit(more=charged))
    while charges(folder) < 2 and stopped.poll() is None:
        time.sleep(0.002)
    stopped.send_signal(signal.SIGTERM)
    _, said = stopped.communicate(timeout=LONGEST)
    assert stopped.returncode in (0, 128 + signal.SIGTERM)
    if stopped.returncode:
        assert "was charged" in said
        assert "--resume" in said


def test_6_a_full_disk_is_no_damage_to_a_ledger(folder: Path) -> None:
    charged = ledger(folder)
    size = (folder / "b.db").stat().st_size // 1024
    code, _, said = ran(folder, fit(more=charged), f"ulimit -f {size}")
    assert code == 1
    assert "backup" not in said


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="needs root to mount")
def test_6_a_ledger_on_a_read_only_mount_is_shown_and_verified(folder: Path) -> None:
    ledger(folder)
    (folder / "mounted").mkdir()
    mounted = ["mount", "--bind", str(folder), str(folder / "mounted")]
    if subprocess.run(mounted, check=False, capture_output=True).returncode:
        pytest.skip("this container mounts nothing")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder / "mounted")], check=True)
        for words in ("ledger show mounted/b.db", "ledger verify mounted/b.db"):
            code, _, said = ran(folder, words)
            assert code == 0, said
    finally:
        subprocess.run(["umount", str(folder / "mounted")], check=True)


def test_7_a_changed_model_file_is_noticed(folder: Path) -> None:
    assert ran(folder, fit(more="-q"))[0] == 0
    raw = json.loads((folder / "model.json").read_text())
    raw["result"]["weights"][0] += 0.5
    (folder / "model.json").write_text(json.dumps(raw))
    for words in ("predict model.json m.csv -o p.csv", "report model.json -o r.html"):
        assert ran(folder, words)[0] == 1


def test_8_plans_say_what_a_schedule_costs(folder: Path) -> None:
    asked = f"plan --rows 2000 --schema m.toml {BUDGET} --every day --for year"
    assert ran(folder, asked)[0] == 0


def test_9_a_folder_is_a_table(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "m.csv").rename(folder / "parts" / "a.csv")
    code, _, said = ran(folder, f"fit parts --schema m.toml {BUDGET} -o model.json -q")
    assert code == 0, said


def test_10_errors_are_json_where_answers_are(folder: Path) -> None:
    code, _, said = ran(folder, fit(more="--json").replace("--epsilon 1", "--epsilon -1"))
    assert json.loads(said.splitlines()[-1])["exit"] == code
