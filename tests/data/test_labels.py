"""Labels and entries of lists are read one by one: NumPy would give all of them the type of one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.data.records import Records
from tests.data.test_cells import HOSTILE, Loud

N = 60
BUDGET = sv.Budget(epsilon=1.0, delta=1e-6)
LABELS: list[Any] = [place % 3 for place in range(N)]


def held(X: Any, y: Any, **declared: Any) -> tuple[np.ndarray, np.ndarray]:
    records = Records.from_arrays(X, y, invalid="zero", **declared)
    return records._rows.block(0).features, records._rows.targets


@pytest.mark.parametrize("place", range(len(HOSTILE)))
@pytest.mark.parametrize("declared", [{"labels": (0, 1, 2)}, {"labels": ("0", "1", "2")}, {"target": (0, 2)}])
def test_one_hostile_label_changes_no_other(place: int, declared: dict[str, Any]) -> None:
    X = np.full((N, 2), 0.5)
    rows, targets = held(X, LABELS, **declared)
    replaced = [*LABELS[:7], HOSTILE[place], *LABELS[8:]]
    for y in (replaced, tuple(replaced), as_objects(replaced)):
        hostile_rows, hostile_targets = held(X, y, **declared)
        others = np.arange(N) != 7
        assert np.array_equal(hostile_targets[others], targets[others])
        assert np.array_equal(hostile_rows[others], rows[others])


def as_objects(entries: list[Any]) -> np.ndarray:
    array = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        array[place] = entry
    return array


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_one_hostile_entry_of_a_list_of_rows_changes_no_other_row(place: int) -> None:
    X: list[list[Any]] = [[0.1, True, Decimal("0.3")] for _ in range(N)]
    rows, _ = held(X, LABELS, labels=(0, 1, 2))
    X[7] = [0.1, HOSTILE[place], 0.3]
    replaced, _ = held(X, LABELS, labels=(0, 1, 2))
    assert np.array_equal(np.delete(replaced, 7, axis=0), np.delete(rows, 7, axis=0))


class Parrot:
    """Predicts what it was given, as a list."""

    classes_ = np.array([0, 1, 2])

    def predict(self, X: Any) -> Any:
        return [int(label) for label in X[:, 0]]


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_one_hostile_label_moves_accuracy_by_one_record(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[float] = []

    def counts(oracle: Any, compute: Any, *_: Any) -> Any:
        counted.append(compute()[0])
        return np.array([0.0]), 1.0

    monkeypatch.setattr("sottovoce.privacy.counting.CountOracle._noisy", counts)
    X = np.array(LABELS, dtype=float)[:, None]
    for y in (LABELS, [*LABELS[:7], HOSTILE[place], *LABELS[8:]]):
        evaluation.accuracy(Parrot(), X, y, budget=BUDGET, simulate=0)
    assert counted == [N, N - 1]


def test_estimators_read_a_list_of_labels_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    kept = Records.from_arrays

    def spy(X: Any, y: Any, **options: Any) -> Records:
        records = kept(X, y, **{**options, "invalid": "zero"})
        seen.append(records._rows.targets)
        return records

    monkeypatch.setattr("sottovoce.estimators.linear.Records.from_arrays", spy)
    X = np.full((N, 2), 0.5)
    model = sv.PrivateClassifier(delta=1e-6, classes=(0, 1, 2), simulate=0)
    for y in (LABELS, [*LABELS[:7], "unknown", *LABELS[8:]], [*LABELS[:7], Loud(9), *LABELS[8:]]):
        model.fit(X, y)
    assert np.array_equal(np.delete(seen[0], 7), np.delete(seen[1], 7))
    assert np.array_equal(np.delete(seen[0], 7), np.delete(seen[2], 7))


def test_confusion_counts_by_the_classes_own_order() -> None:
    class Unsorted(Parrot):
        classes_ = np.array([2, 0, 1])

    X = np.array(LABELS, dtype=float)[:, None]
    found = evaluation.confusion_matrix(
        Unsorted(), X, LABELS, budget=sv.Budget(epsilon=20.0, delta=0.1), simulate=0
    )
    assert np.array_equal(np.rint(found.counts / 20), np.eye(3))
    assert found.classes == (2, 0, 1)
