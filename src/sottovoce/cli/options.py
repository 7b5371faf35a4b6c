"""Options that several commands share, each with the words its help shows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.data.cell import Label

PRIVACY, TRAINING, OUTPUT = "Privacy", "Training", "Output"
_privacy = partial(typer.Option, rich_help_panel=PRIVACY)
_training = partial(typer.Option, rich_help_panel=TRAINING)
_output = partial(typer.Option, rich_help_panel=OUTPUT)

Epsilon: TypeAlias = Annotated[
    float,
    _privacy(help="Privacy budget; smaller is more private. 1 is strong, 10 is weak."),
]
Delta: TypeAlias = Annotated[
    str,
    _privacy(help="Chance that the guarantee fails, well below 1/n: a number, or 1/n^1.1."),
]
Neighbours: TypeAlias = Annotated[
    str,
    _privacy(
        "--relation",
        help="replace-one: one record becomes any other; zero-out: one counts nothing, as DP-SGD means it.",
    ),
]
Person: TypeAlias = Annotated[
    str | None,
    _privacy(
        help="Column that tells whose row it is: the guarantee is then for persons, with all their rows."
    ),
]
Persons: TypeAlias = Annotated[
    int | None,
    _privacy(help="How many persons there are at most, from what is public; zero-out needs it."),
]
LedgerFile: TypeAlias = Annotated[
    Path | None,
    _privacy("--ledger", help="Charge this ledger file, so that all models on the data share one cap."),
]
Dataset: TypeAlias = Annotated[
    str | None,
    _privacy(help="Name of the data set, in the ledger and in the report."),
]
Part: TypeAlias = Annotated[
    str | None,
    _privacy(help="Pay from this part of the ledger's cap, see `ledger allot`."),
]
Simulate: TypeAlias = Annotated[
    int | None,
    _privacy(metavar="SEED", help="Seeded noise: repeatable, NOT private, and marked so."),
]
Invalid: TypeAlias = Annotated[
    str,
    _privacy(
        help="What to do with unusable rows: raise (refuse the file) or zero (blank them, say nothing)."
    ),
]
Weight: TypeAlias = Annotated[
    str | None,
    _training(metavar="COLUMN", help="Column that says what a row counts, clipped to [0, --weight-cap]."),
]
WeightCap: TypeAlias = Annotated[
    float | None,
    _training(
        help="The most that a row may count, declared. A row counts its weight over this: no more privacy is "
        "spent, and the smaller the weights the weaker the model."
    ),
]
ClassWeight: TypeAlias = Annotated[
    list[str] | None,
    _training(
        metavar="CLASS=NUMBER",
        help="What rows of this class count, beside 1 for other classes: yes=3. May be repeated.",
    ),
]
Data: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        help="A .csv, .csv.gz or .parquet file, several, a folder or a pattern of them; with --query a "
        ".duckdb file or postgresql:SERVICE.",
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
Sign: TypeAlias = Annotated[
    Path | None,
    _output(
        "--sign",
        metavar="KEY",
        help="Sign the model file with this key, of ssh (through ssh-keygen) or minisign, into a file beside "
        "it.",
    ),
]
Signers: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--signers",
        metavar="FILE",
        help="Take the model only if one of these signed it: ssh's allowed_signers, or a public key of "
        "minisign.",
        show_default=False,
    ),
]
ResumeRun: TypeAlias = Annotated[
    str | None,
    _privacy(
        "--resume",
        metavar="RUN",
        help="Go on with a run that was interrupted, see `ledger show`: with the same data and options, "
        "paying for nothing twice.",
    ),
]
Delimiter: TypeAlias = Annotated[str, typer.Option(help="What separates the fields of a CSV file.")]
Decimal: TypeAlias = Annotated[
    str, typer.Option(help="The mark before the fraction of a number in a CSV file: a point, or a comma.")
]
Force: TypeAlias = Annotated[
    bool, _output("--force", help="Replace outputs that exist; never an input or a ledger.")
]
Quiet: TypeAlias = Annotated[bool, _output("--quiet", "-q", help="Print nothing but errors.")]
AsJson: TypeAlias = Annotated[bool, _output("--json", help="Print one JSON object.")]


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
