"""Pipelines that a search may train: steps that learn nothing, and one private estimator at the end.

The guarantee of a search is that of its private fits, so nothing else may carry a fact from one record to the
prediction for another. A step that learns (a mean, a variance, a vocabulary, a selection of columns) does so
outside the budget. Whether a class learns cannot be seen from outside: those below were read one by one, and
the rest is refused. Subclasses are refused too: they may override `fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import scipy.special
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures

from sottovoce.data.encoder import BoundedEncoder
from sottovoce.errors import ParameterError
from sottovoce.estimators.linear import PrivateClassifier, PrivateLinear
from sottovoce.estimators.regressor import PrivateRegressor

LEFT_ALONE = (None, "passthrough", "drop")
"""What scikit-learn takes in place of a step."""

_PRIVATE = (PrivateClassifier, PrivateRegressor)


def private_part(estimator: Any) -> tuple[str, PrivateLinear]:
    """The private estimator at the end, and the prefix of its parameters' names; all else is refused."""
    prefix, last = "", estimator
    while type(last) is Pipeline:
        _require_plain(last, prefix)
        for name, step in last.steps[:-1]:
            require_learns_nothing(step, prefix + name)
        name, last = last.steps[-1]
        prefix += f"{name}__"
    if type(last) not in _PRIVATE:
        raise ParameterError(
            "estimator must be a PrivateClassifier, a PrivateRegressor or a Pipeline that ends in one, not "
            f"{_called(last, prefix.removesuffix('__'))}. Around it, meta-estimators fit or weigh records by "
            "rules of their own, which no budget here covers.",
            argument="estimator",
        )
    return prefix, last


def require_learns_nothing(step: Any, name: str) -> None:
    """Refuse a step unless each row it gives is a function of that row and of declared parameters."""
    if isinstance(step, str | None) and step in LEFT_ALONE:
        return
    if type(step) is Pipeline:
        _require_plain(step, name)
    elif type(step) is ColumnTransformer:
        _require_named_columns(step, name)
    elif type(step) is not FeatureUnion:
        check = STATELESS.get(type(step))
        if check is None:
            _refuse(step, name, "it may learn from the data")
        reason = check(step)
        if reason:
            _refuse(step, name, reason)
    for inner, part in _inside(step):
        require_learns_nothing(part, f"{name}__{inner}")


def _inside(step: Any) -> Iterator[tuple[str, Any]]:
    match step:
        case Pipeline():
            yield from step.steps
        case FeatureUnion():
            yield from step.transformer_list
        case ColumnTransformer():
            yield from ((name, part) for name, part, _ in step.transformers)
            yield "remainder", step.remainder


def _always(step: Any) -> str:
    return ""


def _elementwise(step: Any) -> str:
    """NumPy's and SciPy's own functions of one number; any other function is handed all rows at once.

    With an inverse, scikit-learn would try both on the data and warn if they do not fit."""
    if step.func is not None:
        known = any(
            getattr(module, getattr(step.func, "__name__", ""), None) is step.func
            for module in (np, scipy.special)
        )
        if not (known and isinstance(step.func, np.ufunc) and step.func.nin == step.func.nout == 1):
            return "its function is handed all rows at once; only NumPy's functions of one number are known"
        if step.func.signature is not None or step.kw_args:
            return "its function must be called without kw_args"
    if step.inverse_func is not None and step.check_inverse:
        return "check_inverse=True would try the inverse on the data; set it to False"
    return ""


STATELESS: dict[type, Callable[[Any], str]] = {
    BoundedEncoder: _always,  # each cell by declared bounds and categories
    Normalizer: _always,  # each row divided by its own norm
    Binarizer: _always,  # each entry compared with a declared threshold
    PolynomialFeatures: _always,  # products of the entries of a row; fit counts columns
    FunctionTransformer: _elementwise,
}
"""Steps that learn nothing, each with a check of its parameters that gives the reason to refuse it."""


def _require_plain(pipeline: Pipeline, name: str) -> None:
    if pipeline.memory is not None:
        _refuse(pipeline, name.removesuffix("__"), "memory= would keep rows on disk; leave it out")
    if getattr(pipeline, "transform_input", None) is not None:
        _refuse(pipeline, name.removesuffix("__"), "transform_input= is not supported")


def _require_named_columns(step: ColumnTransformer, name: str) -> None:
    if any(callable(columns) for _, _, columns in step.transformers):
        _refuse(step, name, "a callable would choose its columns by looking at the data; name them")
    if step.sparse_threshold != 0:
        _refuse(
            step,
            name,
            "whether its result is sparse would depend on how many entries are zero; set sparse_threshold=0",
        )


def _called(step: Any, name: str) -> str:
    kind = type(step).__name__
    return f"step {name!r} ({kind})" if name else kind


def _refuse(step: Any, name: str, reason: str) -> NoReturn:
    known = ", ".join(sorted(kind.__name__ for kind in STATELESS))
    raise ParameterError(
        f"{_called(step, name)} cannot be in a private search: {reason}. Nothing was charged. Steps that "
        f"learn nothing are {known}, alone or in a Pipeline, FeatureUnion or ColumnTransformer. Instead of a "
        "scaler, declare bounds in a schema and use BoundedEncoder; choose columns without the data."
    )
