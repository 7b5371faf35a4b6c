"""`python -m tests.attacks.crash [kills] [rounds]`: the study behind docs/trust.md. Minutes, one core."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.attacks.crash.kills import UNRELEASED, Point, Scene, kill_once, race


def study(kills: int, *, release_first: bool, points: tuple[Point, ...]) -> Counter[str]:
    """Kill counts and what they left; each scene is used until its budget is nearly spent."""
    luck, seen = random.Random(8), Counter[str]()
    while seen["kills"] < kills:
        with tempfile.TemporaryDirectory() as folder:
            scene = Scene(Path(folder))
            scene.open()
            while seen["kills"] < kills and len(scene.durable) < 150:
                point = points[seen["kills"] % len(points)]
                released, durable = set(scene.released), set(scene.durable)
                killed = kill_once(scene, point, luck, release_first=release_first)
                seen["kills"] += killed
                seen["not killed"] += not killed
                new, kept = set(scene.released) - released, set(scene.durable) - durable
                seen["charges"] += len(kept)
                seen["releases without a durable charge"] += len(new - kept)
                seen["caught"] += bool(new - kept)
                if point is not Point.ANY_TIME and not release_first:
                    expected = UNRELEASED.get(point, 0)
                    seen["unexpected remains"] += len(kept - new) != expected
    return seen


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    sound = study(kills, release_first=False, points=tuple(Point))
    print(f"{sound['kills']} kills at {', '.join(Point)}; {sound['charges']} charges survived")
    print("overspends: 0 (asserted against the cap after every kill)")
    print(f"releases without a durable charge: {sound['releases without a durable charge']}")
    print(f"kills that left other than the point's own remains: {sound['unexpected remains']}")
    control = study(kills // 10, release_first=True, points=(Point.BEFORE_BEGIN,))
    print(f"control that releases before charging: caught {control['caught']} of {control['kills']}")
    grants = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            grants.append(race(Scene(Path(folder)), 8, 100))
    print(f"8 processes, one budget of 100 charges, {rounds} rounds: {Counter(grants)}")
    sound_all = not sound["releases without a durable charge"] and not sound["unexpected remains"]
    exact = all(grant == (100, 100) for grant in grants)
    return 0 if sound_all and control["caught"] == control["kills"] and exact else 1


sys.exit(main())
