"""BoundedEncoder: declared columns of a dataframe become rows of norm at most 1, by declared bounds alone."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from sottovoce.data.encoding import encoded_table, feature_names
from sottovoce.data.schema import Schema
from sottovoce.errors import ParameterError


class BoundedEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Numbers to [-1, 1] by declared bounds, declared categories to indicators, a constant last column.

    Everything is divided by sqrt(blocks), as many as columns, interactions and the constant, so that every
    row has norm at most 1 and none is distorted.
    `fit` learns nothing: two tables with the same schema are encoded alike, cell by cell. The rules:

    - a cell is read by itself, whatever the type of its column: 3, 3.0, Decimal("3") and the text "3" are one
      value; True, 1 and the text "true" are one; other text is matched to the letter, spaces around it aside
      (`trim`) and, if the schema says `fold`, whether letters are large;
    - a number outside its bounds, infinity included, is clipped to them; one that is missing or no number
      (null, NaN, other text, dates, other objects) goes to the middle, where it adds nothing;
    - a category that is missing or undeclared has no indicator: zeros;
    - columns that the schema does not name, the target among them, are ignored; absent ones are refused.
      Types never are: where all others are missing, one cell decides what type pandas gives a column.

    Takes any table: a file, pandas, polars, pyarrow, an Arrow stream. The constant column is the intercept:
    follow with `PrivateClassifier(fit_intercept=False)`, whose default radius of 1 then fits exactly.

    schema: a Schema, or the path of a .toml or .json file."""

    def __init__(self, schema: Schema | str | os.PathLike[str]) -> None:
        self.schema = schema

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Learns nothing; checks the schema."""
        schema = self._declared()
        self.n_features_in_ = len(schema.columns)
        self.feature_names_in_ = np.array(schema.names, dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Encoded rows in float32, one column for each name of `get_feature_names_out`."""
        schema = self._declared()
        return encoded_table(schema, X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names such as "age", "region=north" and, last, "intercept"."""
        return np.array(feature_names(self._declared()), dtype=object)

    def _declared(self) -> Schema:
        if isinstance(self.schema, Schema):
            return self.schema
        if isinstance(self.schema, str | os.PathLike):
            return Schema.load(self.schema)
        raise ParameterError("schema must be a Schema or the path of a schema file.", argument="schema")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
