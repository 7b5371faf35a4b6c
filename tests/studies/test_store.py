"""Finished runs are kept once: torn lines, rivals, earlier cuts, and processes killed at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sottovoce.errors import DataError
from sottovoce_studies.settings import Selection, Trial
from sottovoce_studies.store import Store
from tests.studies.rows import made_up, write_rows

TRIALS = Selection(datasets=["covtype"], losses=["logistic"], settings=["loose"], methods=["opt"]).trials()
SESSION = {"started": "2026-11-16T00:00:00+00:00"}


def fill(path: Path, trials: list[Trial]) -> None:
    store = Store(path)
    with store.writing(SESSION):
        for trial in trials:
            store.keep(made_up(trial))


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    fill(tmp_path / "runs.jsonl", TRIALS[:4])
    store = Store(tmp_path / "runs.jsonl")
    assert store.runs == {trial: made_up(trial) for trial in TRIALS[:4]}
    assert store.sessions == [SESSION]
    assert [store.lacks(trial, 300) for trial in TRIALS[3:5]] == [False, True]


def test_a_line_torn_at_any_byte_costs_that_run_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    fill(path, TRIALS[:3])
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for length in range(last, len(whole), 17):
        path.write_bytes(whole[:length])
        store = Store(path)
        assert set(store.runs) == set(TRIALS[:2])
        with store.writing(SESSION):
            store.keep(made_up(TRIALS[2]))
        assert set(Store(path).runs) == set(TRIALS[:3])


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    fill(path, TRIALS[:2])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{}\n" + lines[1])
    with pytest.raises(DataError, match="line 2 of"):
        Store(path)


def test_two_processes_do_not_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with (
        Store(path).writing(SESSION),
        pytest.raises(DataError, match="another process is writing"),
        Store(path).writing(SESSION),
    ):
        pass


def test_a_run_cut_early_is_made_again_when_more_is_asked_for(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.jsonl")
    with store.writing(SESSION):
        store.keep(made_up(TRIALS[0], stop="OUT_OF_BUDGET", cut=True, longest=10))
        assert not store.lacks(TRIALS[0], 10)
        assert store.lacks(TRIALS[0], 11)
        store.keep(made_up(TRIALS[0]))
    assert not Store(store.path).lacks(TRIALS[0], 1000)


def command(rows: Path, folder: Path) -> list[str]:
    asked = "reproduce ijcnn1 --methods majorize --epsilons 4 8 --setting loose --seeds 40 --jobs 2"
    return [sys.executable, "-m", "sottovoce", *asked.split(), "--data", str(rows), "-o", str(folder)]


def workers(parent: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()}


def kill_while_running(rows: Path, folder: Path, luck: random.Random) -> bytes:
    """Start the command, kill it some time after it begins to keep runs, and give what the file holds."""
    file = folder / "runs.jsonl"
    before = file.stat().st_size if file.exists() else 0
    process = subprocess.Popen(command(rows, folder), stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120.0
    # the session's own line is the first it adds
    while (not file.exists() or file.read_bytes()[before:].count(b"\n") < 2) and process.poll() is None:
        assert time.monotonic() < until, "nothing was kept in two minutes"
        time.sleep(0.01)
    time.sleep(luck.uniform(0.0, 0.25))
    children = workers(process.pid) if process.poll() is None else set()
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = file.read_bytes()
    while any(Path(f"/proc/{child}/stat").exists() and not _ended(child) for child in children):
        assert time.monotonic() < until, "a worker outlived its parent"
        time.sleep(0.05)
    assert file.read_bytes() == left
    return left


def _ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def killed_at_random_moments(rows: Path, folder: Path, kills: int) -> None:
    """Whole lines left by each kill stay the beginning of the file, and in the end each run is there once."""
    luck, kept = random.Random(kills), b""
    for _ in range(kills):
        left = kill_while_running(rows, folder, luck)
        assert left.startswith(kept)
        kept = left[: left.rfind(b"\n") + 1]
    subprocess.run(command(rows, folder), check=True, stdout=subprocess.DEVNULL)
    whole = (folder / "runs.jsonl").read_bytes()
    assert whole.startswith(kept)
    runs = [raw for raw in map(json.loads, whole.splitlines()) if "session" not in raw]
    keys = [(raw["epsilon"], raw["seed"]) for raw in runs]
    assert len(keys) == len(set(keys)) == 2 * 40


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_killed_at_a_random_moment_it_neither_loses_nor_repeats_a_run(tmp_path: Path) -> None:
    killed_at_random_moments(write_rows(tmp_path), tmp_path / "out", 1)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_killed_forty_times_it_neither_loses_nor_repeats_a_run(tmp_path: Path) -> None:
    for part in range(10):
        (tmp_path / str(part)).mkdir()
        killed_at_random_moments(write_rows(tmp_path / str(part)), tmp_path / str(part) / "out", 4)


@pytest.mark.slow
def test_interrupted_from_the_keyboard_it_ends_at_once_and_says_how_to_go_on(tmp_path: Path) -> None:
    hopeless = (
        "reproduce ijcnn1 --methods opt-ls --epsilons 0.2 --calibration published --longest 5000 --jobs 2"
    )
    line = [sys.executable, "-m", "sottovoce", *hopeless.split(), "--data", str(write_rows(tmp_path)), "-o"]
    process = subprocess.Popen(
        [*line, str(tmp_path / "out")],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 120.0
    while len(workers(process.pid)) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(2.0)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30.0)
    assert process.returncode == 130
    assert "the same command goes on" in said
