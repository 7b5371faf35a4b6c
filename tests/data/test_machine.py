"""Little memory: a compiler that fails is done without; nothing waits or aborts, nothing is charged."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import machine
from sottovoce.errors import ResourceError
from sottovoce.models import warming
from sottovoce.trusted import compiling
from tests.tables import TWO, write


@pytest.fixture
def undecided(monkeypatch):
    monkeypatch.delenv("SOTTOVOCE_KERNELS", raising=False)
    monkeypatch.setattr(compiling, "_failed", False)
    compiling._can_compile.cache_clear()
    yield
    compiling._can_compile.cache_clear()


@pytest.mark.parametrize("kilobytes", [250_000, 640_000])
def test_a_fit_without_addresses_ends_with_one_sentence_and_charges_nothing(kilobytes, tmp_path):
    write(tmp_path / "claims.csv", n=300)
    (tmp_path / "schema.toml").write_text(TWO.to_toml(), encoding="utf-8")
    ledger = sv.Ledger.create(tmp_path / "budget.db", dataset="claims", cap=sv.Budget(9.0, 1e-4))
    command = (
        "fit claims.csv --schema schema.toml --epsilon 1 --delta 1e-5 -o model.json --ledger budget.db "
        "--dataset claims"
    )
    ended = subprocess.run(
        ["bash", "-c", f"ulimit -v {kilobytes}; exec {sys.executable} -m sottovoce {command}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("sottovoce: ")
    assert ended.stderr.count("\n") - ended.stderr.count("nothing is charged yet") == 1
    assert "please report" not in ended.stderr
    assert ledger.history == ()


@pytest.mark.parametrize("failure", [OSError, ImportError, MemoryError, RuntimeError])
def test_a_compiler_that_fails_is_done_without(failure, undecided, monkeypatch):
    assert compiling.is_compiled(compiling.WORTH_COMPILING)

    def passes(layout):
        raise failure
        yield

    monkeypatch.setattr(warming, "_passes", passes)
    warming._compile()
    assert not compiling.is_compiled(compiling.WORTH_COMPILING)
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    with pytest.raises(ResourceError):
        compiling.is_compiled(1)


@pytest.mark.parametrize("asked", ["address_space_left", "memory_left"])
def test_where_a_compiler_would_end_the_process_numpy_serves(asked, undecided, monkeypatch):
    monkeypatch.setattr(compiling, asked, lambda: 200 * machine.MEGABYTE)
    assert not compiling.is_compiled(compiling.WORTH_COMPILING)


def test_a_library_that_does_not_load_is_done_without(undecided, monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    assert not compiling.is_compiled(compiling.WORTH_COMPILING)


def test_memory_that_a_run_needs_is_counted_from_public_numbers_before_the_first_charge(monkeypatch):
    rows = np.full((10, 1200), 0.01, dtype=np.float32)
    risk = sv.Risk(sv.Records.from_arrays(rows, np.tile([-1, 1], 5), labels=(-1, 1)), sv.losses.Logistic())
    ledger = sv.Ledger(sv.Budget(2.0, 1e-5))
    monkeypatch.setattr(machine, "memory_left", lambda: 128 * machine.MEGABYTE)
    with pytest.raises(ResourceError):
        sv.minimize(risk, budget=sv.Budget(1.0, 1e-6), ledger=ledger)
    assert ledger.history == ()


def test_many_records_are_not_computed_one_by_one_for_want_of_memory(undecided, monkeypatch):
    rows = np.full((10, 2), 0.01)
    risk = sv.Risk(sv.Records.from_arrays(rows, np.tile([-1, 1], 5), labels=(-1, 1)), sv.losses.Logistic())
    ledger = sv.Ledger(sv.Budget(2.0, 1e-5))
    monkeypatch.setattr(compiling, "address_space_left", lambda: 600 * machine.MEGABYTE)
    monkeypatch.setattr(warming, "MOST_ONE_BY_ONE", 9)
    with pytest.raises(ResourceError, match="compiler"):
        sv.minimize(risk, budget=sv.Budget(1.0, 1e-6), ledger=ledger)
    assert ledger.history == ()
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    warming.require_compiler(10)


def test_memory_that_runs_out_is_no_fault_of_the_file():
    with pytest.raises(ResourceError), machine.memory_told():
        raise MemoryError


def test_limits_of_containers_and_machines_are_read(tmp_path, monkeypatch):
    most, taken = tmp_path / "memory.max", tmp_path / "memory.current"
    monkeypatch.setattr(machine, "_GROUPS", (str(most),))
    monkeypatch.setattr(machine, "_TAKEN", (str(taken),))
    free = machine.memory_left()
    assert free is None or free > 0
    most.write_text("5000\n")
    taken.write_text("2000\n")
    assert machine.memory_left() == 3000
    most.write_text("max\n")
    assert machine.memory_left() != 3000
