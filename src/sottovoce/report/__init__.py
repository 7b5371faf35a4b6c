"""The page to show a privacy officer: what is guaranteed, what was reached, and at what price."""

from __future__ import annotations

from sottovoce.report.card import Card
from sottovoce.report.page import render

__all__ = ["Card", "render"]
