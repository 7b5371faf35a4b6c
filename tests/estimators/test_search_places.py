"""In a search, too, the rows of persons are asked about in calls of one length, whoever has how many."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np

from sottovoce.data.persons import Persons
from sottovoce.estimators.linear import PrivateClassifier
from sottovoce.estimators.merits import merits


def test_rows_held_out_are_asked_about_in_calls_of_one_length() -> None:
    rng = np.random.default_rng(0)
    lengths: set[int] = set()

    def signs(self: PrivateClassifier, X: Any) -> Any:
        lengths.add(len(X))
        return np.where(X[:, 0] > 0, "yes", "no")

    model = PrivateClassifier(classes=("no", "yes"))
    for mine in (1, 2, 60):
        keys = ["me"] * mine + [f"p{k}" for k in rng.integers(40, size=90)]
        X = rng.normal(size=(len(keys), 2))
        y = rng.choice(["no", "yes"], len(keys))
        people = Persons.of(keys, len(keys), 45, lenient=False)
        with mock.patch.object(PrivateClassifier, "predict", signs):
            found = merits(model, None, X, y, people)
            assert len(lengths) == 1
        assert found.tolist() == (np.where(X[:, 0] > 0, "yes", "no") == y).tolist()
