"""A ledger as a page: what each data set has spent on which runs, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sottovoce.report import charts
from sottovoce.report.markup import element, number, percent, text
from sottovoce.report.page import document

if TYPE_CHECKING:
    from sottovoce.accounting.disk.statement import DatasetStatement, Spell, Statement

_HEADS = ("run", "from", "to", "answers", "\u03b5 alone", "of the cap")


def render_ledger(statement: Statement) -> str:
    """One self-contained page of what `sottovoce ledger show` tells."""
    place = "" if statement.at_home else " It was moved or copied and refuses charges until adopted."
    header = element(
        "header",
        element("p", "Sottovoce privacy ledger", class_="brand")
        + element("h1", text(statement.path.rsplit("/", 1)[-1]))
        + element("p", text(f"{len(statement.lines)} entries, every seal checked.{place}"), class_="lead"),
    )
    sections = [
        element("section", section(part, [run for run in statement.runs if run.dataset == part.name]))
        for part in statement.datasets
    ]
    return document(f"Privacy ledger: {statement.path}", header + "\n".join(sections))


def render_folder(folder: str, statements: Sequence[Statement], refused: Mapping[str, str]) -> str:
    """One self-contained page over all accounts of the ledgers in a folder."""
    accounts = sum(len(statement.datasets) for statement in statements)
    lead = f"{accounts} accounts in {len(statements)} ledgers, every seal checked."
    header = element(
        "header",
        element("p", "Sottovoce privacy ledgers", class_="brand")
        + element("h1", text(folder.rstrip("/").rsplit("/", 1)[-1] or folder))
        + element("p", text(lead), class_="lead"),
    )
    sections = [
        element(
            "section",
            element("p", text(statement.path), class_="brand")
            + section(part, [run for run in statement.runs if run.dataset == part.name]),
        )
        for statement in statements
        for part in statement.datasets
    ]
    troubles = [
        element("section", element("h2", text(name)) + element("p", text(reason), class_="callout"))
        for name, reason in refused.items()
    ]
    return document(f"Privacy ledgers: {folder}", header + "\n".join((*troubles, *sections)))


def section(part: DatasetStatement, runs: list[Spell]) -> str:
    """One data set: a bar of its cap, what is left in words, and a line a run."""
    cap, budget = part.allowance.cap.units, part.allowance.budget
    shares = [(f"{place}. {run.name}", run.units / cap) for place, run in enumerate(runs, 1)]
    left = part.units_left / cap
    said = (
        f"Cap \u03b5 = {budget.epsilon:g} at \u03b4 = {number(budget.delta)}, {budget.relation.value}, for "
        f"every {part.account.declared.unit}. Spent so far: {percent(1.0 - left)} of it, which is \u03b5 = "
        f"{number(part.epsilon_spent)} at this \u03b4."
    )
    keys = "".join(_key(f"c{place % 6}", name, share) for place, (name, share) in enumerate(shares))
    legend = element("ul", keys + _key("rest", "left", left), class_="legend")
    if part.over_time:
        said += f" This account {part.over_time}."
    if part.account.declared.expires:
        said += f" It may be charged until {part.account.declared.expires}."
    for kept in part.parts:
        used = percent(kept.spent / kept.allotted)
        said += f" {kept.name} may spend \u03b5 = {kept.epsilon:g} of it and has spent {used} of that."
    remaining = element("p", element("strong", "Left: ") + text(f"{part.remaining}."), class_="callout")
    head = "".join(element("th", text(name), scope="col") for name in _HEADS)
    rows = "".join(_row(place, run, part) for place, run in enumerate(runs, 1))
    table = element("table", element("thead", element("tr", head)) + element("tbody", rows), class_="runs")
    history = element("div", table, class_="scroll") if runs else element("p", "Nothing was charged yet.")
    return (
        element("h2", text(part.name))
        + element("p", text(said))
        + charts.spending(shares)
        + legend
        + (remaining + history)
    )


def _key(colour: str, name: str, share: float) -> str:
    return element(
        "li",
        element("span", class_=f"key {colour}")
        + element("span", text(name))
        + element("span", percent(share), class_="amount"),
    )


def _row(place: int, run: Spell, part: DatasetStatement) -> str:
    cells = (
        run.started[:16].replace("T", " "),
        run.ended[:16].replace("T", " "),
        f"{run.answers:,}",
        number(part.epsilon_of(run.units)),
        percent(run.units / part.allowance.cap.units),
    )
    name = element("th", text(f"{place}. {run.name}"), scope="row")
    return element("tr", name + "".join(element("td", text(cell)) for cell in cells))
