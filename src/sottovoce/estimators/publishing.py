"""Pickles of fitted estimators, which may be published: they name no ledger and no path.

An estimator that is not fitted keeps its ledger in a pickle, by address, so that folds in other processes
charge it. A fitted one leaves it behind: whoever gets the model must neither learn where the ledger lies nor
need it to predict. In its place stands a mark that refuses another fit, which would otherwise go uncounted.
"""

from __future__ import annotations

import copy
from typing import Any, Self, final

from sklearn.base import BaseEstimator

from sottovoce.errors import LedgerError


@final
class LeftBehind:
    """Stands for the ledger that a pickled, fitted estimator was charged to."""

    def __repr__(self) -> str:
        return "LeftBehind()"


def require_at_hand(ledger: Any) -> None:
    """Refuse to train where the ledger was left behind."""
    if isinstance(ledger, LeftBehind):
        raise LedgerError(
            "this estimator was charged to a ledger that its pickle does not carry. Nothing was released. To "
            "fit it again, set_params(ledger=Ledger.open(path, dataset=...)); with ledger=None nobody counts."
        )


class Publishable(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """An estimator with a `ledger`, which pickles leave behind once it is fitted; copies share it."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "guarantee_" in state and state["ledger"] is not None:
            return {**state, "ledger": LeftBehind()}
        return state

    def __copy__(self) -> Self:
        return self._with(self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._with(copy.deepcopy(self.__dict__, memo))

    def _with(self, attributes: dict[str, Any]) -> Self:
        made = type(self).__new__(type(self))
        made.__dict__.update(attributes)
        return made
