"""`sottovoce bench`: what passes over the data cost on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from sottovoce.cli.options import AsJson


def bench(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of three runs each; the fastest counts.")] = 5,
    tiles: Annotated[int, typer.Option(min=1, help="How often to repeat the 495,141 rows.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Time every pass on the embedded public data, in units of one float32 X @ w.

    Takes some ten seconds. SOTTOVOCE_KERNELS and SOTTOVOCE_THREADS choose the path and the threads.
    """
    from sottovoce.cli import output as out
    from sottovoce.planning.bench import run
    from sottovoce.report.progress import waiting

    with waiting(out.is_watched(), "timing passes"):
        timings = run(rounds, tiles)
    if as_json:
        out.say_json(timings.to_dict())
        return
    facts = timings.facts
    print(
        f"{facts['rows']:,} x {facts['columns']} rows of Covertype, {facts['kernels']} kernels, "
        f"{facts['threads']} threads, {facts['processor']}"
    )
    for name, seconds in timings.seconds.items():
        print(f"{name:30} {1e3 * seconds:9.2f} ms {timings.ratios[name]:7.2f}x")
