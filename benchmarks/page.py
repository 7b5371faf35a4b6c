"""The section "Speed" of docs/benchmarks.md, written from the stored figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.sections import PAGES
from sottovoce.report import axes
from sottovoce.report.series import Plot, Point, Series, chart, standalone

PAGE = PAGES / "benchmarks.md"
BEGIN, END = "<!-- speed: written by python -m benchmarks -->", "<!-- end of speed -->"
TITLES = {
    "passes": "Passes over Covertype, which fits into the cache",
    "compact": "Compact rows of Covertype, in cache",
    "compact-tiled": "Compact rows eight times over, out of it",
    "losses": "Robust losses, in units of the logistic one",
    "tiled": "The same rows eight times over, which do not",
    "csr": "Sparse rows",
    "fits": "Whole fits",
    "scaling": "Rows, columns, threads",
    "parquet": "Ten million rows from Parquet",
    "dask": "Five million rows on two Dask workers",
}
BAR = 40
FEWEST = 2
"""More points than this are drawn as well as listed."""


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
        along = title.removeprefix("seconds by ")
        calls = list(next(iter(points.values())))
        yield f"| {along} | " + " | ".join(f"{call}, ms" for call in calls) + " |"
        yield "| ---: |" + " ---: |" * len(calls)
        for at, seconds in points.items():
            yield f"| {int(at):,} | " + " | ".join(f"{1e3 * seconds[call]:,.2f}" for call in calls) + " |"
        yield ""
        if len(points) > FEWEST:
            name = f"speed-by-{along.split(',')[0]}.svg"
            (PAGES / "charts" / name).write_text(_chart(along, points), encoding="utf-8")
            yield f"![Milliseconds by {along}](charts/{name})"
            yield ""


def _chart(along: str, points: dict[str, dict[str, float]]) -> str:
    """A line for each call, both scales logarithmic, so that a straight line is a power."""
    calls = list(next(iter(points.values())))
    series = [
        Series(
            name=call,
            colour=place,
            variant=place,
            points=[
                Point(float(at), 1e3 * seconds[call], f"{call}, {int(at):,}: {1e3 * seconds[call]:.3g} ms")
                for at, seconds in points.items()
            ],
        )
        for place, call in enumerate(calls)
    ]
    places = [float(at) for at in points]
    heights = [point.y for one in series for point in one.points]
    plot = Plot(
        x=axes.sideways(min(places), max(places), logarithmic=True),
        y=axes.upward(min(heights), max(heights), logarithmic=True),
        marks=places,
        below=along,
        beside="milliseconds",
    )
    summary = f"Milliseconds by {along} for {', '.join(calls)}."
    return standalone(chart(series, plot, summary=summary, note="Fastest of all rounds."))
