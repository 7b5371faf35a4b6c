"""docs/charts/adapt-ellipses.svg: rows and the noise on a gradient, before and after coordinates are learned.

python -m benchmarks.adapt_picture
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

CHART = Path(__file__).parents[1] / "docs" / "charts" / "adapt-ellipses.svg"
SIZE, GAP = 260, 40


def rows(seed: int = 0) -> np.ndarray:
    """Far from the origin, wide one way and narrow the other."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((160, 2)) * [0.22, 0.035] + [0.35, 0.55]


def panel(points: np.ndarray, radius: float, left: float, title: str) -> list[str]:
    """Points and a circle of noise in a square that reaches from -1 to 1."""

    def at(x: float, y: float) -> tuple[float, float]:
        return left + SIZE * (x + 1.0) / 2.0, 30.0 + SIZE * (1.0 - y) / 2.0

    origin = at(0.0, 0.0)
    lines = [
        f'<rect x="{left}" y="30" width="{SIZE}" height="{SIZE}" fill="none" stroke="#888"/>',
        f'<text x="{left}" y="20">{title}</text>',
        f'<path d="M{left} {origin[1]}h{SIZE}M{origin[0]} 30v{SIZE}" stroke="#ccc"/>',
    ]
    for x, y in np.clip(points, -1.0, 1.0):
        place = at(float(x), float(y))
        lines.append(f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="2" fill="#2b6cb0"/>')
    lines.append(
        f'<circle cx="{origin[0]}" cy="{origin[1]}" r="{radius * SIZE / 2.0:.1f}" fill="#c53030" '
        'fill-opacity="0.15" stroke="#c53030"/>'
    )
    return lines


def picture() -> str:
    before = rows()
    after = (before - before.mean(axis=0)) / before.std(axis=0) / 3.2
    longest = float(np.linalg.norm(before, axis=1).max())
    typical = float(np.sqrt(np.mean(np.sum(after**2, axis=1))))
    width, height = 2 * SIZE + 3 * GAP, SIZE + 60
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="13" fill="#444">',
        *panel(before, longest, GAP, "As given: noise as wide as the longest row"),
        *panel(after, typical, 2 * GAP + SIZE, "Learned: as wide as a typical row"),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    CHART.write_text(picture())
