"""Whether the epsilon that `plan --accuracy` names reaches the accuracy, and half of it does not.

    python -m benchmarks.plan_wishes FOLDER [TABLES]
    python -m benchmarks.plan_wishes FOLDER why NAME...     excess loss and accuracy lost, told and found

Tables are NAME.csv and NAME.toml of the folder, two classes each: the first TABLES by name, 12 if not told,
on which the minimizer is at least three points better than always naming the more frequent class; on others
there is nothing to lose. The wish is the accuracy of the minimizer without noise, on rows held out, less one
point. The plan is told n, the number of weights, delta and the accuracy without privacy, and names an
epsilon; ten fits are made at it and ten at half of it, noise simulated. A fit reaches the wish if its
accuracy on the rows held out does. Lines are kept in benchmarks/results/plan-wishes.jsonl as they come, and a
table that is there is not fitted again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import sottovoce as sv
from benchmarks.adapt_problems import Table
from benchmarks.plan_accuracy import _accuracy, other
from sottovoce.planning.accuracy import accuracy_lost
from sottovoce.planning.wishes import wish_for_accuracy

FITS, POINTS, LEAST, TABLES = 10, 0.01, 0.03, 12
KEPT = Path(__file__).parent / "results" / "plan-wishes.jsonl"


def main() -> None:
    if sys.argv[2:3] == ["why"]:
        for name in sys.argv[3:]:
            print(compared(name, other(Path(sys.argv[1]) / f"{name}.toml")), flush=True)
        return
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else TABLES
    done = {json.loads(line)["table"] for line in KEPT.read_text().splitlines()} if KEPT.exists() else set()
    with KEPT.open("a", encoding="utf-8") as kept:
        for path in sorted(Path(sys.argv[1]).glob("*.toml")):
            if path.stem in done or len(done) >= wanted:
                continue
            table = other(path)
            frequent = max(np.mean(table.marks > 0), np.mean(table.marks <= 0))
            if _accuracy(table, table.best[0]) < frequent + LEAST:
                print(f"{path.stem}: passed over, nothing to lose")
                continue
            kept.write(json.dumps(judged(path.stem, table)) + "\n")
            kept.flush()
            done.add(path.stem)
    found = [json.loads(line) for line in KEPT.read_text().splitlines()]
    for line in found:
        print(
            f"{line['table']:14} n {line['n']:6} weights {line['dim']:3} without {line['without']:.4f} "
            f"epsilon {line['epsilon']:.3g}: reached by {line['at']} of {FITS}, at half by {line['half']}"
        )
    at, half = (sum(line[name] for line in found) for name in ("at", "half"))
    enough = sum(line["at"] >= 0.8 * FITS for line in found)
    fails = sum(line["half"] <= 0.5 * FITS for line in found)
    print(f"of {FITS * len(found)} runs {at} reach it at the named epsilon, {half} at half of it")
    print(f"of {len(found)} tables {enough} in eight of ten runs; on {fails} half fails in half of them")


def compared(name: str, table: Table) -> str:
    """Of four fits at the epsilon that is named, beside what the forecast says there."""
    without = _accuracy(table, table.best[0])
    budget, dim = sv.Budget(1.0, table.delta), table.X.shape[1]
    wish = wish_for_accuracy(without - POINTS, without, table.n, dim, budget, 0.0, area=False)
    assert wish.epsilon is not None
    asked = sv.Budget(wish.epsilon, table.delta)
    told = accuracy_lost(table.n, dim, asked)

    def loss(weights: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -table.y * (table.X @ weights)).mean())

    fits = [sv.minimize(table.risk, budget=asked, simulate=seed).weights for seed in range(4)]
    excess = np.mean([loss(weights) - loss(table.best[0]) for weights in fits])
    lost = np.mean([without - _accuracy(table, weights) for weights in fits])
    return (
        f"{name}: log odds of standard deviation {np.std(table.X @ table.best[0]):.2f}; excess told "
        f"{told.excess:.4f}, found {excess:.4f}; accuracy lost told {told.typical:.4f}, found {lost:.4f}"
    )


def judged(name: str, table: Table) -> dict[str, object]:
    without = _accuracy(table, table.best[0])
    budget = sv.Budget(1.0, table.delta)
    wish = wish_for_accuracy(without - POINTS, without, table.n, table.X.shape[1], budget, 0.0, area=False)
    assert wish.epsilon is not None

    def reached(epsilon: float, seeds: range) -> int:
        asked = sv.Budget(epsilon, table.delta)
        fits = (sv.minimize(table.risk, budget=asked, simulate=seed).weights for seed in seeds)
        return int(np.sum([_accuracy(table, weights) >= without - POINTS for weights in fits]))

    return {
        "table": name,
        "n": table.n,
        "dim": table.X.shape[1],
        "without": without,
        "epsilon": wish.epsilon,
        "at": reached(wish.epsilon, range(FITS)),
        "half": reached(0.5 * wish.epsilon, range(100, 100 + FITS)),
    }


if __name__ == "__main__":
    main()
