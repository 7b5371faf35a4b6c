"""Options that travel together: a dataclass of them is one parameter of a command, and many on the line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from sottovoce.cli.options import (
    TRAINING,
    ClassWeight,
    Dataset,
    Decimal,
    Delimiter,
    Delta,
    Epsilon,
    Invalid,
    LedgerFile,
    Neighbours,
    Part,
    Person,
    Query,
    ResumeRun,
    Simulate,
    Weight,
    WeightCap,
    class_weight_of,
    delta_of,
)

if TYPE_CHECKING:
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.data.options import ReadOptions
    from sottovoce.data.schema import Schema
    from sottovoce.results.inference.request import Inference


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each group of options spread out, as typer reads a signature."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            parameters += _options_of(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def spread(**given: Any) -> None:
        made = {
            name: group(**{part.name: given.pop(part.name) for part in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    del vars(spread)["__wrapped__"]
    vars(spread)["__signature__"] = inspect.Signature(parameters)
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            part.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[part.name],
            default=inspect.Parameter.empty if part.default is MISSING else part.default,
        )
        for part in fields(group)
    ]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """The budget of a run."""

    epsilon: Epsilon
    delta: Delta
    relation: Neighbours = "replace-one"

    def budget(self, n: int) -> Budget:
        """For n records or persons, of which delta may be a power."""
        from sottovoce.accounting import Budget
        from sottovoce.accounting.budget import declared_delta

        return Budget(self.epsilon, declared_delta(delta_of(self.delta), n), self.relation)


@dataclass(frozen=True, kw_only=True)
class Charged:
    """Who pays for a run, and whether it goes on with another."""

    ledger: LedgerFile = None
    dataset: Dataset = None
    part: Part = None
    simulate: Simulate = None
    resume: ResumeRun = None

    def account(self) -> Ledger | None:
        from sottovoce.cli.output import open_ledger

        return open_ledger(self.ledger, self.dataset, self.part)

    def told(self) -> str:
        """What the ledger holds now; empty without one."""
        from sottovoce.cli.output import account_of

        return "" if self.ledger is None or self.dataset is None else account_of(self.ledger, self.dataset)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a table is opened."""

    delimiter: Delimiter = ","
    decimal: Decimal = "."
    query: Query = None

    def table(self, data: list[Path]) -> Any:
        from sottovoce.cli.tables import table_of

        return table_of(data, self.query)

    @property
    def how(self) -> ReadOptions:
        from sottovoce.data.options import ReadOptions

        return ReadOptions(delimiter=self.delimiter, decimal=self.decimal)


@dataclass(frozen=True, kw_only=True)
class PrivateReading(Reading):
    """And what becomes of rows that cannot be used."""

    invalid: Invalid = "raise"

    @property
    def how(self) -> ReadOptions:
        from dataclasses import replace

        return replace(super().how, invalid=self.invalid)


@dataclass(frozen=True, kw_only=True)
class LargeReading(PrivateReading):
    """And where rows go that do not fit into memory."""

    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Read a Parquet file on the workers of this Dask scheduler; `local` starts some here.",
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Read a Parquet file on so many processes, by Dask.")
    ] = None
    spool: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where encoded rows of a Parquet file go that do not fit into memory; else the system's.",
        ),
    ] = None
    no_spool: Annotated[
        bool, typer.Option("--no-spool", help="Write no encoded rows: read the file again at every pass.")
    ] = False

    @property
    def how(self) -> ReadOptions:
        from dataclasses import replace

        spool = not self.no_spool if self.spool is None else self.spool
        return replace(super().how, dask=self.dask, workers=self.workers, spool=spool)


@dataclass(frozen=True, kw_only=True)
class Amendments:
    """What is said in place of the schema."""

    person: Person = None
    weight: Weight = None
    weight_cap: WeightCap = None
    class_weight: ClassWeight = None
    within: Annotated[
        float | None,
        typer.Option(
            metavar="BOUND",
            help="What standard errors assume of effects that noise hides: off by no more than this.",
            rich_help_panel=TRAINING,
        ),
    ] = None

    def of(self, schema: Schema) -> Schema:
        return schema.amended(
            person=self.person,
            weight=self.weight,
            weight_cap=self.weight_cap,
            class_weight=class_weight_of(self.class_weight),
            within=self.within,
        )


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What is minimized, and how."""

    loss: Annotated[
        str | None,
        typer.Option(
            help="Loss by name, its parameter after a colon: cauchy:0.2. Classes: logistic; a range: "
            "pseudo-huber, or least-squares for its mean; counts: poisson; a name that is unknown lists all.",
            rich_help_panel=TRAINING,
        ),
    ] = None
    method: Annotated[str, typer.Option(help="Method by name.", rich_help_panel=TRAINING)] = "auto"
    regularizer: Annotated[str, typer.Option(help="l2 or tukey.", rich_help_panel=TRAINING)] = "l2"
    strength: Annotated[float, typer.Option(help="Its strength.", rich_help_panel=TRAINING)] = 1e-6


@dataclass(frozen=True, kw_only=True)
class Inferred:
    """What is kept of the budget for standard errors."""

    inference: Annotated[
        float,
        typer.Option(
            help="Part of the budget kept for standard errors and intervals, e.g. 0.3.",
            rich_help_panel=TRAINING,
        ),
    ] = 0.0
    robust: Annotated[
        bool,
        typer.Option(
            help="Standard errors that do not take the model to be right.", rich_help_panel=TRAINING
        ),
    ] = False
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Spend on --inference even if no coefficient is expected to be determined.",
            rich_help_panel=TRAINING,
        ),
    ] = False

    @property
    def asked(self) -> Inference:
        from sottovoce.results.inference.request import Inference

        return Inference(self.inference, self.robust, self.anyway)
