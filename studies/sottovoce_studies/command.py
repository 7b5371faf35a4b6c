"""`sottovoce reproduce`: the paper's experiments, run again beside its tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from sottovoce.cli.options import OUTPUT, AsJson, Force

if TYPE_CHECKING:
    from sottovoce_studies.settings import Selection

STUDY, WORK = "What to run", "How to run it"
_MANY = ("--loss", "--setting", "--methods", "--epsilons", "--calibration")
_DATASETS = ("covtype", "ijcnn1")


class ManyValues(TyperCommand):
    """Options that take several values in a row: `--epsilons 0.2 0.6` is `--epsilons 0.2 --epsilons 0.6`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option, values = "", 0
        for word in args:
            if word.startswith("-"):
                option, values = word if word in _MANY else "", 0
            elif word in _DATASETS:
                option = ""
            elif option:
                spread += [option] if values else []
                values += 1
            spread.append(word)
        return super().parse_args(ctx, spread)


def reproduce(
    dataset: Annotated[
        str | None, typer.Argument(help="covtype (embedded) or ijcnn1; not needed with --all.")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Both data sets, every loss, setting, method and calibration, unless options name fewer.",
            rich_help_panel=STUDY,
        ),
    ] = False,
    loss: Annotated[
        list[str] | None,
        typer.Option(help="logistic, sigmoid; logistic if none is named.", rich_help_panel=STUDY),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(help="Tolerances: loose, tight, tenth; tight if none is named.", rich_help_panel=STUDY),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(help="Methods by name; majorize, cubic and 2opt-ls if none is.", rich_help_panel=STUDY),
    ] = None,
    epsilons: Annotated[
        list[float] | None,
        typer.Option(help="Budgets; 0.2, 0.6 and 1.0 if none is named.", rich_help_panel=STUDY),
    ] = None,
    calibration: Annotated[
        list[str] | None,
        typer.Option(
            help="published (the paper's constants), tight; tight if none is named.", rich_help_panel=STUDY
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs a cell.", rich_help_panel=STUDY)] = 5,
    data: Annotated[
        Path | None,
        typer.Option(help="ijcnn1.npz or its folder; else SOTTOVOCE_DATA names it.", rich_help_panel=WORK),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes, one thread each.", rich_help_panel=WORK)] = 1,
    longest: Annotated[
        int, typer.Option(help="Visits after which a run is cut, and marked so.", rich_help_panel=WORK)
    ] = 150,
    render: Annotated[
        bool, typer.Option("--render", help="Run nothing: only write what is kept.", rich_help_panel=WORK)
    ] = False,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder for runs, tables and charts.", rich_help_panel=OUTPUT),
    ] = Path("reproduction"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Run the experiments of Gao & Wright on public data and show their tables beside ours.

    Finished runs are kept in runs.jsonl of the output folder and never repeated: an interrupted study goes on
    where it stopped. Noise is simulated from seeds. Options of several values take them in a row.

    Example: sottovoce reproduce covtype --loss logistic --setting tight --methods majorize 2opt-ls
    """
    from sottovoce.cli import output as out
    from sottovoce.cli.exits import Interrupted
    from sottovoce.errors import DataError
    from sottovoce_studies import terminal, words
    from sottovoce_studies.folder import write_all
    from sottovoce_studies.study import RUNS, Study

    if output.is_dir() and any(output.iterdir()) and not (output / RUNS).exists() and not force:
        raise DataError(
            f"{output} holds files, but no study of this command. Name another folder, or add --force to put "
            "tables and charts among them."
        )
    chosen = _selection(dataset, everything, loss, setting, methods, epsilons, calibration, seeds)
    study = Study(
        selection=chosen,
        folder=output,
        jobs=jobs,
        data=None if data is None else str(data.absolute()),
        longest=longest,
    )
    if not render:
        try:
            study.run(show=out.is_watched())
        except (KeyboardInterrupt, Interrupted):
            typer.echo(
                f"Interrupted. Finished runs are kept in {output}: the same command goes on.", err=True
            )
            raise typer.Exit(130) from None
    cells = study.cells()
    written = write_all(study, cells)
    if as_json:
        out.say_json({"cells": [cell.to_dict() for cell in cells]})
        return
    for table in terminal.tables(cells, seeds):
        out.console().print(table)
    out.console().print(words.EXACT)
    out.say({"Wrote": ", ".join(map(str, written))})


def _selection(
    dataset: str | None,
    everything: bool,
    loss: list[str] | None,
    setting: list[str] | None,
    methods: list[str] | None,
    epsilons: list[float] | None,
    calibration: list[str] | None,
    seeds: int,
) -> Selection:
    from sottovoce.errors import ParameterError
    from sottovoce_studies import settings as known

    if (dataset is None) != everything:
        raise ParameterError("name one data set, covtype or ijcnn1, or ask for both with --all.")
    return known.Selection(
        datasets=known.DATASETS if dataset is None else [dataset],
        losses=loss or (known.LOSSES if everything else ["logistic"]),
        settings=setting or (known.SETTINGS if everything else ["tight"]),
        methods=methods or (known.ROWS if everything else ["majorize", "cubic", "2opt-ls"]),
        epsilons=epsilons or known.EPSILONS,
        calibrations=calibration or (known.CALIBRATIONS if everything else ["tight"]),
        seeds=seeds,
    )
