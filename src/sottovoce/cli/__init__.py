"""The command line: `sottovoce COMMAND`. Commands import what they need when they run."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from sottovoce._version import VERSION
from sottovoce.cli.exits import ExitCode, Interrupted, code_of, raise_on_signals, standing
from sottovoce.errors import SottovoceError

COMMANDS = (
    *(
        "demo",
        "schema",
        "check",
        "plan",
        "fit",
        "predict",
        "evaluate",
        "recalibrate",
        "export",
        "report",
        "summary",
    ),
    *("audit", "bench", "reproduce", "ledger"),
)
_MOST_ARENAS = -8
"""M_ARENA_MAX of glibc's mallopt."""
_LEAST_ADDRESSES = 384 * 2**20
"""Loading takes 280 MB of addresses; short of them OpenBLAS asks for more without end."""
_FEW_ADDRESSES = (
    f"`ulimit -v` leaves this process fewer than {_LEAST_ADDRESSES // 2**20} MB of addresses, which it takes "
    "to load. Nothing was charged, nothing released. Raise the limit."
)


def application(asked: str = "") -> typer.Typer:
    """The command line with the command that is asked for, or with all where it is none of them.

    The others are not loaded: their options alone would take longer than most answers."""
    app = typer.Typer(
        name="sottovoce",
        help="Train models on sensitive records under differential privacy, with no tuning, and be told what "
        "was reached.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in (asked,) if asked in COMMANDS else COMMANDS:
        if name == "reproduce":
            import_module("sottovoce.cli.studies").register(app)
            continue
        command = getattr(import_module(f"sottovoce.cli.{name}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command()(command)
    return app


def __getattr__(name: str) -> Any:
    """`app`: the command line with all commands."""
    if name != "app":
        raise AttributeError(f"module 'sottovoce.cli' has no attribute {name!r}")
    return application()


def _version(asked: bool) -> None:
    if asked:
        print(VERSION)
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    log_json: Annotated[
        bool,
        typer.Option("--log-json", help="Log what runs do to standard error, as JSON; see SOTTOVOCE_LOG."),
    ] = False,
) -> None:
    """Train models on sensitive records under differential privacy, and be told what was reached."""
    from sottovoce.cli import logs

    logs.begin("json" if log_json else "")


def main() -> None:
    """Exit codes: see `ExitCode`."""
    if (most := _most_addresses()) is not None:
        if most < _LEAST_ADDRESSES:
            _tell("ResourceError", _FEW_ADDRESSES, ExitCode.FAILED)
        _spare_addresses()
    raise_on_signals()
    command: Any = None
    try:
        words = [word for word in sys.argv[1:] if word != "--log-json"]
        command = typer.main.get_command(application(*words[:1]))
        command(default_map=_defaults(command))
    except SottovoceError as error:
        from sottovoce.cli.output import shown_safely
        from sottovoce.cli.wording import in_words_of_the_command_line, options_of

        said = in_words_of_the_command_line(error, {} if command is None else options_of(command))
        _tell(type(error).__name__, shown_safely(said), code_of(error), shown_safely(standing()))
    except Interrupted as signal:
        said = standing() or "nothing was charged."
        _tell("Interrupted", f"stopped by signal {signal.number}: {said}", signal.code)
    except Exception as error:
        # what other libraries raise may quote data, so only its kind is told
        if isinstance(error, MemoryError) or _addresses_ran_out():
            said = "memory ran out. Give this process more: ulimit -v, or the container's limit."
        else:
            said = f"stopped by an unexpected {type(error).__name__}; please report this."
        _tell(type(error).__name__, said, ExitCode.FAILED, standing())


def _defaults(command: Any) -> dict[str, Any] | None:
    """Options from the environment and a file; where none is set, what reads them is not loaded."""
    if not any(name.startswith("SOTTOVOCE_") for name in os.environ):
        return None
    from sottovoce.cli.configuration import defaults

    return defaults(command)


def _tell(kind: str, message: str, code: int, charged: str = "") -> NoReturn:
    """How a command failed, on standard error: one line, or with --json one JSON object."""
    if "--json" in sys.argv:
        print(
            json.dumps({"error": kind, "message": message, "charged": charged, "exit": int(code)}),
            file=sys.stderr,
        )
    else:
        print(f"sottovoce: {' '.join(filter(None, (message, charged)))}", file=sys.stderr)
    sys.exit(code)


def _addresses_ran_out() -> bool:
    """Whether `ulimit -v` is so near that libraries fail to load, each with an error of its own."""
    from sottovoce.machine import MEGABYTE, address_space_left

    left = address_space_left()
    return left is not None and left < 64 * MEGABYTE


def _most_addresses() -> int | None:
    """Bytes of `ulimit -v`; None where there is no such limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else int(limit)


def _spare_addresses() -> None:
    """Take addresses as they are needed.

    Arrow's pool reserves a gigabyte of them, the C library 64 MB for every thread, and OpenBLAS as much for
    each of its own; passes have threads of ours."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with suppress(ImportError, AttributeError, OSError):
        import ctypes

        ctypes.CDLL(None).mallopt(_MOST_ARENAS, 2)
