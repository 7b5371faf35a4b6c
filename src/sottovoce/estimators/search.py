"""PrivateSearch: train several candidate settings and choose one, all within one budget."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sottovoce._version import VERSION
from sottovoce.accounting import Budget, Currency, Ledger, Relation, Units
from sottovoce.accounting.budget import declared_delta
from sottovoce.accounting.guarantee import Guarantee
from sottovoce.accounting.resume import Resume
from sottovoce.arrays import Vector
from sottovoce.errors import ApprovalNeeded, ParameterError
from sottovoce.estimators.held_out import Split
from sottovoce.estimators.merits import merits
from sottovoce.estimators.pipelines import private_part
from sottovoce.estimators.publishing import LeftBehind, Publishable, require_at_hand
from sottovoce.estimators.regressor import PrivateRegressor
from sottovoce.estimators.rehearsal import rehearse, rehearsing, unquoted
from sottovoce.evaluation.rows import labelled, taken
from sottovoce.privacy.counting import Counted, CountOracle

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_RESERVED = ("epsilon", "delta", "ledger", "simulate", "relation")


def _winner_has(name: str, search: Any) -> bool:
    return hasattr(getattr(search, "best_estimator_", search.estimator), name)


class PrivateSearch(Publishable):
    """Fits every setting of a grid privately and keeps the one that does best on records held out.

    The budget covers everything: `selection_share` of it pays for the choice, the rest is divided equally
    over the k fits, so k candidates cost each about sqrt(k) more noise. Records are held out by their place
    in the table alone, spread evenly; each candidate is trained on the others. The choice is report noisy max
    over the number of right predictions (regression: over clipped absolute errors), epsilon_0-DP for the
    epsilon_0 its share buys. The winner is the model trained for the contest: a refit would cost as much
    again.

    estimator: a PrivateClassifier or PrivateRegressor, or a pipeline that ends in one and whose other steps
    learn nothing from data; any other step is refused. Before anything is charged, every candidate is
    rehearsed up to its first charge, so that what cannot be trained costs nothing. The estimator's own
    epsilon, delta, ledger, simulate and relation are replaced. candidates: a grid as in GridSearchCV, name ->
    list of values; steps may be among them.

    Attributes: best_estimator_, best_params_, best_index_, guarantee_ (of the whole search), results_ (one
    Result a candidate; each was paid for). No score is stored: to publish one, use `evaluation` on records
    that were not searched with."""

    def __init__(
        self,
        estimator: Any,
        candidates: Any,
        *,
        epsilon: float = 1.0,
        delta: float | str | None = None,
        selection_share: float = 0.05,
        held_out: float = 0.2,
        ledger: Ledger | None = None,
        simulate: int | None = None,
        relation: str = "replace-one",
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.epsilon = epsilon
        self.delta = delta
        self.selection_share = selection_share
        self.held_out = held_out
        self.ledger = ledger
        self.simulate = simulate
        self.relation = relation

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        persons: int | None = None,
        resume: str | None = None,
    ) -> Self:
        """Train every candidate, then choose. `sample_weight`, `groups` and `persons` are as for the
        estimators; people are held out whole, a fixed number of them, drawn in secret. In the choice each
        record, or person, counts once, whatever its weight. The whole budget is set aside in the ledger until
        the choice is made. With a ledger file `resume` goes on with a search that was interrupted, by its
        identity, with the same rows and settings: nothing is paid or drawn twice."""
        require_at_hand(self.ledger)
        if resume is not None and groups is not None:
            raise ParameterError(
                "a search over persons cannot go on: who was held out is drawn and kept nowhere."
            )
        labels = labelled(X, y)
        private_part(self.estimator)
        settings = _settings(self.candidates, set(self.estimator.get_params(deep=True)))
        contest = [_candidate(self.estimator, setting) for setting in settings]
        for name in ("selection_share", "held_out"):
            share = getattr(self, name)
            if not (isinstance(share, float) and 0.0 < share < 1.0):
                raise ParameterError(f"{name} must lie strictly between 0 and 1.", argument=name)
        relation = Relation.of(self.relation)
        split = Split.of(len(labels), self.held_out, groups, persons, relation, sample_weight, self.simulate)
        test = split.test
        budget = Budget(self.epsilon, declared_delta(self.delta, split.n), self.relation)
        account = Ledger(budget, unit=split.unit) if self.ledger is None else self.ledger
        if groups is not None and account.waits(budget):
            raise ApprovalNeeded(
                "searches of this size need approval in this account, and one over persons cannot wait: who "
                "was held out is drawn and kept nowhere. Nothing was charged. Give it a smaller epsilon."
            )
        with CountOracle.open(
            budget,
            "search",
            account,
            self.simulate,
            unit=split.unit,
            declared=self._facts(settings, split.n),
            resume=Resume.of(resume),
            parts=len(settings),
        ) as oracle:
            fitted = self._contest(contest, oracle, X, labels, split)
            choosing = self._choosing(oracle)

            def found() -> list[Vector]:
                held_X, held_y = _rows(X, test), labels[test]
                return [
                    unquoted(partial(merits, model, _declared_range(model), held_X, held_y, split.people))
                    for model in fitted
                ]

            counted = Counted(int(test.sum()), split.people)
            self.best_index_ = oracle.best(counted, found, choosing)
        self.best_params_ = settings[self.best_index_]
        self.best_estimator_ = fitted[self.best_index_]
        for prefix, candidate in contest:
            candidate.set_params(**{f"{prefix}ledger": self.ledger})
        self.results_ = tuple(private_part(model)[1].result_ for model in fitted)
        valued = any(run.value_asked for result in self.results_ for run in result.lineage)
        whole = replace(oracle.run.preset, value_asked=valued, counted=split.counted)
        self.guarantee_ = Guarantee.over((whole,), n=split.n, simulated=oracle.noise.simulated)
        return self

    def _choosing(self, oracle: CountOracle) -> Units:
        return max(1, int(oracle.run.units_cap * self.selection_share))

    def _contest(
        self, contest: list[tuple[str, Any]], oracle: CountOracle, X: Any, labels: NDArray[Any], split: Split
    ) -> list[Any]:
        """Every candidate, fitted on the rows to train on; all are rehearsed before the first is charged."""
        account, budget = oracle.run.ledger, oracle.run.budget
        units = (oracle.run.units_cap - self._choosing(oracle)) // len(contest)
        part = budget_within(account.currency, units, budget)
        training, answers = _rows(X, ~split.test), labels[~split.test]
        for index, (prefix, candidate) in enumerate(contest):
            terms = (part.epsilon, part.delta, rehearsing(account), self._seed(index), self.relation)
            candidate.set_params(**{prefix + name: term for name, term in zip(_RESERVED, terms, strict=True)})
            rehearse(candidate, training, answers, **split.facts(prefix, training=True))
            rehearse(candidate, X, labels, **split.facts(prefix, training=False))
        within = account.within(oracle.run)
        return [
            unquoted(
                partial(
                    candidate.set_params(**{f"{prefix}ledger": within}).fit,
                    training,
                    answers,
                    **split.facts(prefix, training=True),
                )
            )
            for prefix, candidate in contest
        ]

    def _facts(self, settings: list[dict[str, Any]], n: int) -> dict[str, str]:
        """What a search declares; what each candidate is, its own run declares."""
        return {
            "candidates": _ADDRESS.sub("", repr(settings)),
            "shares": repr((self.selection_share, self.held_out)),
            "n": str(n),
            "version": VERSION,
        }

    def __getstate__(self) -> dict[str, Any]:
        """The template, which is never fitted itself, leaves its ledger behind too."""
        state = super().__getstate__()
        if "guarantee_" in state and private_part(self.estimator)[1].ledger is not None:
            template = clone(self.estimator)
            private_part(template)[1].set_params(ledger=LeftBehind())
            return {**state, "estimator": template}
        return state

    def _seed(self, index: int) -> int | None:
        return None if self.simulate is None else int(self.simulate) + 1 + index

    @property
    def classes_(self) -> NDArray[Any]:
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions of the winner."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(partial(_winner_has, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the winner."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(partial(_winner_has, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the winner."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.decision_function(X))

    def score(self, X: Any, y: Any) -> float:
        """The winner's score. Exact: for the owner of X and y only; to publish one, use `evaluation`."""
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags.required = True
        return tags


def _candidate(template: Any, setting: dict[str, Any]) -> tuple[str, Any]:
    """A copy with this setting, which may put other steps in place, and the prefix of its private part."""
    candidate, refused = None, True
    with suppress(Exception):
        candidate, refused = clone(template).set_params(**setting), False
    if refused:
        raise ParameterError("a candidate's parameters cannot be set: check their names and values.")
    prefix, _ = private_part(candidate)
    for name in _RESERVED:
        if prefix + name in setting:
            raise ParameterError(f"{name} belongs to the search itself and cannot be searched over.")
    return prefix, candidate


def _settings(candidates: Any, known: set[str]) -> list[dict[str, Any]]:
    settings: list[dict[str, Any]] = []
    with suppress(Exception):
        settings = list(ParameterGrid(candidates))
    if not settings:
        raise ParameterError(
            "candidates must be a grid, name -> list of values, as in GridSearchCV.", argument="candidates"
        )
    if unknown := sorted({name for setting in settings for name in setting} - known):
        raise ParameterError(
            f"the estimator has no parameter {unknown[0]!r}. Of a pipeline's step, write step__name."
        )
    return settings


def _declared_range(model: Any) -> tuple[float, float] | None:
    """That of what a regressor predicts."""
    linear = private_part(model)[1]
    return linear.target if isinstance(linear, PrivateRegressor) else None


def _rows(X: Any, chosen: NDArray[np.bool_]) -> Any:
    """Some rows of an array, a sparse matrix, a list or a dataframe."""
    places = np.flatnonzero(chosen)
    return [X[place] for place in places] if isinstance(X, list) else taken(X, places)


def budget_within(currency: Currency, units: Units, whole: Budget) -> Budget:
    """The largest budget with the whole's delta that costs at most `units`: bisection over epsilon."""
    delta = whole.delta
    low, high = 0.0, 1.0
    while high < 500.0 and _costs(currency, high, delta) <= units:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if _costs(currency, middle, delta) <= units:
            low = middle
        else:
            high = middle
    if _costs(currency, low, delta) < 1:
        raise ParameterError("the budget is too small to be divided so often. Try fewer candidates.")
    return replace(whole, epsilon=low)


def _costs(currency: Currency, epsilon: float, delta: float) -> Units:
    """What a budget is worth; 0 where it buys nothing."""
    try:
        return currency.cap(Budget(epsilon=epsilon, delta=delta)) if epsilon > 0.0 else 0
    except ParameterError:
        return 0
