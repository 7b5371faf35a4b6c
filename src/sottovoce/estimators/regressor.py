"""scikit-learn estimators: a private linear regressor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sottovoce.accounting import Ledger
from sottovoce.accounting.budget import declared_delta
from sottovoce.data.records import Records
from sottovoce.data.targets import Range
from sottovoce.errors import ParameterError
from sottovoce.estimators import declarations as declared
from sottovoce.estimators.curves import LINEAR, Curves
from sottovoce.estimators.linear import PrivateLinear
from sottovoce.losses import Kind, Loss, Poisson
from sottovoce.models.linear import Risk
from sottovoce.regularizers import Regularizer
from sottovoce.results.result import Tolerance

if TYPE_CHECKING:
    from sottovoce.methods.base import Method


class PrivateRegressor(RegressorMixin, PrivateLinear):  # type: ignore[misc]  # as above
    """A linear regressor whose fit is (epsilon, delta)-differentially private, see `relation`.

    `target=(low, high)` declares the range of y: targets are clipped to it and mapped to [-1, 1], where the
    loss is taken. So a loss's scale is in halves of the declared range: "pseudo-huber" with its scale of 1 is
    close to squares for residuals within the range, "least-squares" are squares throughout the range, and
    "cauchy:0.2" discounts those beyond a tenth of it.
    loss="poisson" with target=(0, high) takes counts: the logarithm of the expected count is linear,
    `predict` gives expected counts, `high` at most, and coefficients are changes of the logarithm. All else
    is as for PrivateClassifier."""

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | str | None = None,
        relation: str = "replace-one",
        ledger: Ledger | None = None,
        simulate: int | None = None,
        inference: float = 0.0,
        target: tuple[float, float] | None = None,
        radius: float = 1.0,
        fit_intercept: bool = True,
        loss: str | Loss = "pseudo-huber",
        regularizer: str | Regularizer = "l2",
        strength: float = 1e-6,
        method: str | Method = "auto",
        tolerance: float | Tolerance | None = None,
        weight_cap: float | None = None,
        model: str = LINEAR,
        bounds: Any = None,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        persons: int | None = None,
        resume: str | None = None,
    ) -> Self:
        """Train privately on y within the declared range; all else is as in `PrivateClassifier.fit`."""
        X, y = declared.checked(self, X, y, reset=True)
        declared_delta(self.delta, X.shape[0])
        if self.target is None:
            raise ParameterError(
                "declare target=(low, high), the range of y, from what is known without the data: "
                "targets outside are clipped to it."
            )
        bounds = Range.declare(self.target)
        clipped, usable = bounds.encode(y)
        loss = self._loss(bounds)
        middle, reach = self._target_scale()
        low, unit = (0.0, bounds.high) if loss.kind is Kind.COUNT else (middle, reach)
        scaled = np.where(usable, (clipped - low) / unit, np.nan)
        mapped = (0.0, 1.0) if loss.kind is Kind.COUNT else (-1.0, 1.0)
        people = {"groups": groups, "persons": persons}
        counts = declared.counts(len(scaled), sample_weight, self.weight_cap)
        regularizer = declared.declared_regularizer(self.regularizer, self.strength)

        def risk_of(records: Records) -> Risk:
            return Risk(records, loss, regularizer)

        what = {"target": mapped, "sample_weight": counts, **people}
        weights = self._fitted(X, scaled, loss, risk_of, resume, **what)
        if hasattr(self, "curves_"):
            return self
        coefficients, intercepts = self._split(weights)
        self.coef_ = reach * coefficients[0]
        self.intercept_ = float(middle + reach * intercepts[0])
        return self

    def _loss(self, bounds: Range) -> Loss:
        """The loss as declared; that of counts with their bound."""
        if not self._counts:
            return declared.declared_loss(self.loss)
        found = Poisson(bounds.high) if isinstance(self.loss, str) else self.loss
        if bounds.low != 0.0 or bounds.high < 1.0 or found != Poisson(bounds.high):
            raise ParameterError(
                "loss 'poisson' takes counts from 0 to a declared bound of at least 1: target=(0, 20)."
            )
        return found

    @property
    def _counts(self) -> bool:
        named = isinstance(self.loss, str) and self.loss == Poisson.name
        return named or isinstance(self.loss, Poisson)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted targets, or expected counts. Exact predictions on private records are for their owner."""
        check_is_fitted(self, "result_")
        X = declared.checked(self, X)
        curves: Curves | None = getattr(self, "curves_", None)
        if curves is None:
            scores = self._scores(X, self.coef_[None, :], np.array([self.intercept_]))[:, 0]
        else:
            middle, reach = self._target_scale()
            scores = middle + reach * curves.scores(X)[:, 0]
        if not self._counts or self.target is None:
            return scores
        with np.errstate(over="ignore"):
            return np.minimum(np.exp(scores), float(self.target[1]))

    def _target_scale(self) -> tuple[float, float]:
        """Middle and half of the range; of counts (0, 1): their scores are logarithms."""
        low, high = (-1.0, 1.0) if self._counts else map(float, self.target or (-1.0, 1.0))
        return low / 2.0 + high / 2.0, high / 2.0 - low / 2.0

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R squared. Exact: for the owner of X and y only; to publish an error, use `evaluation`."""
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # see PrivateClassifier
        tags.regressor_tags.poor_score = True
        return tags
