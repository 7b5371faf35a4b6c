"""The harness for others: it finds what leaves without noise, wherever it leaves, and nothing else."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sottovoce.audit.replay import replay
from sottovoce.errors import ParameterError
from sottovoce.estimators.linear import PrivateClassifier

HERE = np.array([1.0, 2.0, 3.0])
THERE = np.array([1.0, 2.0, 9.0])


class Mechanism:
    """Somebody else's noise."""

    def release(self, exact: float) -> float:
        return exact + float(np.random.default_rng().normal())


POINT = (f"{__name__}.Mechanism.release",)


def model(data: np.ndarray, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(mean=Mechanism().release(float(data.mean())), **more)


def test_what_depends_on_records_through_noise_alone_is_clean() -> None:
    found = replay(model, HERE, THERE, noise=POINT)
    assert found.clean
    assert found.answers == 1
    assert "nothing exact left" in str(found)


def warned(data: np.ndarray) -> SimpleNamespace:
    logging.getLogger("someone").warning("the largest is %s", data.max())
    return model(data)


def printed(data: np.ndarray) -> SimpleNamespace:
    print(data.max())  # noqa: T201 - what is tested
    return model(data)


def refused(data: np.ndarray) -> None:
    model(data)
    raise ValueError(f"{data.max()} is too large")


def asked_twice(data: np.ndarray) -> SimpleNamespace:
    return model(data, more=model(data) if data.max() > 5.0 else None)


@pytest.mark.parametrize(
    ("run", "path"),
    [
        (lambda data: model(data, largest=data.max()), "returned.largest"),
        (lambda data: model(data, deep={"a": [SimpleNamespace(kept=data)]}), "returned.deep['a'][0].kept"),
        (lambda data: model(data, labels=set(data)), "returned.labels{}[2]"),
        (warned, "printed and logged"),
        (printed, "printed and logged"),
        (refused, "refusal"),
        (asked_twice, f"noise: answer 2 is asked for by {POINT[0]}"),
    ],
    ids=["attribute", "deep", "set", "log", "print", "exception", "another number of queries"],
)
def test_an_exact_value_is_found_wherever_it_leaves(run: Callable[[Any], Any], path: str) -> None:
    found = replay(run, HERE, THERE, noise=POINT)
    assert path in found.exact
    assert not found.clean
    assert path in str(found)


def test_what_differs_from_run_to_run_is_not_blamed_on_records() -> None:
    found = replay(
        lambda data: model(data, name=uuid.uuid4().hex, at=time.time_ns()), HERE, THERE, noise=POINT
    )
    assert found.clean
    assert {"returned.name", "returned.at"} <= set(found.unsteady)


def test_a_run_that_drew_no_noise_at_the_points_named_is_not_called_clean() -> None:
    found = replay(lambda data: 0.0, HERE, THERE, noise=POINT)
    assert not found.clean
    assert "nothing was tested" in str(found)


def test_a_point_that_is_not_there_is_refused() -> None:
    with pytest.raises(ParameterError, match="named by where it is found"):
        replay(model, HERE, THERE, noise=("nowhere.Mechanism.release",))


@pytest.mark.parametrize("method", ["auto", "majorize"])
def test_our_estimators_are_clean(method: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    other_X, other_y = X.copy(), -y
    other_X[4] *= -50.0
    other_y[:] = y
    other_y[4] = -y[4]
    found = replay(
        lambda data: PrivateClassifier(epsilon=1.0, delta=1e-5, classes=(-1, 1), method=method).fit(*data),
        (X, y),
        (other_X, other_y),
    )
    assert found.clean, str(found)
