"""Audit methods and queries as they are, and methods with noise times 0.8.

`python -m tests.attacks.audits methods|adapt|queries|relations|models [runs]`."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import sys
from collections.abc import Iterator

import sottovoce as sv
from sottovoce.audit.attack import Audit, audit
from sottovoce.audit.canary import CanaryShape
from sottovoce.audit.queries import audit_query, families
from sottovoce.methods.base import Method
from sottovoce.methods.majorize import Majorize
from tests.audit.test_relations_audit import audited

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


MODEL_CLAIM = sv.Budget(10.0, 1e-5)
MODELS: tuple[str | Method, ...] = ("adapt", "majorize", SHORT)


def audits(what: str, runs: int) -> Iterator[tuple[Audit, bool]]:
    """What each audit found, and whether it should have been flagged."""
    if what == "methods":
        for method, tolerance, shape, factor in STUDIES:
            found = audit(method, CLAIM, tolerance=tolerance, shape=shape, runs=runs, noise_factor=factor)
            yield found, factor < 1.0
    elif what == "adapt":
        for factor in (1.0, 0.5):
            yield audit("adapt", CLAIM, shape=TIGHT, runs=runs, noise_factor=factor), factor < 1.0
    elif what == "queries":
        for relation in ("replace-one", "zero-out"):
            for name in families():
                yield audit_query(name, sv.Budget(4.0, 1e-2, relation), runs=runs), False
    elif what == "relations":
        for relation in ("replace-one", "zero-out"):
            for factor in (1.0, 0.8):
                yield audited(relation, factor, runs), factor < 1.0
    else:
        for method in MODELS:
            yield audit(method, MODEL_CLAIM, shape=TIGHT, runs=runs, model_only=True), False


def main() -> int:
    what = sys.argv[1] if len(sys.argv) > 1 else "methods"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    surprises = 0
    for found, expected in audits(what, runs):
        surprises += found.flagged != expected
        print(f"{found}\n", flush=True)
    return surprises


sys.exit(main())
