"""An example's place in a call is its own affair: no other person, record or batch decides it.

What PyTorch makes of a place depends on the processor. So these tests look at where every example is put: the
same value at the same place of a call of the same length, in every call to the module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import sottovoce as sv

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from sottovoce.autodiff.fused import Fused  # noqa: E402
from sottovoce.autodiff.terms import Terms  # noqa: E402
from tests.autodiff import models  # noqa: E402

DIM, FIRST = 3, 10.0
ASKED: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "gradient": lambda risk, w: risk.gradient(w),
    "fused gradient": lambda risk, w: risk.gradient(w),
    "hessian": lambda risk, w: risk.hessian(w),
    "product": lambda risk, w: risk.curvature_product(w, np.eye(DIM)[0]),
    "value": lambda risk, w: risk.value(w),
    "line": lambda risk, w: risk.along(w, np.eye(DIM)[0]).decrease(0.5),
    "trials": lambda risk, w: risk.trials(w, np.eye(DIM)),
}
MEMORY = [2.0**25, 32.0 * (DIM + 64) * 5]
CASES = [("gradient", MEMORY[0]), *((name, MEMORY[1]) for name in ASKED)]


def placed(risk: Any, ask: Callable[[Any, np.ndarray], Any]) -> Counter[tuple[float, int, int]]:
    """Every example that the module sees in an answer: the first input, which tells it, place and length."""
    seen: Counter[tuple[float, int, int]] = Counter()
    compute = Terms._at_once

    def spying(self: Any, transform: Any, flat: Any, inputs: Any, targets: Any) -> Any:
        seen.update((float(x[0]), place, len(inputs)) for place, x in enumerate(inputs))
        return compute(self, transform, flat, inputs, targets)

    summed = Fused._summed

    def spying_too(self: Any, flat: Any, inputs: Any, *others: Any) -> Any:
        seen.update((float(x[0]), place, len(inputs)) for place, x in enumerate(inputs))
        return summed(self, flat, inputs, *others)

    with mock.patch.object(Terms, "_at_once", spying), mock.patch.object(Fused, "_summed", spying_too):
        ask(risk, np.full(DIM, 0.1))
    return seen


def told(X: np.ndarray, memory: float, name: str = "", **more: Any) -> Any:
    fused = torch.nn.Sequential(torch.nn.Linear(DIM, 1, bias=False, dtype=torch.float64))
    return sv.autodiff.TorchRisk(
        fused if name == "fused gradient" else models.Linear(DIM),
        (lambda z, y: models.logistic(z[:, 0], y)) if name == "fused gradient" else models.logistic,
        (X, np.ones(len(X))),
        gradient_clip=1.0,
        curvature_clip=0.5,
        memory=memory,
        **more,
    )


def marked(marks: np.ndarray | list[float]) -> np.ndarray:
    X = np.full((len(marks), DIM), 0.1)
    X[:, 0] = marks
    return X


def others(seen: Counter[tuple[float, int, int]], mine: float) -> Counter[tuple[float, int, int]]:
    """Without the examples of one, and without what was made up: all others are marked from FIRST on."""
    return Counter({key: count for key, count in seen.items() if key[0] >= FIRST and key[0] != mine})


@pytest.mark.parametrize(("name", "memory"), CASES)
def test_a_person_moves_nobody_else(name: str, memory: float) -> None:
    counts = 1 + np.arange(25) % 3
    marks, keys = FIRST + np.arange(counts.sum()), [f"other {k}" for k in np.repeat(np.arange(25), counts)]

    def seen(rows: int, where: int) -> Counter[tuple[float, int, int]]:
        X = marked(np.concatenate([marks[:where], np.full(rows, 5.0), marks[where:]]))
        groups = [*keys[:where], *["me"] * rows, *keys[where:]]
        return others(placed(told(X, memory, name, groups=groups, persons=26), ASKED[name]), 5.0)

    alone = seen(0, 0)
    assert len(alone) == len(marks)
    for rows, where in ((1, 0), (2, 0), (3, 20), (5, len(marks)), (400, 0)):
        assert seen(rows, where) == alone


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize(("name", "memory"), CASES)
def test_a_batch_with_a_record_and_one_without_put_the_others_at_their_places(
    name: str, persons: bool, memory: float
) -> None:
    n = 60
    groups = [f"p{k}" for k in range(n)] if persons else None
    risk = told(marked(FIRST + np.arange(n)), memory, name, groups=groups)
    batch = np.arange(0, n, 3)
    whole = placed(risk.subset(batch, n=20), ASKED[name])
    for left_out in (0, 7, 19):
        mine = FIRST + batch[left_out]
        without = placed(risk.subset(np.delete(batch, left_out), n=20), ASKED[name])
        another = placed(risk.subset(np.sort(np.append(np.delete(batch, left_out), 31)), n=20), ASKED[name])
        assert others(whole, mine) == others(without, mine) == others(others(another, FIRST + 31), mine)
        assert len(others(whole, mine)) == 19


@pytest.mark.parametrize("memory", MEMORY)
def test_a_record_stands_at_its_number_in_calls_of_one_length(memory: float) -> None:
    n = 23
    for name, ask in ASKED.items():
        risk = told(marked(FIRST + np.arange(n)), memory, name)
        assert (risk.sums._fused is not None) == (name == "fused gradient")
        seen = others(placed(risk, ask), 0.0)
        (length,) = {length for _, _, length in seen}
        assert {(mark, place) for mark, place, _ in seen} == {(FIRST + k, k % length) for k in range(n)}


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2, 3]],
        [[1.0, 2.0, 3.0]],
        ([1, 2, 3],),
        np.array([[1, 2, 3]], dtype=object),
        np.ma.array([[1.0, 2.0, 3.0]], mask=[[False, True, False]]),
        np.array([["1", "2", "3"]]),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_what_has_no_type_of_its_own_is_refused(rows: Any) -> None:
    """One cell would decide how the others are read."""
    with pytest.raises(sv.errors.DataError, match="type"):
        sv.autodiff.TorchRisk(
            models.Linear(3), models.logistic, (rows, np.ones(1)), gradient_clip=1.0, curvature_clip=0.5
        )
