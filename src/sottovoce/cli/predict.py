"""`sottovoce predict`: what a model says about each row of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.groups import Reading, grouped
from sottovoce.cli.options import OUTPUT, AsJson, Data, Force, Quiet, Signers


@grouped
def predict(
    model: Annotated[Path, typer.Argument(help="A model file from `sottovoce fit`.", show_default=False)],
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="CSV file to write.", rich_help_panel=OUTPUT)
    ],
    reading: Reading,
    signers: Signers = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Predict each row of a table; one line of output a row, in its order.

    Predictions are exact functions of the rows: if these are sensitive, so are the predictions.
    """
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import place_for, require_free
    from sottovoce.cli.predictions import as_csv, survival_csv
    from sottovoce.data import files as tables
    from sottovoce.data.filesets import called
    from sottovoce.data.sources import open_source
    from sottovoce.files import write
    from sottovoce.report.progress import waiting

    require_free((output,), inputs=(model, *data), force=force)
    loaded = out.load_model(model, signers)
    with waiting(out.is_watched(), f"reading {called(data)}"):
        asked = reading.table(data)
        if loaded.schema.target is not None and loaded.schema.target.survival is not None:
            rows = loaded.survival(open_source(asked, reading.how))
            content = survival_csv(loaded.schema.target.survival.grid, rows)
        else:
            rows = tables.read(asked, loaded.schema, reading.how, target=False, dtype=float).features
            content = as_csv(loaded, rows)
    with place_for(output, force=force) as place:
        write(place, content)
    if as_json:
        out.say_json({"predictions": str(place), "rows": len(rows)})
    elif not quiet:
        out.say({"Predicted": f"{len(rows):,} rows", "Wrote": place})
