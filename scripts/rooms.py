"""Draw docs/architecture.svg from the import graph and the contract: `python scripts/rooms.py`.

A row is a layer of the contract in pyproject.toml, a box a room, a thin line an import between rooms, the
thick line the way of a record. `tests/system/test_architecture.py` draws it again and compares."""

from __future__ import annotations

import html
import tomllib
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "architecture.svg"
WAY = {
    "cli": "reads the command",
    "fitting": "from a table to a model",
    "data": "bounds rows, declares labels",
    "kernels": "sums over rows",
    "models": "exact value, gradient, Hessian",
    "privacy": "charge, compute, noise, release",
    "methods": "see noisy answers only",
    "results": "weights, guarantee, certificate",
    "model": "a file to publish",
}
"""What happens to a record, room by room."""

WIDTH, ROW, BOX = 1080, 62, 40


def layers() -> list[list[str]]:
    """Rooms from the top down, as the contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (rows,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[room.strip() for room in row.split("|")] for row in rows]


def imports() -> Counter[tuple[str, str]]:
    """How many modules of one room import another room, type hints aside."""
    graph = grimp.build_graph("sottovoce", exclude_type_checking_imports=True, cache_dir=None)
    found: Counter[tuple[str, str]] = Counter()
    for module in graph.modules:
        if module.count("."):
            here = module.split(".")[1]
            targets = {
                name.split(".")[1] for name in graph.find_modules_directly_imported_by(module) if "." in name
            }
            found.update((here, there) for there in targets if there != here)
    return found


def picture() -> str:
    rows, edges = layers(), imports()
    place: dict[str, tuple[float, float]] = {}
    boxes = []
    for number, row in enumerate(rows):
        top, step = 16 + number * ROW, WIDTH / len(row)
        wide = min(230.0, step - 16)
        for index, room in enumerate(row):
            middle = step * (index + 0.5)
            place[room] = (middle, top + BOX / 2)
            kind = "way" if room in WAY else "room"
            boxes.append(
                f'<rect class="{kind}" x="{middle - wide / 2:.0f}" y="{top}" width="{wide:.0f}" '
                f'height="{BOX}" rx="6"/>'
                f'<text x="{middle:.0f}" y="{top + (17 if room in WAY else 25)}">{html.escape(room)}</text>'
                f'<text class="small" x="{middle:.0f}" y="{top + 32}">{html.escape(WAY.get(room, ""))}</text>'
            )
    thin = [
        f'<path class="import" d="M{x:.0f} {y:.0f} C{x:.0f} {(y + v) / 2:.0f} '
        f'{u:.0f} {(y + v) / 2:.0f} {u:.0f} {v:.0f}"/>'
        for (here, there), _ in sorted(edges.items())
        for (x, y), (u, v) in [(place[here], place[there])]
    ]
    points = [place[room] for room in WAY]
    thick = " ".join(f"{'L' if index else 'M'}{x:.0f} {y:.0f}" for index, (x, y) in enumerate(points))
    height = 16 + len(rows) * ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="Rooms of the package in layers, imports between them, and the way of a record">\n'
        "<style>text{font:600 14px system-ui,sans-serif;text-anchor:middle;fill:#1d2733}"
        ".small{font:11px system-ui,sans-serif;fill:#52606d}"
        ".room{fill:#f4f6f8;stroke:#9aa5b1}.way{fill:#e0f0e9;stroke:#2f855a}"
        ".import{fill:none;stroke:#7b8794;stroke-width:1;opacity:.25}"
        ".record{fill:none;stroke:#2f855a;stroke-width:3;opacity:.55;stroke-linejoin:round}</style>\n"
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        + "\n".join(thin)
        + f'\n<path class="record" d="{thick}"/>\n'
        + "\n".join(boxes)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
