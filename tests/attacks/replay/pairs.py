"""Random and adversarial neighbours, and a run over each that hears the same released answers.

If every answer is the same, everything else a run says is a function of public numbers and must be the same
too: weights, trace, certificate, stop reason, charges, refusals. The batches of the second run are drawn from
other entropy than the first's, for which records were read must not show either."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

import sottovoce as sv
from sottovoce.methods.registry import METHODS
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.privacy.noise import SimulatedNoise
from tests.doubles import Recorder, Replay

TARGET = (-3.0, 3.0)
CLASSES = ("a", "b", "c")
REGULARIZERS = (sv.regularizers.L2(1e-2), sv.regularizers.Tukey(1e-2))
MARGIN = (sv.losses.Logistic(), sv.losses.Sigmoid(), sv.losses.Savage())
RESIDUAL = (sv.losses.PseudoHuber(1.0), sv.losses.Cauchy(1.0))

Draw = np.random.Generator


@dataclass(frozen=True)
class Table:
    """Data before the door: one of two neighbours."""

    X: np.ndarray
    y: np.ndarray

    def replaced(self, place: int, row: Any, label: Any) -> Table:
        X, y = self.X.copy(), self.y.copy()
        X[place], y[place] = row, label
        return Table(X, y)


@dataclass(frozen=True)
class Setting:
    """Everything public about a run."""

    kind: str
    loss: Any
    regularizer: Any
    intercept: bool
    sparse: bool
    options: dict[str, Any]

    def risk(self, table: Table) -> Any:
        declared: dict[str, Any] = {
            "margin": {"labels": (-1, 1)},
            "residual": {"target": TARGET},
            "softmax": {"labels": CLASSES},
        }[self.kind]
        X = sparse.csr_array(table.X) if self.sparse else table.X
        records = sv.Records.from_arrays(X, table.y, intercept=self.intercept, invalid="zero", **declared)
        if self.kind == "softmax":
            return SoftmaxRisk(records, self.regularizer)
        return sv.Risk(records, self.loss, self.regularizer)


def setting(draw: Draw, method: str) -> Setting:
    kind = str(draw.choice(["margin", "residual", "softmax"], p=[0.5, 0.3, 0.2]))
    loss = {"margin": MARGIN, "residual": RESIDUAL, "softmax": (None,)}[kind]
    spend_it_all = draw.random() < (0.3 if method in ("majorize", "cubic") else 0.03)
    published = METHODS[method].published and draw.random() < 0.2
    options = {
        "method": method,
        "budget": sv.Budget(float(10 ** draw.uniform(-1.0, 1.5)), float(10 ** draw.uniform(-7.0, -2.0))),
        "tolerance": None if spend_it_all else sv.Tolerance(gradient=float(10 ** draw.uniform(-1.3, -0.3))),
        "confidence": float(draw.choice([0.9, 0.99])),
        "calibration": "published" if published else "tight",
    }
    return Setting(
        kind=kind,
        loss=loss[draw.integers(len(loss))],
        regularizer=REGULARIZERS[draw.integers(2)],
        intercept=bool(draw.integers(2)),
        sparse=bool(draw.random() < 0.25),
        options=options,
    )


def tables(draw: Draw, kind: str) -> tuple[Table, Table]:
    """Two tables that differ in one record: anything valid, anything broken, anything huge."""
    n, dim = int(draw.choice([draw.integers(3, 40), draw.integers(300, 2000)])), int(draw.integers(1, 4))
    X = draw.normal(size=(n, dim)) * draw.choice([0.1, 1.0, 100.0])
    y: Any = {
        "margin": lambda: draw.choice([-1, 1], n),
        "residual": lambda: draw.normal(size=n) * 3.0,
        "softmax": lambda: draw.choice(CLASSES, n),
    }[kind]()
    here = Table(X, y)
    place = int(draw.integers(n))
    row = X[place]
    rows = (
        draw.normal(size=dim),
        -row,
        np.zeros(dim),
        np.full(dim, 1e300),
        np.full(dim, np.nan),
        np.full(dim, -np.inf),
        np.full(dim, 5e-324),
        row * 1e-12,
        np.eye(dim)[draw.integers(dim)],
    )
    labels: Any = {
        "margin": (-1, 1, 0),
        "residual": (-3.0, 3.0, 1e300, np.nan, 0.0),
        "softmax": (*CLASSES, "z"),
    }[kind]
    return here, here.replaced(place, rows[draw.integers(len(rows))], labels[draw.integers(len(labels))])


@contextmanager
def hearing(noise: object) -> Any:
    """Runs draw from this source, and ledgers have one name."""
    named = mock.PropertyMock(return_value="fixed")
    with (
        mock.patch("sottovoce.training.noise_for", return_value=noise),
        mock.patch.object(sv.Ledger, "identity", named),
    ):
        yield


def said(run: Callable[[], Any], ledger: sv.Ledger) -> list[bytes]:
    """Every byte a run lets out: what it returns or raises, and what it was charged."""
    try:
        result = run()
        outcome = [
            json.dumps(result.to_dict()).encode(),
            pickle.dumps(result),
            repr(result).encode(),
            str(result).encode(),
        ]
    except sv.errors.SottovoceError as refusal:
        outcome = [type(refusal).__name__.encode(), str(refusal).encode(), repr(refusal.__context__).encode()]
    charges = [repr(replace(grant, id="", run_id="")).encode() for grant in ledger.history]
    return [*outcome, *charges, repr(ledger).encode()]


def differences(seed: int, method: str) -> tuple[int, int]:
    """(releases heard, things said that differ) for one pair of neighbours."""
    draw = np.random.default_rng([seed, *method.encode()])
    chosen = setting(draw, method)
    here, there = tables(draw, chosen.kind)
    recorder = Recorder(SimulatedNoise(seed))
    first = _said(chosen, here, recorder, seed)
    replay = Replay(recorder.tape, simulated=True)
    second = _said(chosen, there, replay, seed + 1)
    unequal = len(first) != len(second) or not replay.spent
    return len(recorder.tape), int(unequal) + sum(a != b for a, b in zip(first, second, strict=False))


def _said(chosen: Setting, table: Table, noise: object, seed: int) -> list[bytes]:
    budget = chosen.options["budget"]
    batched = chosen.options["method"].endswith("-b")
    try:
        ledger = sv.Ledger(budget, currency="renyi", order=256.0) if batched else sv.Ledger(budget)
    except sv.errors.ParameterError as refusal:
        return [str(refusal).encode()]
    risk = chosen.risk(table)
    with hearing(noise):
        return said(lambda: sv.minimize(risk, ledger=ledger, simulate=seed, **chosen.options), ledger)


def methods() -> list[str]:
    return list(METHODS)
