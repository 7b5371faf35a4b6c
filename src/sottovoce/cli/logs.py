"""What runs do, line by line, on standard error: SOTTOVOCE_LOG=text or json, or `sottovoce --log-json`.

The library logs through `logging` under the name `sottovoce`: that a run began, was charged, ended. Every
value is a declaration or in the ledger: it depends on records as far as answers do and no further."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import TextIO

from sottovoce.errors import ParameterError

VARIABLE = "SOTTOVOCE_LOG"


class AsJson(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        return json.dumps(told)


class ToStandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is at that moment: a program that runs commands may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def begin(form: str = "") -> None:
    """Log to standard error in the form that is asked for: text, json, or none."""
    chosen = form or os.environ.get(VARIABLE, "")
    logger = logging.getLogger("sottovoce")
    logger.handlers[:] = [other for other in logger.handlers if not isinstance(other, ToStandardError)]
    if not chosen:
        return
    if chosen not in ("text", "json"):
        raise ParameterError(f"{VARIABLE} must be text or json.", argument=VARIABLE)
    handler = ToStandardError()
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(AsJson() if chosen == "json" else plain)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
