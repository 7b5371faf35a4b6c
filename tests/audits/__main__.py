"""`python -m tests.audits [runs] [first]`: audit methods as they are, and one with noise times 0.8."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import sys
import time

import sottovoce as sv
from sottovoce.audit import audit
from sottovoce.canary import Shape
from sottovoce.methods.loop import Method
from sottovoce.methods.majorize import Majorize

CLAIM = sv.Budget(1.0, 1e-2)
LOOSE = sv.Tolerance(gradient=0.5, curvature=0.5)
# Pulled towards zero, where the canary moves a gradient as far as anything can: the tightest of the audits.
CALM, CALM_SHAPE = Majorize(steps=2, gram_share=0.01), Shape(dim=1, regularizer=sv.regularizers.L2(10.0))
STUDIES: tuple[tuple[str | Method, sv.Tolerance | None, Shape, float], ...] = (
    (Majorize(steps=2), None, Shape(dim=1), 1.0),
    ("opt", LOOSE, Shape(), 1.0),
    ("2opt-ls", LOOSE, Shape(), 1.0),
    (CALM, None, CALM_SHAPE, 1.0),
    (CALM, None, CALM_SHAPE, 0.8),
)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    surprises = 0
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for method, tolerance, shape, factor in STUDIES[first:]:
        began = time.perf_counter()
        found = audit(method, CLAIM, tolerance=tolerance, shape=shape, runs=runs, noise_factor=factor)
        surprises += found.flagged != (factor < 1.0)
        print(f"{found}\n({time.perf_counter() - began:.0f} s)\n")
    return surprises


sys.exit(main())
