"""A model as a fitted scikit-learn Pipeline that predicts without Sottovoce.

It takes a pandas frame with the declared columns: numbers for numbers, text for text. A text is matched as
the schema spells it, once trimmed and folded; one that spells a declared number otherwise is not. Every step
is a stock object of scikit-learn with a function of NumPy at most; `TRUSTED` names them for skops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.data.cell import SPACES
from sottovoce.data.columns import Categorical, Column, Number
from sottovoce.data.numbers import TRANSFORMS, Binned, Numeric, Spline
from sottovoce.data.schema import Schema
from sottovoce.errors import ParameterError
from sottovoce.exports.scorecard import (
    Scorecard,
    is_text,
    missing_numbers,
    missing_texts,
    to_the_letter,
)

_HUGE, _SENTINEL = 1e300, 2e300
TRUSTED = (
    *("numpy.asarray", "numpy.clip", "numpy.dtype", "numpy.nan_to_num", "numpy.strings.lower"),
    *("numpy.strings.strip", "numpy._core.strings.lower", "numpy._core.strings.strip"),
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
)
"""What `skops.io.load(file, trusted=TRUSTED)` must be told: names of NumPy and SciPy, no code of ours.

Those of `numpy._core` are what NumPy 2.0 calls the functions of `numpy.strings`."""


class Encoding(NamedTuple):
    """A fitted transformer of one column, and the map from its outputs to our features."""

    steps: Any
    features: NDArray[np.float64]


def to_sklearn(card: Scorecard) -> Any:
    """The Pipeline; `metadata_` of its last step says what is guaranteed."""
    from sklearn.compose import ColumnTransformer
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    card.refuse_dates("scikit-learn")
    columns = card.schema.columns
    encodings = {column.name: _encoding(card.schema, column) for column in columns}
    widths = [encodings[column.name].features.shape[1] for column in columns]
    starts = dict(zip(encodings, np.concatenate([[0], np.cumsum(widths)[:-1]]).tolist(), strict=True))
    spans = {
        name: list(range(start, start + encodings[name].features.shape[1])) for name, start in starts.items()
    }
    first = ColumnTransformer(
        [
            (f"column {place}", FrozenEstimator(encodings[column.name].steps), [column.source])
            for place, column in enumerate(columns)
        ]
    )
    main = np.zeros((len(card.constants), sum(widths)))
    crossed: list[Any] = []
    coefficients = [main]
    for part, weights in card.blocks:
        if len(part) == 1:
            main[:, spans[part[0].name]] += weights @ encodings[part[0].name].features
            continue
        left, right = (encodings[column.name].features for column in part)
        held = [*spans[part[0].name], *spans[part[1].name]]
        cross, chosen = _products(left.shape[1], right.shape[1])
        full = np.zeros((len(card.constants), cross.n_output_features_))
        full[:, chosen] = np.einsum("kij,ia,jb->kab", weights, left, right).reshape(len(full), -1)
        crossed.append((f"pair {len(crossed)}", cross, held))
        coefficients.append(full)
    second = ColumnTransformer([("alone", "passthrough", list(range(sum(widths)))), *crossed])
    names = list(dict.fromkeys(column.source for column in columns))
    first.fit(_blank(card.schema, names))
    second.fit(np.zeros((1, sum(widths))))
    last = _last(card, np.hstack(coefficients))
    return Pipeline([("encode", first), ("cross", second), ("score", last)])


def _encoding(schema: Schema, column: Column) -> Encoding:
    if isinstance(column, Categorical):
        return _texts(schema, column) if is_text(column) else _codes(schema, column)
    assert isinstance(column, Number)
    return _numbers(schema, column)


def _numbers(schema: Schema, column: Number) -> Encoding:
    """Features at a stand-in where the number is missing, and an indicator whose weight takes them back."""
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import FeatureUnion, Pipeline
    from sklearn.preprocessing import SplineTransformer, StandardScaler

    low, high = (column.low, column.high) if isinstance(column, Numeric | Spline) else (-_HUGE, _HUGE)
    stand_in = max(low, min(high, 0.0))
    fill = SimpleImputer(missing_values=_SENTINEL, strategy="constant", fill_value=stand_in)
    steps: list[Any] = [("fill", fill)]
    steps.append(("clip", _function(np.clip, a_min=low, a_max=high)))
    if isinstance(column, Numeric | Spline) and column.transform is not None:
        steps.append(("transform", _function(TRANSFORMS[column.transform])))
    if isinstance(column, Numeric):
        middle, reach = column.constants
        steps.append(("scale", StandardScaler()))
        steps.append(("bound", _function(np.clip, a_min=-1.0, a_max=1.0)))
    elif isinstance(column, Spline):
        knots = np.array([column.breaks]).T
        steps.append(("spline", SplineTransformer(knots=knots, degree=3, extrapolation="constant")))
    else:
        assert isinstance(column, Binned)
        steps.append(("bins", _binned(column)))
    known = Pipeline(steps)
    known.fit(np.array([[low], [high]]))
    if isinstance(column, Numeric):
        scaler = known.named_steps["scale"]
        scaler.mean_, scaler.scale_, scaler.var_ = np.array([middle]), np.array([reach]), np.array([reach**2])
    both = FeatureUnion(
        [
            ("known", known),
            ("missing", MissingIndicator(missing_values=_SENTINEL, features="all", error_on_new=False)),
        ]
    )
    both.transformer_list[1][1].fit(np.zeros((1, 1)))
    at_stand_in = column.basis(np.array([stand_in]))[0]
    count = len(at_stand_in)
    features = np.zeros((len(column.features), count + 1))
    features[:count, :count] = np.eye(count)
    features[:count, -1] = -at_stand_in
    if column.indicator:
        features[-1, -1] = 1.0
    return Encoding(Pipeline([*_numbers_or_sentinel(schema, column), ("both", both)]), features)


def _numbers_or_sentinel(schema: Schema, column: Column) -> list[Any]:
    """Numbers within reach of scikit-learn's sums; what is missing, or means it, as one beyond them."""
    from sklearn.impute import SimpleImputer

    found: list[Any] = [("numbers", _function(np.asarray, dtype="float64"))]
    found.append(("finite", _function(np.clip, a_min=-_HUGE, a_max=_HUGE)))
    found.append(("missing", _function(np.nan_to_num, nan=_SENTINEL)))
    for place, code in enumerate(missing_numbers(schema, column)):
        imputer = SimpleImputer(missing_values=code, strategy="constant", fill_value=_SENTINEL)
        found.append((f"missing {place}", imputer.fit(np.zeros((1, 1)))))
    return found


def _binned(column: Binned) -> Any:
    from sklearn.frozen import FrozenEstimator
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

    edges = np.array([-2.0 * _HUGE, *column.edges, 2.0 * _HUGE])
    made = KBinsDiscretizer(n_bins=2, encode="onehot-dense", strategy="uniform")
    made.fit(np.array([[0.0], [1.0]]))
    made.bin_edges_ = np.array([edges], dtype=object)
    made.n_bins_ = np.array([len(edges) - 1])
    places = OneHotEncoder(categories=[np.arange(len(edges) - 1)], sparse_output=False)
    made._encoder = places.fit(np.zeros((1, 1)))  # noqa: SLF001  # no public way to edges of one's own
    return FrozenEstimator(made)


def _texts(schema: Schema, column: Categorical) -> Encoding:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    labels = [str(label) for label in column.categories]
    spelling = schema.spelling
    if to_the_letter(schema, column.categories):
        raise ParameterError(
            f"scikit-learn cannot tell apart the categories of column {column.name!r}: they differ by spaces "
            "or case alone. Use to_sql or to_onnx."
        )
    known = [spelling.plain(label) for label in labels]
    absent = [text for text in missing_texts(schema, column) if column.indicator and text not in known]
    no_nan = SimpleImputer(missing_values=np.nan, strategy="constant", fill_value="")
    no_none = SimpleImputer(missing_values=None, strategy="constant", fill_value="")
    one_text = np.array([["text"]], dtype=object)
    steps: list[Any] = [("cells", _function(np.asarray, dtype="object"))]
    steps += [("no NaN", no_nan.fit(one_text)), ("no None", no_none.fit(one_text))]
    steps.append(("text", _function(np.asarray, dtype="U")))
    steps += [("trim", _function(np.char.strip, chars=SPACES))] if spelling.trim else []
    steps += [("fold", _function(np.char.lower))] if spelling.fold else []
    one_hot = OneHotEncoder(categories=[[*known, *absent]], handle_unknown="ignore", sparse_output=False)
    one_hot.fit(np.array([[known[0]]], dtype="U"))
    features = np.zeros((len(column.features), len(known) + len(absent)))
    features[: len(known), : len(known)] = np.eye(len(known))
    features[-1, len(known) :] = 1.0 if absent else 0.0
    return Encoding(Pipeline([*steps, ("one hot", one_hot)]), features)


def _codes(schema: Schema, column: Categorical) -> Encoding:
    """Numbers or truth values, with the missing ones among the categories where an indicator asks for it."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    known = [float(label) for label in column.categories]
    missing = [code for code in missing_numbers(schema, column) if code not in known]
    order = sorted([*known, *missing, _SENTINEL]) if column.indicator else sorted(known)
    one_hot = OneHotEncoder(categories=[order], handle_unknown="ignore", sparse_output=False)
    one_hot.fit(np.array([[known[0]]]))
    features = np.zeros((len(column.features), len(order)))
    for place, code in enumerate(order):
        features[known.index(code) if code in known else -1, place] = 1.0
    steps = _numbers_or_sentinel(schema, column)[:3]
    return Encoding(Pipeline([*steps, ("one hot", one_hot)]), features)


def _products(left: int, right: int) -> tuple[Any, list[int]]:
    """Products of all pairs, and where those of one from the left and one from the right stand."""
    from sklearn.preprocessing import PolynomialFeatures

    made = PolynomialFeatures(degree=2, interaction_only=True, include_bias=False).fit(
        np.zeros((1, left + right))
    )
    places = {tuple(np.flatnonzero(powers).tolist()): place for place, powers in enumerate(made.powers_)}
    return made, [places[first, left + second] for first in range(left) for second in range(right)]


def _last(card: Scorecard, coefficients: NDArray[np.float64]) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.svm import LinearSVC

    made: Any
    if card.classes is None:
        made = LinearRegression()
        made.coef_, made.intercept_ = coefficients[0], float(card.constants[0])
    else:
        made = LogisticRegression() if card.probabilities else LinearSVC()
        made.coef_, made.intercept_ = coefficients, card.constants.copy()
        made.classes_ = np.array(card.classes)
    made.n_features_in_ = coefficients.shape[1]
    if card.highest is not None:
        made = _counting(made, card.highest)
    made.metadata_ = dict(card.facts)
    return made


def _counting(linear: Any, highest: float) -> Any:
    """e^score, cut off: a regressor of logarithms whose predictions are taken back."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    cut = FunctionTransformer(inverse_func=np.clip, inv_kw_args={"a_min": 0.0, "a_max": highest})
    back = Pipeline([("cut", cut), ("exponential", FunctionTransformer(inverse_func=np.exp))])
    made = TransformedTargetRegressor(linear, transformer=back)
    made.regressor_, made.transformer_, made._training_dim = linear, back.fit(np.zeros((1, 1))), 1  # noqa: SLF001
    return made


def _blank(schema: Schema, names: list[str]) -> Any:
    """One row to learn the column names from."""
    try:
        import pandas as pd
    except ImportError:
        raise ParameterError("to_sklearn needs pandas: its pipeline takes dataframes. Install it.") from None
    texts = {
        column.source for column in schema.columns if isinstance(column, Categorical) and is_text(column)
    }
    return pd.DataFrame({name: [""] if name in texts else [0.0] for name in names})


def _function(function: Any, **options: Any) -> Any:
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(function, kw_args=options or None)
