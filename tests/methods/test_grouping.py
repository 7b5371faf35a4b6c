"""Columns declared to share a scale: a public fact, one number each, right about the scales."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.methods.adapt.coordinates import by_column, shared_scales, sharing
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries import ColumnMoments

BUDGET = sv.Budget(epsilon=1.0, delta=1e-5)
SCALES = np.repeat([0.2, 0.02, 0.002], 40)
GROUPS = np.repeat([0, 1, 2], 40)


def held(n: int = 3000, **options: object) -> sv.Records:
    rng = np.random.default_rng(0)
    X = np.column_stack([0.05 + SCALES * rng.standard_normal((n, 120)) / 3.0, np.full(n, 0.3)])
    t = 300.0 * (X[:, 100:110] - 0.05).sum(axis=1)
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-t)), 1, -1)
    return sv.Records.from_arrays(X, y, labels=(-1, 1), constant=True, radius=2.0, **options)  # type: ignore[arg-type]


def test_groups_are_declared_and_public() -> None:
    records = held(column_groups=[*GROUPS, 3])
    assert records.column_groups == (*GROUPS.tolist(), 3)
    assert "column_groups=4" in repr(records)
    assert sv.Risk(records, sv.losses.Logistic()).problem.column_groups == records.column_groups


def test_an_appended_intercept_has_a_group_of_its_own() -> None:
    X = np.full((4, 2), 0.1)
    records = sv.Records.from_arrays(
        X, [0, 1, 0, 1], labels=(0, 1), intercept=True, column_groups=[0, 0], radius=2.0
    )
    assert records.column_groups == (0, 0, 1)


@pytest.mark.parametrize("wrong", [[0], [0, 2, *[0] * 119], [0.5] * 121, "abc", [-1, *[0] * 120]])
def test_groups_that_do_not_number_the_columns_are_refused(wrong: object) -> None:
    with pytest.raises(ParameterError, match="column_groups"):
        held(column_groups=wrong)


@pytest.mark.parametrize(
    ("declared", "mu", "numbers"), [(True, 0.1, 4), (True, 10.0, 121), (False, 0.1, 2), (False, 10.0, 121)]
)
def test_groups_are_used_where_single_columns_drown_and_only_there(
    declared: bool, mu: float, numbers: int
) -> None:
    problem = sv.Risk(held(column_groups=[*GROUPS, 0] if declared else None), sv.losses.Logistic()).problem
    members = sharing(problem, mu)
    assert ColumnMoments(groups=members).length(problem) == 121 + numbers


def test_the_constant_has_a_group_of_its_own() -> None:
    members = shared_scales(sv.Risk(held(column_groups=[*GROUPS, 0]), sv.losses.Logistic()).problem)
    assert members is not None
    assert np.flatnonzero(members == members[120]).tolist() == [120]


def test_each_column_of_a_group_is_left_with_the_groups_variance() -> None:
    risk = sv.Risk(held(column_groups=[*GROUPS, 3]), sv.losses.Logistic())
    budget = sv.Budget(epsilon=20.0, delta=1e-2)
    ask, other = (Oracle(risk, sv.Ledger(budget).run(budget), SimulatedNoise(0)) for _ in range(2))
    units = ask.units_left // 2
    members = np.array([*GROUPS, 3])
    moments = by_column(ask.moments(units, groups=members), risk.problem, members)
    centred = moments.squares - moments.means**2 + moments.mean_scale**2
    for group, scale in enumerate((0.2, 0.02, 0.002)):
        own = centred[:120][group == GROUPS]
        assert np.ptp(own) < 1e-12
        assert abs(own.mean() - (scale / 3.0) ** 2) < 6.0 * moments.square_scale + 0.05 * (scale / 3.0) ** 2
    assert moments.square_scale < 0.3 * other.moments(units).square_scale


@pytest.mark.slow
def test_declared_groups_find_signal_in_columns_below_the_noise() -> None:
    """All signal is in the hundred short columns of two hundred: their scale is found by groups only."""
    rng = np.random.default_rng(0)
    scales = np.repeat([0.06, 0.01], 100)
    X = np.column_stack([0.02 + scales * rng.standard_normal((6000, 200)), np.full(6000, 0.3)])
    t = 30.0 * (X[:, 100:200] - 0.02).sum(axis=1)
    y = np.where(rng.random(6000) < 1.0 / (1.0 + np.exp(-t)), 1, -1)
    loss = {}
    for name, groups in (("none", None), ("declared", [*np.repeat([0, 1], 100), 2])):
        records = sv.Records.from_arrays(X, y, labels=(-1, 1), constant=True, column_groups=groups)
        risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-9))
        runs = [sv.minimize(risk, budget=BUDGET, method="adapt", simulate=seed) for seed in range(3)]
        loss[name] = float(np.mean([risk.value(run.weights) for run in runs]))
    assert loss["declared"] < loss["none"] - 0.003
