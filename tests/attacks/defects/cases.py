"""Attacks on sensitivity, charge and coupling, small enough that a defect is met by several in a second.

A case returns a digest of what it saw, by which a change of behaviour is told, or raises `Broken`."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.accounting.relations import Relation
from sottovoce.data.schema import Schema
from sottovoce.estimators.held_out import Split
from sottovoce.methods.registry import METHODS
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.queries import Preconditioner
from sottovoce.queries.residuals import ResidualBands
from tests.attacks import test_neighbours as climbs
from tests.attacks.defects.watching import (
    asked,
    coupled,
    digest,
    require_apart,
    require_paid,
)
from tests.attacks.replay import pairs
from tests.attacks.test_replay_fronts import ESTIMATORS, FIGURES, SEARCHES, arrays

Case = Callable[[], str]
FORMS = ("dense", "sparse", "compiled", "persons")
LOSSES: dict[str, Any] = {
    **climbs.LOSSES,
    "savage": sv.losses.Savage(),
    "cauchy": sv.losses.Cauchy(1.0),
    "geman-mcclure": sv.losses.GemanMcClure(0.7),
    "welsch": sv.losses.Welsch(1.0),
    "least-squares": sv.losses.LeastSquares(),
    "log-cosh": sv.losses.LogCosh(),
    "poisson": sv.losses.Poisson(3.0),
}
NAMES = (*climbs.NAMES, "residual bands")
CANDIDATES = 7
ASKED = 5


def queries(seed: int) -> str:
    """Records that could stand in one place, hostile ones among them: every two of them are neighbours.

    Under zero-out each is compared with the record that counts nothing."""
    draw = np.random.default_rng([seed, 28])
    loss = list(LOSSES)[seed % len(LOSSES)]
    relation = list(Relation)[(seed // len(LOSSES)) % 2]
    kind = climbs.KINDS[int(draw.integers(len(climbs.KINDS)))]
    form = FORMS[int(draw.choice(len(FORMS), p=[0.5, 0.15, 0.15, 0.2]))]
    names = [str(name) for name in draw.permutation(NAMES)[:ASKED]]
    choice = climbs.decoded(draw.normal(size=80), _like(loss), kind)
    held = [_records(draw, loss, choice, place) for place in range(CANDIDATES)]

    def query(name: str, problem: Any) -> Any:
        return ResidualBands(choice.u) if name == "residual bands" else choice.query(name, problem)

    with kernels("compiled" if form == "compiled" else "reference"):
        null, *logs = (
            asked(
                names,
                lambda one=one: _risk(loss, one, choice.preconditioner, form),
                query,
                relation,
                seed,
            )
            for one in (None, *held)
        )
    require_paid(null)
    if relation is Relation.REPLACE_ONE:
        require_apart(itertools.combinations([*logs, null], 2))
    else:
        require_apart((log, null) for log in logs)
    return digest(null) + digest(logs[0]) + digest(logs[-1])


def _records(draw: np.random.Generator, loss: str, choice: Any, place: int) -> tuple[Any, float, float]:
    """Along the point asked about, against it, across it, long and short, with every label."""
    u = choice.u.reshape(-1, climbs.COLUMNS)[0]
    along = u / max(float(np.linalg.norm(u)), 1e-12)
    across = np.linalg.svd(along[None])[2][1]
    angle = [0.0, np.pi, np.pi / 2, -np.pi / 2, np.pi / 4, 3 * np.pi / 4, *draw.uniform(0, 2 * np.pi, 9)][
        place
    ]
    row = climbs.RADIUS * (np.cos(angle) * along + np.sin(angle) * across)
    row = row * (1.0 if place < 7 else float(draw.uniform(0.01, 1.0)))
    other = climbs.decoded(draw.normal(size=80), _like(loss), None).records[0]
    return (
        row,
        max(0.0, other[1]) if loss == "poisson" else other[1],
        climbs.CAP if place % 3 < 2 else other[2],
    )


def _like(loss: str) -> str:
    """A loss with targets of the same kind."""
    if loss == "softmax":
        return loss
    return "logistic" if LOSSES[loss].kind is sv.losses.Kind.MARGIN else "residual"


def _risk(loss: str, one: Any, preconditioner: Preconditioner | None, form: str) -> Any:
    from scipy import sparse

    null = (np.zeros(climbs.COLUMNS), 1.0, 0.0)
    row, label, weight = null if one is None else one
    X = np.vstack([row, climbs.RADIUS * np.eye(climbs.COLUMNS)])
    y, q = np.append(label, [1.0] * climbs.COLUMNS), np.append(weight, [climbs.CAP] * climbs.COLUMNS)
    declared: dict[str, Any] = {"labels": (-1, 1)}
    if loss == "softmax":
        declared = {"labels": (0, 1, 2)}
    elif _like(loss) == "residual":
        declared = {"target": (0.0, 3.0) if loss == "poisson" else climbs.TARGET}
    if form == "persons":
        X, y, keys = np.vstack([row, -row / 2, X[1:]]), np.append([label, 1.0], y[1:]), [0, 0, 1, 2, 3]
        keep = slice(None) if one is not None else slice(2, None)
        records = sv.Records.from_arrays(
            X[keep], y[keep], radius=climbs.RADIUS, groups=keys[keep], persons=4, **declared
        )
    else:
        X = sparse.csr_array(X) if form == "sparse" else X
        records = sv.Records.from_arrays(
            X, y, radius=climbs.RADIUS, sample_weight=q, weight_cap=climbs.CAP, **declared
        )
    risk = SoftmaxRisk(records) if loss == "softmax" else sv.Risk(records, LOSSES[loss])
    return risk if preconditioner is None else risk.preconditioned(preconditioner)


@contextmanager
def kernels(path: str) -> Iterator[None]:
    with mock.patch.dict(os.environ, {"SOTTOVOCE_KERNELS": path}):
        yield


def runs(method: str, seed: int) -> str:
    """A whole run of a method, and over a neighbour with the same answers."""
    draw = np.random.default_rng([seed, *method.encode()])
    chosen = pairs.setting(draw, method)
    here, there = pairs.tables(draw, chosen.kind)

    def said(table: pairs.Table) -> list[bytes]:
        options = {**chosen.options}
        batched = method.endswith("-b")
        with identity():
            currency: dict[str, Any] = {"currency": "renyi", "order": 64.0} if batched else {}
            ledger = sv.Ledger(options["budget"], **currency)
            result = sv.minimize(chosen.risk(table), ledger=ledger, simulate=seed, **options)
        charges = [repr(replace(grant, id="", run_id="")).encode() for grant in ledger.history]
        return [json.dumps(result.to_dict()).encode(), str(result).encode(), *charges]

    return coupled(lambda: said(here), lambda: said(there), seed)


def identity() -> Any:
    return mock.patch.object(sv.Ledger, "identity", mock.PropertyMock(return_value="fixed"))


def estimators(name: str, seed: int) -> str:
    X, y, other_X, other_y = arrays(seed)

    def fitted(X: Any, y: Any) -> list[bytes]:
        estimator = ESTIMATORS[name]().fit(X, y)
        return [str(estimator.coef_).encode(), np.asarray(estimator.predict(np.eye(3))).tobytes()]

    return coupled(lambda: fitted(X, y), lambda: fitted(other_X, other_y), seed)


def searches(name: str, seed: int, persons: bool) -> str:
    """Neighbours that anyone may be, and those who were held out with the other label: every candidate's
    merit goes from one end to the other, and nothing else is asked of them."""
    estimator, grid, table = SEARCHES[name]
    X, y, other_X, other_y = arrays(seed)
    keys = np.arange(len(y)) // 2 if persons else None
    test = Split.of(len(y), 0.2, keys, None, Relation.REPLACE_ONE, simulate=0).test

    def searched(X: Any, y: Any) -> list[bytes]:
        unit = "record" if keys is None else "person"
        with identity():
            account = sv.Ledger(sv.Budget(5.0, 1e-4), unit=unit)
            found = sv.PrivateSearch(estimator(), grid, epsilon=4.0, delta=1e-5, simulate=0, ledger=account)
            found = found.fit(table(X), y, groups=keys)
        charges = [repr(replace(grant, id="", run_id="")).encode() for grant in account.history]
        return [repr(found.best_params_).encode(), found.predict(table(np.eye(3))).tobytes(), *charges]

    mine = np.flatnonzero(test)[: 2 if persons else 1]
    turned = y.copy()
    turned[mine] = -y[mine]
    found = [coupled(lambda: searched(X, y), lambda: searched(X, turned), seed)]
    if not persons:
        found.append(coupled(lambda: searched(X, y), lambda: searched(other_X, other_y), seed))
    return " ".join(found)


FIGURED = {**FIGURES, "area": evaluation.auc}
"""Every figure by itself, and all together."""

WHOSE = ("records", "persons", "persons who leave")


def figures(name: str, whose: str, seed: int) -> str:
    """Neighbours in which one record, or all of a person's, gets the other label, the opposite row or both:
    some of them move a merit from one end to the other, whatever the model says of the record. Or a person
    has no rows at all."""
    X, y, other_X, other_y = arrays(seed)
    kind = "regressor" if name == "absolute error" else "classifier"
    model = ESTIMATORS[kind]().fit(X, y)
    leaves = whose == "persons who leave"
    relation = Relation.ZERO_OUT if leaves else Relation.REPLACE_ONE
    keys, mine = np.arange(len(y)) // 2, 1 if whose == "records" else 2
    corners = list(itertools.product((9.0, -9.0), (1, -1)))
    held = [[corner] * mine for corner in corners]
    if mine > 1:
        held += [[corners[0], corners[3]], [corners[1], corners[2]]]

    def measured(X: Any, y: Any) -> Any:
        budget = sv.Budget(1.0, 1e-5, relation)
        people: dict[str, Any] = {} if whose == "records" else {"groups": keys[len(keys) - len(y) :]}
        if leaves:
            people["persons"] = 60
        return FIGURED[name](model, X, y, budget=budget, simulate=0, **people)

    def with_rows(place: int, rows: list[tuple[float, int]]) -> tuple[Any, Any]:
        changed_X, changed_y = X.copy(), y.copy()
        for row, (side, label) in enumerate(rows, place):
            changed_X[row], changed_y[row] = side * np.sign(model.coef_).ravel(), label
        return changed_X, changed_y

    if leaves:
        pairs = [(with_rows(0, rows), (X[2:], y[2:])) for rows in held]
    else:
        pairs = [((X, y), (other_X, other_y))] if whose == "records" else []
        for place in (0, 1) if whose == "records" else (0,):
            pairs += itertools.pairwise(with_rows(place, rows) for rows in held)
    return " ".join(coupled(partial(measured, *one), partial(measured, *two), seed) for one, two in pairs)


COLUMNS: dict[str, Any] = {
    "age": {"type": "numeric", "low": 18, "high": 98},
    "income": {"type": "numeric", "low": 0, "high": 200, "indicator": True},
    "region": {"type": "categorical", "categories": ["north", "south", "west"], "indicator": True},
}
CELLS: dict[str, tuple[Any, ...]] = {
    "age": (18, 98, 1e300, float("nan"), -5, 50),
    "income": (0, 200, float("inf"), float("nan"), 7),
    "region": ("north", "west", "nowhere", "", None),
}
AIMS: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "two": ({"column": "y", "classes": ["no", "yes"]}, ("no", "yes", "perhaps")),
    "three": ({"column": "y", "classes": ["a", "b", "c"]}, ("a", "b", "c", "d")),
    "range": ({"column": "y", "low": 0.0, "high": 500.0}, (0.0, 500.0, 1e9, float("nan"))),
}


def tables(aim: str, seed: int, persons: bool) -> str:
    """From cells to a model with standard errors, read by a schema: compact rows, persons, bad cells."""
    draw = np.random.default_rng([seed, persons])
    target, labels = AIMS[aim]
    declared = {"columns": COLUMNS, "target": target, **({"person": "who"} if persons else {})}
    schema = Schema.from_dict(declared)
    rows = 80
    held = pd.DataFrame(
        {
            "age": draw.integers(18, 99, rows).astype(float),
            "income": draw.integers(0, 201, rows).astype(float),
            "region": draw.choice(["north", "south", "west"], rows).astype(object),
            "y": pd.Series(draw.choice(np.array(labels[:2], dtype=object), rows)),
            "who": [f"p{number}" for number in np.arange(rows) // 2],
        }
    )
    other = held.copy()
    mine = [6, 7] if persons else [int(draw.integers(rows))]
    for place in mine:
        for name, cells in (*CELLS.items(), ("y", labels)):
            other.at[place, name] = cells[int(draw.integers(len(cells)))]
    relation = "replace-one"
    terms: dict[str, Any] = {"persons": rows // 2} if persons else {}
    method = str(draw.choice(["adapt", "majorize", "accelerate"]))

    def fitted(table: pd.DataFrame) -> list[bytes]:
        with identity():
            model = sv.fit(
                table,
                schema,
                epsilon=2.0,
                delta=1e-5,
                relation=relation,
                method=method,
                inference=0.3,
                reading=sv.ReadOptions(invalid="zero"),
                simulate=seed,
                **terms,
            )
            said = [json.dumps(model.result.to_dict()).encode(), str(model.result).encode()]
            if aim == "two":
                budget = sv.Budget(1.0, 1e-5, relation)
                found = evaluation.evaluate(
                    model, table, budget=budget, simulate=0, reading=sv.ReadOptions(invalid="zero"), **terms
                )
                said.append(repr(found).encode())
        return said

    return coupled(lambda: fitted(held), lambda: fitted(other), seed)


def cases(many: bool = True) -> dict[str, Case]:
    """All of them by name, or those of the default run."""
    found: dict[str, Case] = {
        f"queries {seed}": partial(queries, seed) for seed in range(160 if many else 26)
    }
    for method in METHODS if many else ("majorize", "cubic", "accelerate"):
        found |= {f"run of {method} {seed}": partial(runs, method, seed) for seed in range(3 if many else 1)}
    for aim, persons in itertools.product(AIMS, (False, True)):
        found |= {
            f"table {aim} {'persons' if persons else 'records'} {seed}": partial(tables, aim, seed, persons)
            for seed in range(2 if many else 1)
        }
    for name in ESTIMATORS if many else ():
        found |= {f"estimator {name} {seed}": partial(estimators, name, seed) for seed in range(1)}
    for name in ("three classes", "pipeline") if many else ():
        for persons in (False, True):
            found[f"search {name} by {'persons' if persons else 'records'}"] = partial(
                searches, name, 1, persons
            )
    for name, whose in itertools.product(FIGURED, WHOSE) if many else (("absolute error", "records"),):
        found[f"figure {name} of {whose}"] = partial(figures, name, whose, 0)
    if many and find_spec("torch") is not None:
        from tests.attacks.defects import modules

        found |= {f"module {seed}": partial(modules.queries, seed) for seed in range(modules.COUNT)}
        found["fit of a module"] = partial(modules.fits, 0)
    return found
