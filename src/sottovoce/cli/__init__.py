"""The command line: `sottovoce COMMAND`. Commands import what they need when they run."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sottovoce._version import VERSION
from sottovoce.cli.audit import audit
from sottovoce.cli.bench import bench
from sottovoce.cli.check import check
from sottovoce.cli.demo import demo
from sottovoce.cli.evaluate import evaluate
from sottovoce.cli.export import export
from sottovoce.cli.fit import fit
from sottovoce.cli.ledger import ledger
from sottovoce.cli.output import shown_safely
from sottovoce.cli.plan import plan
from sottovoce.cli.predict import predict
from sottovoce.cli.report import report
from sottovoce.cli.schema import schema
from sottovoce.cli.studies import register
from sottovoce.cli.wording import in_words_of_the_command_line
from sottovoce.errors import BudgetExceeded, SottovoceError

app = typer.Typer(
    name="sottovoce",
    help="Train models on sensitive records under differential privacy, with no tuning, and be told what was "
    "reached.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, schema, check, plan, fit, predict, evaluate, export, report, audit, bench):
    app.command()(command)
register(app)
app.add_typer(ledger, name="ledger")


def _version(asked: bool) -> None:
    if asked:
        print(VERSION)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train models on sensitive records under differential privacy, and be told what was reached."""


def main() -> None:
    """Exit codes: 0 ok, 1 failed, 2 usage, 3 budget refused."""
    try:
        app()
    except SottovoceError as error:
        print(
            f"sottovoce: {shown_safely(in_words_of_the_command_line(' '.join(str(error).split())))}",
            file=sys.stderr,
        )
        sys.exit(3 if isinstance(error, BudgetExceeded) else 1)
    except Exception as error:
        # what other libraries raise may quote data, so only its kind is told
        print(
            f"sottovoce: stopped by an unexpected {type(error).__name__}; please report this.",
            file=sys.stderr,
        )
        sys.exit(1)
