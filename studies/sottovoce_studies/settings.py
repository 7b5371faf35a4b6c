"""What the study is made of: tables of the paper, cells of a table, trials of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from sottovoce.errors import ParameterError
from sottovoce.methods.registry import METHODS
from sottovoce.results.result import Tolerance
from sottovoce_studies.paper import paper

DATASETS = ("covtype", "ijcnn1")
LOSSES = ("logistic", "sigmoid")
SETTINGS = ("loose", "tight", "tenth")
EPSILONS = (0.2, 0.6, 1.0)
CALIBRATIONS = ("tight", "published")
SEEDS = 5
LONGEST = 150
"""Visits after which a run is cut."""

ROWS = ("tr", "tr-b", "opt", "opt-b", "opt-ls", "2opt", "2opt-b", "2opt-ls", "dp-gd", "majorize", "cubic")
"""Methods in the order of the paper's tables, then those it has no rows for."""

_TELLING = (
    "majorize",
    "cubic",
    "2opt-ls",
    "opt-ls",
    "2opt",
    "opt",
    "dp-gd",
    "2opt-b",
    "opt-b",
    "tr-b",
    "tr",
)
"""Methods in the order they are run, so that an interrupted study has the most telling rows."""


@final
@dataclass(frozen=True, order=True)
class Table:
    """A data set, a loss and how small a gradient is asked for: one table of the paper.

    The setting "tenth" is ours: a tenth of both tight tolerances, started at zeros instead of N(0, I)."""

    dataset: str
    loss: str
    setting: str

    @property
    def tolerance(self) -> Tolerance:
        gradient, curvature = paper().tolerances[self.dataset, self.loss, self._column]
        share = 0.1 if self.setting == "tenth" else 1.0
        return Tolerance(gradient=gradient * share, curvature=curvature * share)

    @property
    def title(self) -> str:
        asked = self.tolerance
        name = {"covtype": "Covertype", "ijcnn1": "IJCNN1"}[self.dataset]
        words = {"tenth": "a tenth of the tight tolerance"}.get(self.setting, f"{self.setting} tolerance")
        return f"{name}, {self.loss} loss, {words} ({asked.gradient:.3g}, {asked.curvature:.3g})"

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.loss}-{self.setting}"

    @property
    def _column(self) -> str:
        return "tight" if self.setting == "tenth" else self.setting


@final
@dataclass(frozen=True, order=True)
class Cell:
    """One method at one epsilon under one calibration: a cell of a table, filled by one run a seed."""

    table: Table
    method: str
    epsilon: float
    calibration: str

    @property
    def exists(self) -> bool:
        """Published calibration is the paper's alone: for its methods and its tolerances."""
        if self.calibration == "tight":
            return True
        return METHODS[self.method].published and self.table.setting != "tenth"


@final
@dataclass(frozen=True, order=True)
class Trial:
    """One run: what is stored once it is done, and never done again."""

    cell: Cell
    seed: int


@final
@dataclass(frozen=True, kw_only=True)
class Selection:
    """The part of the study that was asked for."""

    datasets: Sequence[str] = DATASETS
    losses: Sequence[str] = LOSSES
    settings: Sequence[str] = SETTINGS
    methods: Sequence[str] = ROWS
    epsilons: Sequence[float] = EPSILONS
    calibrations: Sequence[str] = CALIBRATIONS
    seeds: int = SEEDS

    def __post_init__(self) -> None:
        _require("data set", self.datasets, DATASETS)
        _require("--loss", self.losses, LOSSES)
        _require("--setting", self.settings, SETTINGS)
        _require("--methods", self.methods, ROWS)
        _require("--calibration", self.calibrations, CALIBRATIONS)
        if not self.epsilons or not all(0.0 < epsilon <= 1000.0 for epsilon in self.epsilons):
            raise ParameterError("--epsilons must be one or more numbers above 0 and at most 1000.")
        if not 1 <= self.seeds <= 1000:
            raise ParameterError("--seeds, the number of runs a cell, must lie between 1 and 1000.")
        if not self.cells:
            raise ParameterError(
                "published calibration is for the paper's eight methods and its loose and tight tolerances. "
                "Choose one of these, or --calibration tight."
            )

    @property
    def tables(self) -> list[Table]:
        return [Table(d, loss, s) for d in self.datasets for loss in self.losses for s in self.settings]

    @property
    def cells(self) -> list[Cell]:
        cells = [
            Cell(table, method, epsilon, calibration)
            for calibration in self.calibrations
            for table in self.tables
            for method in ROWS
            if method in self.methods
            for epsilon in sorted(set(self.epsilons))
        ]
        return [cell for cell in cells if cell.exists]

    def trials(self) -> list[Trial]:
        """Tight cells first, method by method; then published ones, whose hopeless runs are long, seed by
        seed."""
        trials = [Trial(cell, seed) for cell in self.cells for seed in range(self.seeds)]
        tight = [trial for trial in trials if trial.cell.calibration == "tight"]
        published = [trial for trial in trials if trial.cell.calibration == "published"]
        tight.sort(key=lambda trial: _TELLING.index(trial.cell.method))
        published.sort(key=lambda trial: (trial.seed, _TELLING.index(trial.cell.method)))
        return tight + published


def _require(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    strange = [name for name in given if name not in known]
    if strange or not given:
        told = f"got {', '.join(map(repr, strange))}" if strange else "none was given"
        raise ParameterError(f"{what} must be among {', '.join(known)}; {told}.")
