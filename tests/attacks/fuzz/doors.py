"""The entry points, each fed one generated input at a time."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import sottovoce as sv
from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, verify
from sottovoce.data.files import read
from sottovoce.data.schema import Schema
from sottovoce.methods.registry import METHODS
from tests import problems
from tests.attacks.fuzz import front_doors
from tests.attacks.fuzz.watch import (
    SECRET_NUMBER,
    SECRET_TEXT,
    Draw,
    Spiteful,
    guarded,
    odd,
    smudged,
    spoiled,
)

Door = Callable[[Draw, Path], None]
RISK = problems.logistic(n=30, dim=2)
BUDGET = Budget(1.0, 1e-5)
SCHEMA = {
    "columns": {
        "age": {"type": "numeric", "low": 0.0, "high": 120.0},
        "sex": {"type": "categorical", "categories": ["f", "m"]},
    },
    "target": {"column": "ill", "classes": ["no", "yes"]},
}


def arrays(draw: Draw, folder: Path) -> None:
    """Records from anything that could be taken for a table."""
    n, dim = int(draw.integers(0, 6)), int(draw.integers(0, 4))
    plain = draw.normal(size=(n, dim)) * draw.choice([1.0, 1e300, 1e-300])
    if plain.size:
        plain.flat[draw.integers(plain.size)] = draw.choice([SECRET_NUMBER, np.nan, np.inf, -1e308, 5e-324])
    tables: tuple[Callable[[], Any], ...] = (
        lambda: plain,
        lambda: plain.astype(np.float32) if np.all(np.abs(plain) < 1e30) else plain,
        lambda: plain.astype(object),
        lambda: plain.astype(str),
        lambda: plain.astype(complex),
        lambda: plain.tolist(),
        lambda: plain.ravel(),
        lambda: plain[None],
        lambda: sparse.csr_array(plain) if plain.size else plain,
        lambda: _broken_sparse(draw),
        lambda: np.ma.masked_greater(plain, 1.0),
        lambda: [[SECRET_NUMBER], [1.0, 2.0]],
        lambda: np.array([[SECRET_TEXT]] * max(n, 1)),
        lambda: np.array([[Spiteful()]] * max(n, 1), dtype=object),
        lambda: np.zeros((n, dim), dtype="datetime64[s]"),
        lambda: Spiteful(),
        lambda: odd(draw),
    )
    columns: tuple[Callable[[], Any], ...] = (
        lambda: draw.choice([-1, 1], n),
        lambda: draw.choice([-1.0, 1.0, SECRET_NUMBER], n),
        lambda: draw.choice(["a", "b", SECRET_TEXT], n),
        lambda: np.array([Spiteful()] * n, dtype=object),
        lambda: [SECRET_TEXT] * n,
        lambda: np.full((n, 1), SECRET_NUMBER),
        lambda: np.full(n + 1, SECRET_NUMBER),
        lambda: draw.normal(size=n),
        lambda: odd(draw),
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = tables[draw.integers(len(tables))](), columns[draw.integers(len(columns))]()
    options: dict[str, Any] = [{"labels": (-1, 1)}, {"labels": ("a", "b")}, {"target": (-1.0, 1.0)}][
        draw.integers(3)
    ]
    if draw.random() < 0.3:
        options = {
            **options,
            str(draw.choice(["radius", "labels", "target", "intercept", "invalid"])): odd(draw),
        }
    options = {"invalid": str(draw.choice(["zero", "raise"])), **options}
    records = guarded(lambda: sv.Records.from_arrays(X, y, **options))
    if records is not None:
        loss = sv.losses.Logistic() if records.labels else sv.losses.PseudoHuber()
        risk = guarded(lambda: sv.Risk(records, loss))
        if risk is not None:
            guarded(lambda: float(risk.value(np.zeros(records.dim))))


def _broken_sparse(draw: Draw) -> Any:
    table = sparse.csr_array(np.full((3, 3), SECRET_NUMBER))
    part = str(draw.choice(["indices", "indptr", "data"]))
    array = getattr(table, part).copy()
    array[draw.integers(array.size)] = draw.choice([-1, 7, 2**30])
    setattr(table, part, array)
    return table


def parameters(draw: Draw, folder: Path) -> None:
    """Every argument of the front door, one or two of them odd."""
    options: dict[str, Any] = {
        "budget": BUDGET,
        "method": str(draw.choice(list(METHODS))),
        "tolerance": sv.Tolerance(gradient=0.5, curvature=0.5),
        "simulate": int(draw.integers(1000)),
    }
    names = ("budget", "method", "tolerance", "start", "ledger", "simulate", "confidence", "calibration")
    for name in draw.choice(names, int(draw.integers(1, 3)), replace=False):
        options[str(name)] = odd(draw)
    guarded(lambda: sv.minimize(RISK, **options))
    guarded(lambda: Budget(odd(draw), odd(draw)))
    guarded(lambda: sv.Tolerance(gradient=odd(draw), curvature=odd(draw)))
    guarded(lambda: Ledger(odd(draw), currency=odd(draw), order=odd(draw)))
    guarded(lambda: GaussianEvent(odd(draw), odd(draw), odd(draw), odd(draw), odd(draw)))
    guarded(lambda: sv.Risk(odd(draw), odd(draw)))
    guarded(lambda: RISK.gradient(odd(draw)))


_RESULT: dict[str, Any] = sv.minimize(RISK, budget=BUDGET, simulate=0).to_dict()


def results(draw: Draw, folder: Path) -> None:
    """Saved results with parts missing, replaced or smudged."""
    raw = spoiled(draw, _RESULT)
    guarded(lambda: sv.Result.from_dict(raw) and None)
    place = folder / "run.json"
    place.write_bytes(smudged(draw, json.dumps(_RESULT).encode()))
    guarded(lambda: sv.Result.load(place) and None)


def ledgers(draw: Draw, folder: Path) -> None:
    """Ledger files with bytes overwritten, and odd ways to open or create one."""
    place = folder / "budget.db"
    if not place.exists():
        ledger = Ledger.create(place, dataset="claims", cap=BUDGET)
        for _ in range(3):
            ledger.charge(GaussianEvent(QueryKind.GRADIENT, 0.01, 1.0, 3, 0.0))
    sound = place.read_bytes()
    try:
        place.write_bytes(smudged(draw, sound))
        ledger = guarded(lambda: Ledger.open(place, dataset="claims"))
        if ledger is not None:
            history = guarded(lambda: ledger.history)
            assert history is None or len(history) == 3
        guarded(lambda: str(verify(place)))
    finally:
        place.write_bytes(sound)
        for part in ("-wal", "-shm"):
            Path(f"{place}{part}").unlink(missing_ok=True)
    witness = Path(f"{place}.witness")
    remembered = witness.read_bytes()
    try:
        witness.write_bytes(smudged(draw, remembered))
        guarded(lambda: Ledger.open(place, dataset="claims") and None)
    finally:
        witness.write_bytes(remembered)
    given = {"dataset": odd(draw), "cap": odd(draw), "currency": odd(draw), "order": odd(draw)}
    guarded(lambda: Ledger.open(place, **given) and None)
    guarded(lambda: Ledger.create(place, **given) and None)


def schemas(draw: Draw, folder: Path) -> None:
    """Declarations with parts missing, replaced or smudged, as Python values, JSON and TOML."""
    guarded(lambda: Schema.from_dict(spoiled(draw, SCHEMA)))
    place = folder / f"schema.{draw.choice(['toml', 'json', 'txt'])}"
    text = Schema.from_dict(SCHEMA).to_toml() if place.suffix == ".toml" else json.dumps(SCHEMA)
    place.write_bytes(smudged(draw, text.encode()))
    guarded(lambda: Schema.load(place))


def tables(draw: Draw, folder: Path) -> None:
    """CSV and Parquet files with every kind of damage, all of whose fields are secret."""
    schema = Schema.from_dict(SCHEMA)
    fields: dict[str, tuple[str, ...]] = {
        "age": ("33", "", "nan", "inf", "1e400", str(SECRET_NUMBER), SECRET_TEXT, '"', "0x1f"),
        "sex": ("f", "m", "", SECRET_TEXT, '"f', "\x00"),
        "ill": ("no", "yes", "yes", "", SECRET_TEXT),
    }
    rows = [[str(draw.choice(fields[name])) for name in fields] for _ in range(int(draw.integers(0, 5)))]
    if draw.random() < 0.7:
        place = folder / "data.csv"
        header = ",".join(fields) if draw.random() < 0.9 else f"age,{SECRET_TEXT},ill"
        content = "\n".join([header, *(",".join(row) for row in rows)]).encode()
        place.write_bytes(smudged(draw, content) if draw.random() < 0.5 else content)
    else:
        place = folder / "data.parquet"
        _write_parquet(place, rows, list(fields))
        place.write_bytes(smudged(draw, place.read_bytes()) if draw.random() < 0.7 else place.read_bytes())
    guarded(lambda: read(place, schema, how=sv.ReadOptions(invalid=str(draw.choice(["zero", "raise"])))))


def _write_parquet(place: Path, rows: list[list[str]], names: list[str]) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    named = {name: list(column) for name, column in zip(names, columns, strict=True)}
    parquet.write_table(
        pyarrow.table({name: pyarrow.array(v, pyarrow.string()) for name, v in named.items()}), place
    )


DOORS: dict[str, Door] = {
    "arrays": arrays,
    "parameters": parameters,
    "saved results": results,
    "ledgers": ledgers,
    "schemas": schemas,
    "tables": tables,
    **front_doors.DOORS,
}
