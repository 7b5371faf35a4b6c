"""A method that asks the Oracle with hostile numbers: charged for what one record moves, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sottovoce as sv
from tests.attacks.doors import hostile
from tests.attacks.doors.engine import Door, Draw, Pair, Reading, charging
from tests.attacks.doors.probes import BUDGET, Look, listening

Ask = Callable[[Any], object]


def _number(draw: Draw) -> Any:
    """A number that a method has no business to pass, or an ordinary one."""
    odd: tuple[Any, ...] = (
        0.5,
        1.0,
        1e-3,
        -0.5,
        2.0,
        1e6,
        -1e6,
        10**400,
        "1",
        None,
        True,
        1j,
        [1.0],
        Exception,
    )
    return hostile.number(draw)[1] if draw.random() < 0.5 else odd[draw.integers(len(odd))]


def _vector(draw: Draw, dim: int) -> Any:
    """Weights or a direction: ordinary, of hostile length, with hostile entries, of another shape or type."""
    plain = draw.normal(size=dim)
    spoilt = plain.copy()
    spoilt[draw.integers(dim)] = hostile.number(draw)[1]
    with np.errstate(all="ignore"):
        scaled = plain * hostile.number(draw)[1]
    odd: tuple[Any, ...] = (
        plain,
        spoilt,
        scaled,
        plain * 1e-165,
        plain * 1e155,
        plain * 1e-9,
        np.zeros(dim),
        plain[:-1],
        plain[:, None],
        plain[None],
        plain.tolist(),
        plain.astype(np.float32),
        plain.astype(object),
        plain.astype(complex),
        np.repeat(plain, 2)[::2],
        [str(x) for x in plain],
        None,
        1.0,
    )
    return odd[0] if draw.random() < 0.65 else odd[draw.integers(len(odd))]


def _units(draw: Draw, oracle: Any) -> Any:
    share = max(1, oracle.units_left // 4)
    odd = (0, -1, 10**40, 0.5, float("nan"), None, True, float(share))
    return share if draw.random() < 0.93 else odd[draw.integers(len(odd))]


def _asked(draw: Draw, dim: int) -> tuple[str, Ask]:
    """One query, its numbers drawn beforehand: both neighbours hear the same."""
    w, p, units = _vector(draw, dim), _vector(draw, dim), draw.integers(2**31)
    count = draw.choice(np.array([1, 2, 5, 0, -1, 2.5, None, 10**7], dtype=object))
    lengths: Any = [_number(draw) for _ in range(int(draw.integers(0, 4)))]
    if draw.random() < 0.6:
        lengths = np.array(
            [float(draw.choice([1.0, 0.5, -1.0, -3.0, 1e-3, 1e-200, 5e-324])) for _ in range(3)]
        )
    required: Any = np.zeros(len(lengths)) if draw.random() < 0.7 else [_number(draw)] * len(lengths)
    longest, shrink, size = (
        _number(draw),
        _number(draw),
        draw.choice(np.array([1, 2, 3, 0, -1, 1e9, 2.5, None], dtype=object)),
    )
    steps: Any = [_vector(draw, dim) for _ in range(int(draw.integers(0, 4)))]
    if draw.random() < 0.4:
        steps = np.array([draw.normal(size=dim) for _ in range(2)]) * draw.choice([1.0, 1e-7, 1e-200, 1e5])

    def pay(oracle: Any) -> Any:
        return _units(np.random.default_rng(units), oracle)

    asks: dict[str, Ask] = {
        "gradient": lambda o: o.gradient(w, pay(o)),
        "hessian": lambda o: o.hessian(w, pay(o)),
        "curvature_product": lambda o: o.curvature_product(w, p, pay(o)),
        "score_moment": lambda o: o.score_moment(w, pay(o)),
        "information": lambda o: o.information(w, pay(o)),
        "gram": lambda o: o.gram(pay(o)),
        "gram_diagonal": lambda o: o.gram_diagonal(pay(o)),
        "trials": lambda o: o.trials(w, steps, pay(o)),
        "gradient_norm": lambda o: o.gradient_norm(w, pay(o)),
        "smallest_eigenvalue": lambda o: o.smallest_eigenvalue(w, pay(o)),
        "backtrack": lambda o: o.backtrack(w, p, lengths, required, pay(o)),
        "grid": lambda o: o.grid(w, p, longest, shrink, count, pay(o)),
        "value": lambda o: o.value(w, pay(o)),
        "batched gradient": lambda o: o.batched(size).gradient(w, pay(o)),
        "batched hessian": lambda o: o.batched(size).hessian(w, pay(o)),
        "batched product": lambda o: o.batched(size).curvature_product(w, p, pay(o)),
    }
    names = [*asks, "backtrack", "backtrack", "grid", "trials", "curvature_product"]
    name = names[draw.integers(len(names))]
    return name, asks[name]


def _queries(draw: Draw) -> Pair:
    """The replaced record is turned round, so that it moves answers as far as it can."""
    n, dim, place = int(draw.integers(2, 9)), int(draw.integers(1, 4)), 0
    X, y = draw.normal(size=(n, dim)), draw.choice([-1, 1], n)
    place = int(draw.integers(n))
    X[place] /= np.linalg.norm(X[place])
    other, labels = X.copy(), y.copy()
    other[place] = (-X[place], draw.normal(size=dim), np.zeros(dim))[draw.integers(3)]
    labels[place] = draw.choice([-1, 1])
    name, ask = _asked(draw, dim)
    currency: dict[str, Any] = {"currency": "renyi", "order": 64.0} if name[:2] in ("ba", "pa") else {}
    loss = (sv.losses.Logistic(), sv.losses.Sigmoid())[draw.integers(2)]

    def read(X: Any, y: Any) -> Reading:
        ledger = sv.Ledger(BUDGET, **currency)
        risk = sv.Risk(sv.Records.from_arrays(X, y, labels=(-1, 1)), loss, sv.regularizers.L2(1e-3))

        def run() -> Reading:
            with listening() as listener:
                sv.minimize(risk, budget=BUDGET, method=Look(ask), ledger=ledger, simulate=0)
            return Reading(answers=listener.answers)

        return charging(ledger, run)

    return Pair(lambda: read(X, y), lambda: read(other, labels), place, name)


DOORS = (Door("oracle: hostile queries", _queries, 250),)
