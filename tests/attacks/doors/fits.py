"""Whole fits: both neighbours hear the same released answers, so that each question is the same to both.

What is compared is every exact answer with the movement it was charged for, and every byte that the model
says. Curves ask in stages, and choose columns and ranges by what they were told; a time to event makes
several rows of a record; an exposure decides what a record counts; files come with marks of their own and
several at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import sottovoce as sv
from sottovoce.data.schema import Categorical, DatePart, Numeric, Schema, Spline, Target
from sottovoce.data.survival import Survival
from sottovoce.privacy.noise import SimulatedNoise
from tests.attacks.doors.engine import Door, Draw, Pair, Reading, charging
from tests.attacks.doors.probes import NOISE_SITES, Listener
from tests.attacks.doors.product.containers import _written

PEOPLE = 40
"""Persons that are declared."""

Row = dict[str, Any]

PLAIN: dict[str, Callable[[Draw], Any]] = {
    "a": lambda draw: float(draw.random()),
    "b": lambda draw: float(np.exp(draw.normal())),
    "c": lambda draw: str(draw.choice(["north", "south"])),
    "d": lambda draw: f"{draw.integers(1950, 2020)}-0{draw.integers(1, 10)}-15",
    "y": lambda draw: str(draw.choice(["no", "yes"])),
    "r": lambda draw: float(draw.normal()),
    "k": lambda draw: int(draw.poisson(2.0)),
    "t": lambda draw: float(draw.uniform(0.1, 4.0)),
    "s": lambda draw: float(draw.choice([0.0, 0.0, 0.5, 1.5])),
    "e": lambda draw: float(draw.uniform(0.1, 3.0)),
}
"""Columns by name: what a plain cell of each is."""

_NUMBERS = (None, float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e300, -1e300, 5e-324, 0.5, 1.0, 2.0)
_WORDS = (None, "", "nowhere", "yes", "no", "1e400", "nan", "10000-01-01", "2019-02-30", "\u0662\u0660")
HOSTILE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("abrtse", _NUMBERS),
    **dict.fromkeys("cdy", _WORDS),
    "k": (None, 0, -1, 20, 2**53, -(2**63), 2**63 - 1),
}
TYPES = {**dict.fromkeys("abrtse", pa.float64()), **dict.fromkeys("cdyp", pa.string()), "k": pa.int64()}

_CURVED = (
    Numeric("a", 0.0, 1.0),
    Numeric("b", 0.0, 1000.0, transform="log1p", indicator=True),
    Categorical("c", ("north", "south"), indicator=True),
    DatePart("year", "year", column="d", low=1900, high=2030),
)
_LINES = (Numeric("a", 0.0, 1.0), Categorical("c", ("north", "south")), Spline("b", 0.0, 10.0, (1.0, 3.0)))
_CLASSES = Target("y", ("no", "yes"))


def _timed(link: str, entry: str | None = None) -> Target:
    return Target("y", ("no", "yes"), survival=Survival("t", (1.0, 2.0, 3.0), entry, link))


@dataclass(frozen=True)
class Fit:
    """A fit by its schema and options; `marks`: as text with these marks, in two files."""

    name: str
    schema: Schema
    options: dict[str, Any]
    marks: tuple[str, str] | None = None


FITS: tuple[Fit, ...] = (
    *(
        Fit(f"{kind}, {what}", Schema(_CURVED, target), {"model": kind, "method": method})
        for kind, method in (("additive", "majorize"), ("auto", "auto"), ("smooth", "auto"))
        for what, target in (("classes", _CLASSES), ("numbers", Target("r", low=-3.0, high=3.0)))
    ),
    *(
        Fit(f"time to event, {link}, {entry}", Schema(_LINES, _timed(link, entry)), {"method": "majorize"})
        for link in ("logit", "cloglog")
        for entry in (None, "s")
    ),
    Fit(
        "time to event, weighted",
        Schema(_LINES, _timed("logit"), weight="e", weight_cap=2.0),
        {"method": "majorize", "inference": sv.Inference(0.3, robust=True, anyway=True)},
    ),
    *(
        Fit(
            f"exposure, {errors}",
            Schema(_LINES, Target("k", high=10, count=True, exposure="e", exposure_high=2.0)),
            {"method": "majorize", "inference": sv.Inference(0.3, robust=errors == "robust", anyway=True)},
        )
        for errors in ("robust", "plain")
    ),
    Fit(
        "dates with a format, commas",
        Schema((*_LINES, DatePart("d", "month", format="%Y-%m-%d", indicator=True)), _CLASSES),
        {"method": "majorize"},
        (";", ","),
    ),
    Fit("tabs", Schema(_LINES, Target("r", low=-3.0, high=3.0)), {"method": "majorize"}, ("\t", ".")),
    Fit("adapt", Schema(_LINES, _CLASSES), {"method": "adapt"}),
)


class Heard(Listener):
    """Noisy answers from a seed, or those that another run was given; what was exact is kept."""

    def __init__(self, seed: int, tape: list[Any], *, played: bool) -> None:
        super().__init__()
        self._noise, self._tape, self._played, self._place = SimulatedNoise(seed), tape, played, 0

    def gaussian(self, exact: np.ndarray, calibration: Any) -> np.ndarray:
        self._keep(exact, calibration.exact_sensitivity)
        return np.array(self._told(lambda: self._noise.gaussian(exact, calibration)))

    def first_above(self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float) -> Any:
        seen = list(queries)
        for query in seen:
            self._keep(query, sensitivity)
        return self._told(lambda: self._noise.first_above(seen, sensitivity, epsilon))

    def _told(self, draw: Callable[[], Any]) -> Any:
        if not self._played:
            self._tape.append(draw())
        self._place += 1
        return self._tape[self._place - 1]


def _content(rows: list[Row], columns: tuple[str, ...], marks: tuple[str, str]) -> bytes:
    def field(cell: Any) -> str:
        if isinstance(cell, float):
            return repr(cell).replace(".", marks[1])
        return "" if cell is None else str(cell)

    lines = [marks[0].join(columns), *(marks[0].join(field(row[name]) for name in columns) for row in rows)]
    return "\n".join(lines).encode() + b"\n"


def _fitted(fit: Fit, rows: list[Row], tape: list[Any], seed: int, played: bool, cut: int) -> Reading:
    columns = fit.schema.read_columns
    budget = fit.options["budget"]
    ledger = sv.Ledger(budget, unit="record" if fit.schema.person is None else "person")
    listener = Heard(seed, tape, played=played)
    options = {"simulate": 0, "about": sv.About(dataset="claims"), **fit.options}

    def run(table: Any, **marks: str) -> Reading:
        sites = [mock.patch(site, return_value=listener) for site in NOISE_SITES]
        for site in sites:
            site.start()
        try:
            how = sv.ReadOptions(invalid="zero", **marks)  # type: ignore[arg-type]
            model = sv.fit(table, fit.schema, ledger=ledger, reading=how, **options)
        finally:
            for site in sites:
                site.stop()
        said = model.to_dict() | {"created": ""}
        return Reading(answers=listener.answers, public=json.dumps(said, default=str) + repr(model))

    def read() -> Reading:
        with mock.patch.object(sv.Ledger, "identity", mock.PropertyMock(return_value="fixed")):
            if fit.marks is None:
                return run(
                    pa.table({name: pa.array([row[name] for row in rows], TYPES[name]) for name in columns})
                )
            files = [_content(part, columns, fit.marks) for part in (rows[:cut], rows[cut:])]
            marks = {"delimiter": fit.marks[0], "decimal": fit.marks[1]}
            return _written(files, lambda folder: run(folder, **marks), "t.csv")

    return charging(ledger, read)


def _changed(draw: Draw, rows: list[Row], place: int, columns: tuple[str, ...]) -> Row:
    """The record with hostile cells in one column, in some or in all."""
    part = draw.choice([0.0, 0.5, 1.0])
    chosen = {str(draw.choice(columns)), *(name for name in columns if draw.random() < part)} - {"p"}
    odd = {name: HOSTILE[name][draw.integers(len(HOSTILE[name]))] for name in sorted(chosen)}
    return {**rows[place], **odd}


def _pair(fit: Fit) -> Callable[[Draw], Pair]:
    def pair(draw: Draw) -> Pair:
        persons = bool(draw.random() < 0.5)
        relation = str(draw.choice(["replace-one", "zero-out"]))
        case = replace(fit, options=fit.options | {"budget": sv.Budget(2.0, 1e-5, relation)})
        if persons:
            case = replace(
                case,
                schema=replace(fit.schema, person="p"),
                options=case.options | {"persons": PEOPLE},
            )
        elif relation == "zero-out" and not fit.schema.weighed_by:
            case = replace(case, schema=replace(fit.schema, weight="e", weight_cap=3.0))
        columns, n = case.schema.read_columns, int(draw.integers(6, 30))
        rows: list[Row] = [{name: PLAIN[name](draw) for name in PLAIN} for _ in range(n)]
        for row in rows:
            row["p"] = f"q{draw.integers(1 + n // 2)}"
        place = int(draw.integers(n))
        here, there, change = _neighbours(draw, rows, place, columns, persons, relation)
        tape: list[Any] = []
        seed, cut = int(draw.integers(2**31)), int(draw.integers(1, min(len(here), len(there)) + 1))
        note = f"{fit.name}, {relation}, {'persons' if persons else 'records'}, {change}"
        return Pair(
            lambda: _fitted(case, here, tape, seed, False, cut),
            lambda: _fitted(case, there, tape, seed, True, cut),
            place,
            note,
        )

    return pair


def _neighbours(
    draw: Draw, rows: list[Row], place: int, columns: tuple[str, ...], persons: bool, relation: str
) -> tuple[list[Row], list[Row], str]:
    """A record replaced, or one that counts nothing; a person with other rows, more or fewer; or gone."""
    key = rows[place]["p"]
    others = [row for row in rows if row["p"] != key]
    if not persons:
        odd = _changed(draw, rows, place, columns)
        here = [*rows[:place], odd, *rows[place + 1 :]]
        if relation == "zero-out":
            return here, [*rows[:place], {**odd, "e": 0.0}, *rows[place + 1 :]], "counts nothing"
        return rows, here, "replaced"
    own = [row for row in rows if row["p"] == key]
    made = [_changed(draw, rows, place, columns) for _ in range(int(draw.integers(0, 5)))]
    if relation == "zero-out":
        own = [*own, *made]
        return _mixed(draw, others, own), others or [{**dict.fromkeys(rows[0], None), "p": None}], "gone"
    return _mixed(draw, others, own), _mixed(draw, others, made or own[:1]), f"{len(own)} to {len(made)} rows"


def _mixed(draw: Draw, others: list[Row], own: list[Row]) -> list[Row]:
    """A person's rows anywhere among those of others."""
    found = list(others)
    for row in own:
        found.insert(int(draw.integers(len(found) + 1)), row)
    return found


DOORS = tuple(Door(f"fits: {fit.name}", _pair(fit), 2) for fit in FITS)
