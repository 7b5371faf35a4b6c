"""`sottovoce reproduce`: there where the studies are, which lie outside the wheel."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from sottovoce.errors import DataError


def register(app: typer.Typer) -> None:
    """Add the command of the studies, or one that says where to find them."""
    if find_spec("sottovoce_studies") is None:
        app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(reproduce)
        return
    from sottovoce_studies.command import ManyValues
    from sottovoce_studies.command import reproduce as installed

    app.command(cls=ManyValues)(installed)


def reproduce() -> None:
    """Run the experiments of Gao & Wright on public data and show their tables beside ours."""
    raise DataError(
        "the paper's experiments are not part of the wheel. Clone the repository and install it from there: "
        "pip install -e ."
    )
