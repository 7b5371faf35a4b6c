"""`sottovoce recalibrate`: probabilities of a trained model mended on labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.groups import Charged, PrivateReading, Promise, grouped
from sottovoce.cli.options import OUTPUT, PRIVACY, AsJson, Data, Force, Persons, Sign, delta_of


@grouped
def recalibrate(
    model: Annotated[Path, typer.Argument(help="Model file of `sottovoce fit`.", show_default=False)],
    data: Data,
    promise: Promise,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model file to write (JSON).", rich_help_panel=OUTPUT)
    ],
    charged: Charged,
    reading: PrivateReading,
    persons: Persons = None,
    bound: Annotated[
        float,
        typer.Option(
            help="Scores (log odds) beyond this count as if they were at it; declared, not looked up.",
            rich_help_panel=PRIVACY,
        ),
    ] = 8.0,
    sign: Sign = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fit a slope and a shift of a model's log odds on labelled rows, under a budget of their own.

    Example: sottovoce recalibrate model.json new.csv --epsilon 0.5 --delta 1e-6 -o better.json
    """
    from sottovoce.accounting import Budget
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import require_free, save_paid
    from sottovoce.cli.signing import require_key, signed
    from sottovoce.data.filesets import called
    from sottovoce.errors import ParameterError
    from sottovoce.report.progress import waiting

    signature = None if sign is None else require_key(sign).beside(output)
    require_free((output, signature), inputs=(model, *data), ledger=charged.ledger, force=force)
    loaded = out.load_model(model)
    stated = delta_of(promise.delta)
    if isinstance(stated, str):
        raise ParameterError("--delta must be a number here, such as 1e-6.")
    account = charged.account()
    with waiting(out.is_watched(), f"reading {called(data)}"), out.warned():
        made = loaded.recalibrated(
            reading.table(data),
            budget=Budget(promise.epsilon, stated, promise.relation),
            bound=bound,
            ledger=account,
            simulate=charged.simulate,
            persons=persons,
            reading=reading.how,
            resume=charged.resume,
        )
    place = save_paid(made.to_file(), output, force=force)
    if sign is not None:
        signed(place, sign, force=force)
    if as_json:
        out.say_json({"model": str(place), **out.summary(made.result)})
        return
    out.say(
        {
            "Guarantee": made.result.guarantee,
            **out.caveats(made.result.caveats),
            "Wrote": place,
        }
    )
    if account is None and not made.result.simulated:
        out.remark("No ledger was charged: whatever else is released about these records adds its budget.")
