"""Options of reading, inference and report are checked where they are made, before any data or ledger."""

from __future__ import annotations

from typing import Any

import pytest

import sottovoce as sv
from sottovoce.data.columns import Categorical, Target
from sottovoce.data.numbers import Numeric
from sottovoce.errors import ParameterError

SCHEMA = sv.Schema((Numeric("age", 0, 100), Categorical("c", ("a", "b"))), Target("y", ("no", "yes")))


@pytest.mark.parametrize(
    "wrong",
    [
        {"invalid": "drop"},
        {"invalid": None},
        {"delimiter": "::"},
        {"decimal": "x"},
        {"decimal": ","},
        {"workers": 0},
        {"workers": True},
        {"workers": 2, "dask": "tcp://127.0.0.1:1"},
    ],
    ids=str,
)
def test_options_of_reading_that_cannot_be_meant_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        sv.ReadOptions(**wrong)


def test_workers_are_those_of_a_scheduler_started_here() -> None:
    assert sv.ReadOptions().scheduler is None
    assert sv.ReadOptions(workers=3).scheduler == "local"
    assert sv.ReadOptions(dask="tcp://127.0.0.1:1").scheduler == "tcp://127.0.0.1:1"
    assert sv.ReadOptions(delimiter="\\t").delimiter == "\t"


def test_a_fit_takes_the_objects_alone_and_refuses_before_it_reads() -> None:
    ledger = sv.Ledger(sv.Budget(1.0, 1e-6))
    terms: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    for wrong in ({"reading": "zero"}, {"about": "a test"}, {"inference": 2.0}):
        with pytest.raises(ParameterError):
            sv.fit("none.csv", SCHEMA, **terms, **wrong)
    assert not ledger.history


def test_an_amended_schema_says_what_was_said_and_keeps_the_rest() -> None:
    changed = SCHEMA.amended(person="who", weight="w", weight_cap=5.0, class_weight={"yes": 3.0})
    assert (changed.person, changed.weight, changed.weight_cap) == ("who", "w", 5.0)
    assert changed.target is not None
    assert changed.target.class_weight == (1.0, 3.0)
    assert changed.amended() == changed
    assert SCHEMA.amended().digest == SCHEMA.digest
    with pytest.raises(ParameterError):
        sv.Schema(SCHEMA.columns).amended(class_weight={"yes": 3.0})
