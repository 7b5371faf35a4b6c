"""What an estimator's user declares, and arrays checked by scikit-learn without its messages quoting them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from sottovoce import losses, regularizers
from sottovoce.arrays import Vector
from sottovoce.data import cells
from sottovoce.data import weights as weighing
from sottovoce.data.cell import Label
from sottovoce.data.targets import Classes
from sottovoce.data.validation import column_of
from sottovoce.errors import DataError, ParameterError
from sottovoce.losses import Loss
from sottovoce.regularizers import Regularizer
from sottovoce.results.result import Tolerance

OBSERVED = "observed"

_HARMLESS = (
    "Found array with",
    "Found input variables with inconsistent",
    "Input X contains",
    "Input y contains",
    "X has ",
    "The feature names should match",
    "Expected array-like (array or non-string sequence), got None",
    "y should be a 1d array",
    "n_samples=",
)
"""How messages of scikit-learn begin that hold names, shapes and counts only."""


def declared_classes(classes: Any, y: NDArray[Any]) -> NDArray[Any]:
    """The labels in ascending order: declared ones, or those of y if the label set is declared public."""
    if classes is None:
        raise ParameterError(
            'declare classes, the possible labels, for example classes=(0, 1) or classes=("no", "yes"). '
            'If the set of labels in y is itself public, say so: classes="observed".'
        )
    if isinstance(classes, str):
        if classes != OBSERVED:
            raise ParameterError('classes must be a tuple of labels, or "observed".', argument="classes")
        found = _observed(y)
        if found.size < 2:
            raise DataError("y holds one class only; two or more classes are needed. Declare classes=(...).")
        return found
    labels: list[Any] = sorted(Classes.declare(classes).labels)
    return np.array(labels)


def _observed(y: NDArray[Any]) -> NDArray[Any]:
    """The labels in y, if scikit-learn takes them for classes; its refusal, or an object's, may quote one."""
    with suppress(Exception):
        labels = np.asarray(y.tolist()) if y.dtype.kind == "O" else y
        check_classification_targets(labels)
        return np.unique(labels)
    raise DataError(
        "Unknown label type: y must hold classes, all text or all whole numbers. "
        "Convert it, or declare classes=(...)."
    )


def labels_of(classes: NDArray[Any]) -> tuple[Label, ...]:
    return tuple(classes.tolist())


def counts(
    n: int,
    sample_weight: Any,
    cap: float | None,
    y: Any = None,
    labels: tuple[Label, ...] = (),
    class_weight: object = None,
) -> Vector | None:
    """What each record counts, by `data.weights.counts`; None where all count 1."""
    shares = () if class_weight is None else weighing.declared_class_weights(class_weight, labels)
    if cap is not None:
        weighing.declared_cap(cap, sample_weight)
    elif sample_weight is not None:
        raise ParameterError(
            "declare weight_cap, the most that a record may count by its sample_weight, from what is known "
            "without the data: weights above it are clipped to it."
        )
    if sample_weight is None and not shares:
        return None
    weights = None if sample_weight is None else cells.numbers(column_of(sample_weight, n, "sample_weight"))
    codes = cells.codes(cells.array(y), labels) if shares else None
    return weighing.counts(n, weights=weights, cap=cap or 1.0, codes=codes, class_weights=shares)


def declared_loss(loss: str | Loss) -> Loss:
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return losses.by_text(loss)
    raise ParameterError(
        'loss must be a name such as "logistic" or "cauchy:0.2", or a loss object.', argument="loss"
    )


def declared_regularizer(regularizer: str | Regularizer, strength: float) -> Regularizer:
    if isinstance(regularizer, Regularizer):
        return regularizer
    if isinstance(regularizer, str):
        return regularizers.by_name(regularizer, strength)
    raise ParameterError('regularizer must be "l2", "tukey" or a regularizer object.', argument="regularizer")


def declared_tolerance(tolerance: float | Tolerance | None) -> Tolerance | None:
    """A plain number is the gradient's tolerance."""
    if tolerance is None or isinstance(tolerance, Tolerance):
        return tolerance
    return Tolerance(gradient=tolerance)


def declared_flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False.", argument=name)
    return bool(value)


def declared_radius(radius: float) -> float:
    real = isinstance(radius, int | float | np.integer | np.floating) and not isinstance(radius, bool)
    with suppress(OverflowError):
        if real and 0 < float(radius) < 1e300:
            return float(radius)
    raise ParameterError(
        "radius, the longest row that is not shrunk, must be a positive finite number.", argument="radius"
    )


def checked(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = False) -> Any:
    """scikit-learn's `validate_data`; where its refusal would quote data, another text is raised instead.

    Objects in a table may raise what they like, so whatever comes is replaced, once it is forgotten. A list y
    becomes an array of objects first: NumPy would give all its labels one type."""
    if isinstance(y, Sequence) and not isinstance(y, str):
        y = cells.one_by_one(y)
    try:
        with np.errstate(all="ignore"):
            return validate_data(
                estimator, X, y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
            )
    except Exception as error:
        replacement = _unquoted(error)
    raise replacement


def _unquoted(error: Exception) -> Exception:
    text = str(error)
    if text.startswith(_HARMLESS) or "requires y to be passed" in text:
        return DataError(text)
    if text.startswith("Expected 2D array"):
        return DataError(
            "X must have two dimensions. Reshape your data: X.reshape(-1, 1) for a single feature, "
            "X.reshape(1, -1) for a single record."
        )
    if text.startswith("Complex data not supported"):
        return DataError("Complex data not supported. Split it into real and imaginary columns.")
    if isinstance(error, TypeError):
        return TypeError("an entry of X or y is no number: the argument must be a string or a real number.")
    return DataError("X or y cannot be read as numbers. Encode text and dates first, see BoundedEncoder.")
