"""The paper's own figures, read from the tables that ship with the package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, final


@final
@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over five runs."""

    mean: float
    sd: float

    @classmethod
    def read(cls, raw: dict[str, float] | None) -> Spread | None:
        return None if raw is None else cls(raw["mean"], raw["std"])


@final
@dataclass(frozen=True, kw_only=True)
class Printed:
    """A cell as printed: `terminated` is False for their cross, None for NA; seconds are on eight cores."""

    loss: Spread | None
    seconds: Spread | None
    hessians: Spread | None
    terminated: bool | None


@final
@dataclass(frozen=True)
class Paper:
    """Tolerances by (data set, loss, setting), and cells by (data set, loss, setting, method, epsilon)."""

    tolerances: Mapping[tuple[str, str, str], tuple[float, float]]
    cells: Mapping[tuple[str, str, str, str, float], Printed]


@cache
def paper() -> Paper:
    """The tables of Gao & Wright; method names as they are typed here."""
    raw = json.loads(files("sottovoce_studies").joinpath("tables.json").read_text("utf-8"))
    tolerances: dict[tuple[str, str, str], tuple[float, float]] = {}
    parts: dict[tuple[str, str, str, str, float], dict[str, Any]] = {}
    for table in raw["tables"]:
        key = (table["dataset"], table["loss"], table["setting"])
        tolerances[key] = (table["gradient_tolerance"], table["curvature_tolerance"])
        for method, row in table["rows"].items():
            for epsilon, cell in row.items():
                parts.setdefault((*key, method.lower(), float(epsilon)), {}).update(cell)
    cells = {
        key: Printed(
            loss=Spread.read(cell["final_loss"]),
            seconds=Spread.read(cell["runtime"]),
            hessians=Spread.read(cell.get("hessian_evaluations")),
            terminated=cell["terminated"],
        )
        for key, cell in parts.items()
    }
    return Paper(tolerances, cells)
