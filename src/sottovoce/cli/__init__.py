"""The command line: `sottovoce COMMAND`."""

from __future__ import annotations

import sys

import typer

from sottovoce.errors import BudgetExceeded, SottovoceError

app = typer.Typer(
    name="sottovoce",
    help="Train models on sensitive records under differential privacy, with no tuning, and say what was reached.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Keeps `sottovoce demo` a subcommand while it is the only one."""


@app.command()
def demo(
    epsilon: float = typer.Option(1.0, help="Privacy budget epsilon, above 0; smaller is more private."),
    delta: float = typer.Option(1e-6, help="Privacy budget delta, well below 1/n."),
) -> None:
    """Train a private model on real, public data (Covertype) and show what it reached."""
    from sottovoce.cli.demo import run

    run(epsilon, delta)


def main() -> None:
    """Exit codes: 0 ok, 1 failed, 2 usage, 3 budget refused."""
    try:
        app()
    except SottovoceError as error:
        print(f"sottovoce: {error}", file=sys.stderr)
        sys.exit(3 if isinstance(error, BudgetExceeded) else 1)
