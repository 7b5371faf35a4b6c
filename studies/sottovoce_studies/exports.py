"""Cells for other programs: one line of CSV each, or JSON with the sessions that made them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from sottovoce_studies.summary import Summary
from sottovoce_studies.words import EXACT


def csv_text(cells: Sequence[Summary]) -> str:
    """Nested figures become columns such as final_loss_mean; the paper's begin with printed_."""
    rows = [_flat(cell.to_dict()) for cell in cells]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def json_text(cells: Sequence[Summary], sessions: list[dict[str, Any]]) -> str:
    values = {"note": EXACT, "sessions": sessions, "cells": [cell.to_dict() for cell in cells]}
    return json.dumps(values, indent=1, allow_nan=False) + "\n"


def _flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{before}{name}_"))
        elif isinstance(value, tuple):
            flat[before + name] = " ".join(map(str, value))
        elif value is not None:
            flat[before + name] = value
    return flat
