"""Curves of a model as a notebook shows them, and as a page of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.files import write
from sottovoce.report.curves import curves, pictures
from sottovoce.report.markup import element, text
from sottovoce.report.page import document

if TYPE_CHECKING:
    import os

    from sottovoce.report.card import Card


@final
@dataclass(frozen=True, eq=False)
class Drawing:
    """The effects that a card has: pictures in a notebook, and a page where `save` writes one."""

    card: Card

    def _repr_html_(self) -> str:
        return pictures(self.card.effects)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML page with the curves, the columns that act together, and the same as numbers."""
        title = f"Curves of {self.card.dataset or 'a private model'}"
        content = element("header", element("h1", text(title))) + element("section", curves(self.card))
        write(path, document(title, content))
