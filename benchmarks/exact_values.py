"""`python -m benchmarks.exact_values`: exact values that leave estimators, ours and those of two libraries.

Each is trained over two neighbours by `sottovoce.audit.replay`, which hands both the same noisy answers. A
library that is not installed is named and left out: diffprivlib wants an environment of its own, in which
PYTHONPATH finds this package."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sottovoce.audit.replay import OURS, Replayed, replay

Data = tuple[Any, Any]
Run = Callable[[Data], Any]


def neighbours() -> tuple[Data, Data]:
    """300 rows of three columns; the other data set has one row turned round, and its label is the only 2."""
    rng = np.random.default_rng(0)
    X = np.clip(rng.normal(size=(300, 3)), -4.0, 4.0)
    y = np.where(X[:, 0] + rng.normal(size=300) > 0.0, 1, 0)
    other_X, other_y = X.copy(), y.copy()
    other_X[17] *= -2.0
    other_y[17] = 2
    return (X, y), (other_X, other_y)


def ours() -> Iterator[tuple[str, Run]]:
    from sottovoce.estimators.linear import PrivateClassifier, PrivateRegressor

    for method in ("auto", "majorize", "cubic"):
        yield (
            f"PrivateClassifier, {method}",
            _fitted(
                lambda method=method: PrivateClassifier(
                    epsilon=1.0, delta=1e-5, classes=(0, 1, 2), method=method
                )
            ),
        )
    yield "PrivateRegressor", _fitted(lambda: PrivateRegressor(epsilon=1.0, delta=1e-5, target=(0.0, 2.0)))


def diffprivlib() -> Iterator[tuple[str, Run]]:
    from diffprivlib import BudgetAccountant, models

    def public(**declared: Any) -> dict[str, Any]:
        return {"epsilon": 1.0, "random_state": 0, "accountant": BudgetAccountant(), **declared}

    box = (-8.0, 8.0)
    yield "GaussianNB", _fitted(lambda: models.GaussianNB(**public(bounds=box)))
    yield (
        "LinearRegression",
        _fitted(lambda: models.LinearRegression(**public(bounds_X=box, bounds_y=(0.0, 2.0)))),
    )
    yield "StandardScaler", _fitted(lambda: models.StandardScaler(**public(bounds=box)))
    yield "KMeans", _fitted(lambda: models.KMeans(2, **public(bounds=box)))
    yield "PCA", _fitted(lambda: models.PCA(2, **public(data_norm=14.0, centered=True)))


def opendp() -> Iterator[tuple[str, Run]]:
    import opendp.prelude as dp
    from opendp.extras.sklearn.linear_model import LinearRegression

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    line = {"x_bounds": [(-8.0, 8.0)], "y_bounds": (0.0, 2.0), "scale": 1.0}
    yield (
        "LinearRegression of one column",
        lambda data: LinearRegression(dp.max_divergence(), **line).fit(data[0][:, :1], data[1].astype(float)),
    )


def points_of_diffprivlib() -> tuple[str, ...]:
    """Every mechanism that draws by a method of its own."""
    from diffprivlib import mechanisms

    return tuple(
        f"diffprivlib.mechanisms.{name}.randomise"
        for name, kind in inspect.getmembers(mechanisms, inspect.isclass)
        if "randomise" in vars(kind)
    )


LIBRARIES: dict[str, tuple[Callable[[], Iterator[tuple[str, Run]]], Callable[[], tuple[str, ...]]]] = {
    "sottovoce": (ours, lambda: OURS),
    "diffprivlib": (diffprivlib, points_of_diffprivlib),
    "opendp": (opendp, lambda: ("opendp.mod.Measurement.__call__",)),
}


def _fitted(make: Callable[[], Any]) -> Run:
    return lambda data: make().fit(*data)


def _row(library: str, name: str, found: Replayed) -> str:
    what = ", ".join(f"`{path}`" for path in found.exact) if found.exact else "none"
    if not found.answers:
        what = "not tested: no noise was drawn at the points named"
    return f"| {library} | {name} | {found.answers} | {found.compared} | {what} |"


def main() -> None:
    here, there = neighbours()
    print("| library | estimator | noisy answers | parts compared | exact |\n| --- | --- | --- | --- | --- |")
    for library, (estimators, points) in LIBRARIES.items():
        if importlib.util.find_spec(library) is None:
            print(f"| {library} | not installed | | | |")
            continue
        for name, run in estimators():
            print(_row(library, name, replay(run, here, there, noise=points())), flush=True)


if __name__ == "__main__":
    main()
