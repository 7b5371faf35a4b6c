"""Options that several commands share, each with the words its help shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.data.cell import Label

PRIVACY, TRAINING, OUTPUT = "Privacy", "Training", "Output"

Epsilon: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Privacy budget; smaller is more private. 1 is strong, 10 is weak.", rich_help_panel=PRIVACY
    ),
]
Delta: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Chance that the guarantee fails, well below 1/n: a number, or 1/n^1.1.", rich_help_panel=PRIVACY
    ),
]
Neighbours: TypeAlias = Annotated[
    str,
    typer.Option(
        "--relation",
        help="replace-one: one record becomes any other; zero-out: one counts nothing, as DP-SGD means it.",
        rich_help_panel=PRIVACY,
    ),
]
Person: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Column that tells whose row it is: the guarantee is then for persons, with all their rows.",
        rich_help_panel=PRIVACY,
    ),
]
Persons: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many persons there are at most, from what is public; zero-out needs it.",
        rich_help_panel=PRIVACY,
    ),
]
LedgerFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        help="Charge this ledger file, so that all models on the data share one cap.",
        rich_help_panel=PRIVACY,
    ),
]
Dataset: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Name of the data set, in the ledger and in the report.", rich_help_panel=PRIVACY),
]
Simulate: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="SEED", help="Seeded noise: repeatable, NOT private, and marked so.", rich_help_panel=PRIVACY
    ),
]
Invalid: TypeAlias = Annotated[
    str,
    typer.Option(
        help="What to do with unusable rows: raise (refuse the file) or zero (blank them, say nothing).",
        rich_help_panel=PRIVACY,
    ),
]
Weight: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that says what a row counts, clipped to [0, --weight-cap].",
        rich_help_panel=TRAINING,
    ),
]
WeightCap: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="The most that a row may count, declared. A row counts its weight over this: no more privacy is "
        "spent, and the smaller the weights the weaker the model.",
        rich_help_panel=TRAINING,
    ),
]
ClassWeight: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS=NUMBER",
        help="What rows of this class count, beside 1 for other classes: yes=3. May be repeated.",
        rich_help_panel=TRAINING,
    ),
]
Data: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .csv.gz or .parquet file; with --query a .duckdb file or postgresql:SERVICE.",
        show_default=False,
    ),
]
Query: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SQL",
        help="What to read of a database, each row by itself. Needs sottovoce[sql].",
        show_default=False,
    ),
]
Delimiter: TypeAlias = Annotated[str, typer.Option(help="What separates the fields of a CSV file.")]
Force: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace outputs that exist; never an input or a ledger.", rich_help_panel=OUTPUT
    ),
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT)
]


def delta_of(text: str) -> float | str:
    """A number where the text is one, else the text itself, such as 1/n^1.1."""
    try:
        return float(text)
    except ValueError:
        return text


def class_weight_of(pairs: list[str] | None) -> dict[Label, float] | None:
    """{label: weight} of CLASS=NUMBER; None where none were given."""
    found: dict[Label, float] = {}
    for pair in pairs or []:
        label, sign, number = pair.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            sign = ""
        if not sign or label in found:
            raise ParameterError("write a class and its weight, each class once: --class-weight yes=3.")
        found[label] = weight
    return found or None
