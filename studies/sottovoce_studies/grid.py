"""A small table of words, for every rendering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from sottovoce.report.markup import element, text


@final
@dataclass(frozen=True, kw_only=True)
class Grid:
    """A title, a note, the heads of the columns and the rows."""

    title: str
    note: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> list[str]:
        """Paragraphs: title, note, table."""
        lines = [f"| {' | '.join(self.heads)} |", "| --- " * len(self.heads) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return [f"## {self.title}", self.note, "\n".join(lines)]

    def html(self, name: str) -> str:
        """A section of a page."""
        head = "".join(element("th", text(word), scope="col") for word in self.heads)
        body = "".join(element("tr", "".join(element("td", text(word)) for word in row)) for row in self.rows)
        table = element(
            "table", element("thead", element("tr", head)) + element("tbody", body), class_="grid-of-words"
        )
        words = element("h2", text(self.title)) + element("p", text(self.note.replace("*", "")))
        return element("section", words + element("div", table, class_="scroll"), id=name)
