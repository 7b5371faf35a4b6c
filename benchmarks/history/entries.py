"""One line of ratios.jsonl for each landed measurement, and what counts as slower."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

RATIOS = Path(__file__).parent / "ratios.jsonl"

TOLERANCE = 0.25
"""How much larger a ratio may be before it counts as slower."""


@dataclass(frozen=True)
class Entry:
    """Ratios to a yardstick of the same run, with the commit and the machine they were measured on."""

    commit: str
    measured: str
    processor: str
    threads: int
    load: float | None
    ratios: dict[str, float]

    def best(self, other: Entry) -> Entry:
        """The smaller ratio of each pass: one that is slower is slower each time."""
        least = {name: min(ratio, other.ratios.get(name, ratio)) for name, ratio in self.ratios.items()}
        return Entry(self.commit, self.measured, self.processor, self.threads, self.load, least)


def read(file: Path = RATIOS) -> list[Entry]:
    """Every entry, the oldest first."""
    if not file.exists():
        return []
    return [Entry(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def write(entry: Entry, file: Path = RATIOS) -> None:
    """Append an entry."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(entry)) + "\n")


def last_on(entries: list[Entry], like: Entry) -> Entry | None:
    """The last entry of the same processor and number of threads: ratios of others do not compare."""
    same = [kept for kept in entries if (kept.processor, kept.threads) == (like.processor, like.threads)]
    return same[-1] if same else None


def regressions(last: Entry, found: Entry, tolerance: float = TOLERANCE) -> list[str]:
    """Passes whose ratio is larger than last time by more than the tolerance, or that are gone."""
    return [
        name
        for name, before in last.ratios.items()
        if found.ratios.get(name, float("inf")) > before * (1.0 + tolerance)
    ]
