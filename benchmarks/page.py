"""The section "Speed" of docs/benchmarks.md, written from the stored figures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- speed: written by python -m benchmarks -->", "<!-- end of speed -->"
TITLES = {
    "passes": "Passes over Covertype, which fits into the cache",
    "tiled": "The same rows eight times over, which do not",
    "csr": "Sparse rows",
    "fits": "Whole fits",
    "scaling": "Rows, columns, threads",
    "parquet": "Ten million rows from Parquet",
    "dask": "Five million rows on two Dask workers",
}
BAR = 40


def write(results: dict[str, Any]) -> None:
    """Replace the section in place; text around it stays."""
    section = "\n".join([BEGIN, *_section(results), END, ""])
    text = PAGE.read_text() if PAGE.exists() else "# Benchmarks\n\n"
    if BEGIN in text:
        before, rest = text.split(BEGIN, 1)
        text = before + section + rest.split(END, 1)[1].lstrip("\n")
    else:
        text = text.rstrip("\n") + "\n\n" + section
    PAGE.write_text(text)


def _section(results: dict[str, Any]) -> Iterable[str]:
    yield "## Speed"
    yield ""
    yield "Calls take turns within each round and the fastest time of each counts: compare ratios in a table,"
    yield "not seconds of two. `python -m benchmarks` measures again; `sottovoce bench` is its short form."
    for name, title in TITLES.items():
        if name not in results:
            continue
        found = results[name]
        yield from ("", f"### {title}", "")
        where = f"{found['processor']}, {found['threads']} threads"
        yield f"{where}, load {found['load']:.1f} at the end, {found['measured']}."
        yield ""
        yield from _timings(found)
        yield from _curves(found)
        yield "| asked for | measured | limit |"
        yield "| --- | ---: | --- |"
        for demand, (figure, limit) in found["demands"].items():
            yield f"| {demand} | {figure:.3g} | {limit} |"


def _timings(found: dict[str, Any]) -> Iterable[str]:
    if "seconds" not in found:
        facts = {key: value for key, value in found.items() if key.startswith(("seconds ", "peak", "rows"))}
        plain = {key: value for key, value in facts.items() if not isinstance(value, dict)}
        if plain:
            yield ", ".join(f"{key}: {value:,.3g}" for key, value in plain.items()) + "."
            yield ""
        return
    longest = max(found["ratios"].values())
    yield "| | ms | ratio | |"
    yield "| --- | ---: | ---: | --- |"
    for call, seconds in found["seconds"].items():
        ratio = found["ratios"][call]
        bar = "█" * max(1, round(BAR * ratio / longest))
        yield f"| {call} | {1e3 * seconds:,.2f} | {ratio:,.2f} | {bar} |"
    yield ""


def _curves(found: dict[str, Any]) -> Iterable[str]:
    for title, points in found.items():
        if not title.startswith("seconds by"):
            continue
        calls = list(next(iter(points.values())))
        yield f"| {title.removeprefix('seconds by ')} | " + " | ".join(f"{call}, ms" for call in calls) + " |"
        yield "| ---: |" + " ---: |" * len(calls)
        for at, seconds in points.items():
            yield f"| {int(at):,} | " + " | ".join(f"{1e3 * seconds[call]:,.2f}" for call in calls) + " |"
        yield ""
