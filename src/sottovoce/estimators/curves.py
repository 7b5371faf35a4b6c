"""Curves in estimators: columns of X with declared bounds, read as the columns of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import sparse

from sottovoce.data.encoding import encoded_table
from sottovoce.data.layout import RowLayout
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.errors import ParameterError
from sottovoce.estimators.unit_ball import row_products
from sottovoce.features.additive import Additive
from sottovoce.features.curves import MODELS, may_bend
from sottovoce.features.marginals import coded
from sottovoce.features.pairs import may_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting import Budget
    from sottovoce.arrays import Matrix
    from sottovoce.losses import Loss
    from sottovoce.models.linear import Risk
    from sottovoce.models.softmax import SoftmaxRisk

LINEAR = "linear"


def declared_model(model: Any) -> str:
    if not isinstance(model, str) or model not in MODELS:
        raise ParameterError(f"model must be one of {', '.join(map(repr, MODELS))}.", argument="model")
    return model


def declared_columns(bounds: Any, names: tuple[str, ...]) -> tuple[Numeric, ...]:
    """A column for each of X, with its declared range: `bounds` is (low, high), numbers or one a column."""
    try:
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (len(names),)) for end in bounds)
    except (TypeError, ValueError):
        raise ParameterError(
            "curves need bounds=(low, high), the ranges of the columns of X from what is known without the "
            "data: two numbers, or two arrays of one number a column. Numbers beyond are clipped."
        ) from None
    return tuple(Numeric(name, *ends) for name, *ends in zip(names, low.tolist(), high.tolist(), strict=True))


@final
@dataclass(frozen=True, eq=False)
class CurvedRows:
    """Rows of X as a schema's features, `columns` being those of X."""

    columns: tuple[Numeric, ...]

    def encoded(self, X: Any, schema: Schema, kept: type[np.floating[Any]]) -> NDArray[Any]:
        import pyarrow as pa

        if sparse.issparse(X):
            raise ParameterError("curves take dense rows: X.toarray(), or model='linear'.")
        table = {
            column.name: np.asarray(X[:, place], dtype=np.float64)
            for place, column in enumerate(self.columns)
        }
        return np.asarray(encoded_table(schema, pa.table(table), kept))

    def staged(
        self,
        X: Any,
        risk_of: Callable[..., Risk | SoftmaxRisk],
        budget_of: Callable[[int], Budget],
        model: str,
        loss: Loss,
    ) -> Additive:
        """The risk of a model with curves; `risk_of` makes one of encoded rows and what is known of them."""
        schema = Schema(self.columns, Target("target", classes=(0, 1)))

        def risk_over(declared: Schema) -> Risk | SoftmaxRisk:
            indicators = RowLayout.of(declared).indicators
            return risk_of(self.encoded(X, declared, np.float32), indicators)

        names = may_bend(model, schema, loss)
        if not names:
            raise ParameterError("model='auto' makes no curves of this loss. Take 'linear' or 'additive'.")
        first = risk_over(coded(schema))
        return Additive(
            schema,
            first,
            risk_over,
            budget_of(first.n),
            names=names,
            chooses=model == "auto",
            pairs=may_pair(model, schema, first.n),
            narrows=True,
        )


@final
@dataclass(frozen=True, eq=False)
class Curves:
    """What an estimator with curves learned: the features of its rows, and a row of weights an output."""

    rows: CurvedRows
    schema: Schema
    weights: Matrix

    def scores(self, X: Any) -> Matrix:
        return row_products(self.rows.encoded(X, self.schema, np.float64), self.weights)
