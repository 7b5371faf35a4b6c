"""Summaries of fitted estimators: coefficients per unit of X with standard errors, tests and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sottovoce.errors import ParameterError
from sottovoce.results.inference.terms import INTERCEPT, UserTerms
from sottovoce.results.result import NO_FINDINGS

if TYPE_CHECKING:
    from sottovoce.results.inference.summary import Summary
    from sottovoce.results.result import Result


class Summarized:
    """An estimator that trained with a part of the budget set aside for `inference`."""

    result_: Result
    radius: float

    def summary(self, names: Sequence[str] | None = None, **options: Any) -> Summary:
        """Estimates per unit of X; asks nothing. Options: level, exp, simultaneous and within.

        Names are those of the dataframe that was fitted, or x0, x1, ..."""
        check_is_fitted(self, "result_")
        found = self.result_.inference
        if found is None:
            raise ParameterError(NO_FINDINGS)
        columns = found.weights.size // found.outputs
        features = columns - (found.constant is not None)
        known = getattr(self, "feature_names_in_", None) if names is None else names
        named = [f"x{place}" for place in range(features)] if known is None else [str(name) for name in known]
        if len(named) != features:
            raise ParameterError(f"names must hold {features} names, one for each column.", argument="names")
        middle, reach = self._target_scale()
        scales = np.full(columns, reach / float(self.radius))
        offset = np.zeros(columns)
        if found.constant is not None:
            named.append(INTERCEPT)
            scales[-1], offset[-1] = reach, middle
        outputs = tuple(map(str, getattr(self, "classes_", ()))) if found.outputs > 1 else ()
        counts = bool(getattr(self, "_counts", False))
        terms = UserTerms(
            tuple(named),
            np.diag(scales),
            offset,
            outputs=outputs,
            chances=found.likelihood or counts,
            ratio="rate ratio" if counts else "odds ratio",
        )
        return self.result_.summary(terms=terms, **options)

    def _target_scale(self) -> tuple[float, float]:
        """Middle and half of the range that targets were mapped from; of classes, none."""
        return 0.0, 1.0
