"""Compiling while data is read: the first pass compiles nothing more, small tables start nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from sottovoce.data.layout import RowLayout
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.models import warming
from sottovoce.trusted import compiling as choosing


@pytest.fixture
def unstarted(monkeypatch):
    monkeypatch.setattr(warming, "_begun", set())
    started = []
    monkeypatch.setattr(warming, "_compile", lambda _: started.append(threading.current_thread().name))
    return started


def finish():
    for thread in threading.enumerate():
        if thread.name == "sottovoce-compile":
            thread.join()


def test_compiling_starts_once_and_for_large_tables_alone(unstarted, monkeypatch):
    monkeypatch.delenv("SOTTOVOCE_KERNELS", raising=False)
    warming.warm(choosing.WORTH_COMPILING - 1)
    finish()
    assert unstarted == []
    for _ in range(3):
        warming.warm(choosing.WORTH_COMPILING)
    finish()
    assert unstarted == ["sottovoce-compile"]
    layout = RowLayout.of(Schema((Numeric("a", 0, 1),)))
    for _ in range(3):
        warming.warm(choosing.WORTH_COMPILING, layout)
    finish()
    assert unstarted == ["sottovoce-compile"] * 2


def test_the_reference_path_starts_nothing(unstarted, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_KERNELS", "reference")
    warming.warm(10**12)
    finish()
    assert unstarted == []


def test_a_process_that_ends_waits_for_no_pass_that_was_not_begun(monkeypatch):
    begun = []
    monkeypatch.setattr(warming, "_passes", lambda _: iter([lambda: begun.append(1)] * 3))
    monkeypatch.setattr(threading.main_thread(), "is_alive", lambda: len(begun) < 2)
    warming._compile()
    assert len(begun) == 2


@pytest.mark.slow
def test_after_warming_no_pass_compiles_anything():
    """Every dispatcher keeps the signatures it was compiled for; real rows must bring none that is new."""
    code = """
import threading, numpy as np, sottovoce as sv
from sottovoce.models import warming
from sottovoce.data.layout import RowLayout
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
import pyarrow as pa
columns = Numeric("a", -1, 1), Categorical("b", (1, 2, 3)), Categorical("c", (1,))
schema = Schema(columns, Target("y", low=-1, high=1))
warming._compile()
warming._compile(RowLayout.of(schema))
warming.warm_for = lambda rows: None
from sottovoce.kernels.compiled import block_sums, compact_outer, compact_products, compact_sums
from sottovoce.kernels.compiled import gram, lengths, products
modules = block_sums, compact_outer, compact_products, compact_sums, gram, lengths, products
def signatures():
    return {(module.__name__, name): len(held.signatures) for module in modules
            for name, held in vars(module).items() if hasattr(held, "signatures")}
before = signatures()
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 5)), rng.uniform(-1, 1, 300)
table = pa.table({"a": y, "b": rng.integers(0, 5, 300), "c": np.ones(300), "y": y})
for weights in (None, np.ones(300)):
  for records in (sv.Records.from_arrays(X, y, target=(-1, 1), sample_weight=weights),
                  sv.Records.from_table(table, schema, sample_weight=weights)):
    assert records.dim in (5, 6)
    risk = sv.Risk(records, sv.losses.Cauchy(), sv.regularizers.L2(0.1))
    w, steps = np.ones(risk.dim), np.ones((2, risk.dim))
    risk.value(w), risk.gradient(w), risk.value_and_gradient(w), risk.hessian(w), risk.gram()
    risk.gram_diagonal(), risk.moments(), risk.trials(w, steps), risk.along(w, steps[0]).decrease(0.5)
    risk.preconditioned(sv.queries.Preconditioner(scale=w, cap=0.5)).gradient(w)
labels = rng.choice([-1, 1], 300)
classes = sv.Risk(sv.Records.from_arrays(X, labels, labels=(-1, 1)), sv.losses.Logistic())
w = np.ones(5)
classes.value_and_gradient(w), classes.hessian(w)
print([name for name, count in signatures().items() if count != before[name]])
"""
    environment = {**os.environ, "SOTTOVOCE_KERNELS": "compiled"}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == "[]"


def test_a_pass_gives_the_same_numbers_whether_or_not_compiling_is_under_way(monkeypatch):
    import sottovoce as sv

    monkeypatch.setenv("SOTTOVOCE_KERNELS", "compiled")
    monkeypatch.setattr(warming, "_begun", set())
    rng = np.random.default_rng(1)
    records = sv.Records.from_arrays(rng.normal(size=(500, 4)), rng.choice([0, 1], 500), labels=(0, 1))
    risk = sv.Risk(records, sv.losses.Logistic())
    warming.warm(1)
    during = risk.value_and_gradient(np.ones(4))
    finish()
    after = risk.value_and_gradient(np.ones(4))
    assert during[0] == after[0]
    assert np.array_equal(during[1], after[1])


def test_a_fit_starts_compiling_before_it_reads_by_the_size_of_the_file_alone(tmp_path, monkeypatch):
    import sottovoce as sv
    from sottovoce import fitting

    schema = sv.Schema((Numeric("a", 0, 1), Categorical("b", tuple("fgh"))), Target("y", classes=("n", "m")))
    asked = []
    monkeypatch.setattr(fitting, "warm", lambda entries, layout: asked.append(entries))
    for rows in ("0.1,f,n\n" * 4000, "9e9,?,n\n" * 4000):
        path = tmp_path / "t.csv"
        path.write_text("a,b,y\n" + rows)
        monkeypatch.setattr(
            fitting.tables, "read_compact", lambda *_, **__: pytest.fail(f"asked {len(asked)}")
        )
        with pytest.raises(pytest.fail.Exception, match=f"asked {len(asked) + 1}"):
            fitting.fit(path, schema, epsilon=1.0, delta=1e-6)
    assert asked[0] == asked[1]
    assert 4000 * 5 / 4 <= asked[0] <= 4000 * 5 * 4


def test_a_law_is_checked_while_another_thread_loads_the_compiler():
    """Parts of a package that is being loaded elsewhere are not there yet: the whole is waited for."""
    code = (
        "import numpy as np, sottovoce as sv\n"
        "r = sv.Records.from_arrays(np.ones((9, 2)), np.ones(9), labels=(-1, 1))\n"
        "sv.Risk(r, sv.losses.Logistic()).value_and_gradient(np.zeros(2))\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "SOTTOVOCE_KERNELS": "compiled"}, check=True
    )
