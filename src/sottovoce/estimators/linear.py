"""scikit-learn estimators: what private linear models share, and a private linear classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.budget import declared_delta
from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.estimators import declarations as declared
from sottovoce.estimators.curves import LINEAR, CurvedRows, Curves, declared_columns, declared_model
from sottovoce.estimators.publishing import Publishable, require_at_hand
from sottovoce.estimators.summaries import Summarized
from sottovoce.estimators.surroundings import warn_of_outer_fit
from sottovoce.estimators.unit_ball import into_unit_ball, row_products
from sottovoce.losses import Logistic, Loss
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.regularizers import Regularizer
from sottovoce.results.result import Result, Tolerance
from sottovoce.training import minimize

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.features.additive import Additive
    from sottovoce.methods.base import Method

    RiskOf = Callable[[Records], Risk | SoftmaxRisk]

SOFTMAX = "softmax"


class PrivateLinear(Summarized, Publishable):
    """What classifier and regressor share: rows into the unit ball, training, coefficients in X's units."""

    epsilon: float
    delta: float | str | None
    loss: str | Loss
    regularizer: str | Regularizer
    strength: float
    radius: float
    fit_intercept: bool
    method: str | Method
    tolerance: float | Tolerance | None
    ledger: Ledger | None
    simulate: int | None
    relation: str
    inference: float
    weight_cap: float | None
    model: str
    bounds: Any

    def _keep(self, given: dict[str, Any]) -> None:
        """Parameters as given, each under its name: all that scikit-learn lets a constructor do."""
        for name in self._get_param_names():
            if name in given:
                setattr(self, name, given[name])

    def _records(self, X: Any, y: Any, **what: Any) -> Records:
        """Features are divided by `radius` and shrunk to norm 1 first; then the constant 1 joins them."""
        features = into_unit_ball(X, declared.declared_radius(self.radius), kept=np.float32)
        intercept = declared.declared_flag("fit_intercept", self.fit_intercept)
        longest = math.sqrt(2.0) if intercept else 1.0
        return Records.from_arrays(features, y, radius=longest, intercept=intercept, **what)

    def _fitted(self, X: Any, y: Any, loss: Loss, risk_of: RiskOf, resume: str | None, **what: Any) -> Matrix:
        """Weights of each output: of the columns of X, or of their features in a model with curves."""
        for stale in ("coef_", "intercept_", "curves_", "marginals_"):
            self.__dict__.pop(stale, None)
        if declared_model(self.model) == LINEAR:
            return self._train(risk_of(self._records(X, y, **what)), resume)
        if self.inference or not declared.declared_flag("fit_intercept", self.fit_intercept):
            raise ParameterError(
                "curves have an intercept and no coefficients per unit of X: leave inference and "
                "fit_intercept=False out, or declare a schema, see sottovoce.fit."
            )
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(X.shape[1])])
        rows = CurvedRows(declared_columns(self.bounds, tuple(map(str, names))))

        def over(features: Any, indicators: Any) -> Risk | SoftmaxRisk:
            return risk_of(Records.from_arrays(features, y, constant=True, indicators=indicators, **what))

        staged = rows.staged(X, over, self._budget, self.model, loss)
        weights = self._train(staged, resume)
        self.curves_ = Curves(rows, staged.schema, weights)
        self.marginals_ = staged.marginals
        return weights

    def _budget(self, n: int) -> Budget:
        return Budget(self.epsilon, declared_delta(self.delta, n), self.relation)

    def _train(self, risk: Risk | SoftmaxRisk | Additive, resume: str | None) -> Matrix:
        """Weights of each output, shape (outputs, columns), after everything public is stored."""
        require_at_hand(self.ledger)
        warn_of_outer_fit()
        result: Result = minimize(
            risk,
            budget=self._budget(risk.n),
            method=self.method,
            tolerance=declared.declared_tolerance(self.tolerance),
            ledger=self.ledger,
            simulate=self.simulate,
            inference=self.inference,
            resume=resume,
        )
        self.result_ = result
        self.certificate_ = result.certificate
        self.guarantee_ = result.guarantee
        self.privacy_ = result.privacy
        return result.weights.reshape(risk.problem.outputs, -1)

    def _split(self, weights: Matrix) -> tuple[Matrix, Vector]:
        """Coefficients per unit of X, and intercepts."""
        features = weights[:, :-1] if self.fit_intercept else weights
        intercepts = weights[:, -1].copy() if self.fit_intercept else np.zeros(len(weights))
        return features / float(self.radius), intercepts

    def _scores(self, X: Any, coefficients: Matrix, intercepts: Vector) -> Matrix:
        """<x, w> + b with x shrunk as in training, before the product: no row is too long for it."""
        features = into_unit_ball(X, float(self.radius))
        return row_products(features, coefficients * float(self.radius)) + intercepts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.simulate is None
        return tags


def _gives_probabilities(estimator: Any) -> bool:
    named = isinstance(estimator.loss, str) and estimator.loss in ("logistic", SOFTMAX)
    return named or isinstance(estimator.loss, Logistic)


class PrivateClassifier(ClassifierMixin, PrivateLinear):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear classifier whose fit is (epsilon, delta)-differentially private, see `relation`.

    Two classes: any margin loss, by name or as an object. More: softmax, with one joint budget, for
    loss="logistic". Rows of X longer than `radius` are shrunk to it, in `fit` and when predicting; then
    everything is divided by `radius` and the constant 1 joins as the intercept's column, so that no row
    within the radius is distorted and results do not depend on the unit of X. `strength` regularizes weights
    in these units, never the intercept.

    epsilon, delta: the budget of each fit; delta also as "1/n^1.1". classes: the possible labels, or
    "observed" if the set of labels in y is public. tolerance: None spends the whole budget on a good model; a
    number or Tolerance stops at the first certified point. ledger: a budget shared by several fits; clones
    share it. simulate: a seed; reproducible and not private. inference: the part of the budget for
    `summary()`. relation: "replace-one", between data sets in which one record is another, or "zero-out", in
    which one counts nothing. class_weight: {label: weight}, declared constants, 1 for labels left out.
    weight_cap: the largest sample weight of `fit`, declared; larger ones are clipped to it. A record counts
    its weight over the cap times its class's over the largest, so that privacy costs what it costs without
    weights; the minimizer of that weighted mean is estimated, and probabilities are those of a population so
    weighted. model: "linear"; "additive", a curve of every column of X; "smooth", with surfaces of pairs that
    act together; or "auto", what is worth it of both. Curves need bounds=(low, high), declared ranges of the
    columns, two numbers or one a column; `radius` is not used then, and there are curves_ and marginals_,
    which are released, in place of coef_ and intercept_.

    Attributes: classes_, coef_, intercept_, result_, certificate_, guarantee_, privacy_, n_features_in_,
    feature_names_in_. They are noisy or public: a fitted estimator may be published. Its pickle leaves the
    ledger behind, and then refuses another fit until it is given one.

    Formal guarantee: what fit stores is (epsilon, delta)-DP, given that n, shapes, column names and all
    parameters are public. Fits compose: without a ledger nothing counts them. predict_proba exists for
    "logistic" alone: other losses order records but give no probabilities."""

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | str | None = None,
        relation: str = "replace-one",
        ledger: Ledger | None = None,
        simulate: int | None = None,
        inference: float = 0.0,
        classes: Any = None,
        radius: float = 1.0,
        fit_intercept: bool = True,
        loss: str | Loss = "logistic",
        regularizer: str | Regularizer = "l2",
        strength: float = 1e-6,
        method: str | Method = "auto",
        tolerance: float | Tolerance | None = None,
        class_weight: Any = None,
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
        """Train privately on a dense array, a sparse matrix or a dataframe of numbers.

        `sample_weight` says what each row counts, up to the declared `weight_cap`. `groups` holds the key of
        each row's person: the guarantee is then theirs, as `Records.from_arrays` says; `persons` declares how
        many there are. `resume` goes on with a run in a ledger file that was interrupted or had to be
        approved, by its identity, with the same rows."""
        X, y = declared.checked(self, X, y, reset=True)
        declared_delta(self.delta, X.shape[0])
        classes = declared.declared_classes(self.classes, y)
        people = {"groups": groups, "persons": persons}
        labels = declared.labels_of(classes)
        counts = declared.counts(len(y), sample_weight, self.weight_cap, y, labels, self.class_weight)
        loss = self._loss_for(len(classes))

        def risk_of(records: Records) -> Risk | SoftmaxRisk:
            regularizer = declared.declared_regularizer(self.regularizer, self.strength)
            if len(classes) > 2:
                return SoftmaxRisk(records, regularizer)
            return Risk(records, loss, regularizer)

        what = {"labels": labels, "sample_weight": counts, **people}
        weights = self._fitted(X, y, loss, risk_of, resume, **what)
        if not hasattr(self, "curves_"):
            self.coef_, self.intercept_ = self._split(weights)
        self.classes_ = classes
        return self

    def _loss_for(self, classes: int) -> Loss:
        if classes == 2:
            named = isinstance(self.loss, str) and self.loss == SOFTMAX
            return Logistic() if named else declared.declared_loss(self.loss)
        if not _gives_probabilities(self):
            raise ParameterError(
                f"with {classes} classes the loss must be 'logistic' (softmax); others take two classes."
            )
        return Logistic()

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: one a record for two classes, positive for the second; one a class for more."""
        check_is_fitted(self, "result_")
        X = declared.checked(self, X)
        curves: Curves | None = getattr(self, "curves_", None)
        scores = self._scores(X, self.coef_, self.intercept_) if curves is None else curves.scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score. Exact predictions on private records are for their owner."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, columns in the order of classes_."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(softmax(scores, axis=1))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy. Exact: for the owner of X and y only; to publish it, use `evaluation.accuracy`."""
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # a private fit on the few dozen records of scikit-learn's own checks is mostly noise, by design
        tags.classifier_tags.poor_score = True
        return tags
