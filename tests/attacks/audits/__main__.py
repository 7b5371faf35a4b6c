"""`python -m tests.attacks.audits [runs] [first]`: audit methods as they are, and with noise times 0.8."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import sys
import time

import sottovoce as sv
from sottovoce.audit.attack import audit
from sottovoce.audit.canary import CanaryShape
from sottovoce.methods.loop import Method
from sottovoce.methods.majorize import Majorize

CLAIM = sv.Budget(1.0, 1e-2)
# The loss is saturated wherever a run goes, so the canary moves each gradient and each trial as far as any
# record can, and the tolerance is out of reach, so the whole budget is spent: the tightest of the audits.
TIGHT = CanaryShape(dim=1, loss=sv.losses.PseudoHuber(1.0), target=(-100.0, 100.0))
FAR = sv.Tolerance(gradient=0.7, curvature=0.5)
SHORT = Majorize(steps=2)
STUDIES: tuple[tuple[str | Method, sv.Tolerance | None, CanaryShape, float], ...] = (
    (SHORT, None, TIGHT, 1.0),
    ("opt", FAR, TIGHT, 1.0),
    ("2opt-ls", FAR, TIGHT, 1.0),
    (SHORT, None, TIGHT, 0.8),
    ("opt", FAR, TIGHT, 0.8),
    ("2opt-ls", FAR, TIGHT, 0.8),
)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    surprises = 0
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for method, tolerance, shape, factor in STUDIES[first:]:
        began = time.perf_counter()
        found = audit(method, CLAIM, tolerance=tolerance, shape=shape, runs=runs, noise_factor=factor)
        surprises += found.flagged != (factor < 1.0)
        print(f"{found}\n({time.perf_counter() - began:.0f} s)\n", flush=True)
    return surprises


sys.exit(main())
