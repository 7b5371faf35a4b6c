"""Where nothing is clipped, a module and a linear risk are the same function."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.autodiff import models  # noqa: E402

REGULARIZER = sv.regularizers.Tukey(1e-2)
CLOSE = {"rtol": 0.0, "atol": 1e-10}


@pytest.fixture(scope="module")
def pair() -> tuple[sv.Risk, sv.autodiff.TorchRisk]:
    X, y = models.linear_data(700, 6)
    records = sv.Records.from_arrays(X, y, radius=5.0, labels=(-1, 1))
    linear = sv.Risk(records, sv.losses.Logistic(), REGULARIZER)
    module = sv.autodiff.TorchRisk(
        models.Linear(6),
        models.logistic,
        (X, y),
        gradient_clip=5.0,
        curvature_clip=7.0,
        loss_bound=50.0,
        regularizer=REGULARIZER,
    )
    return linear, module


@pytest.mark.parametrize("seed", range(4))
def test_gradient_products_and_hessian_are_those_of_the_linear_risk(pair, seed: int) -> None:  # type: ignore[no-untyped-def]
    linear, module = pair
    w, v = np.random.default_rng(seed).standard_normal((2, 6)) * 10.0 ** (seed - 2)
    np.testing.assert_allclose(module.gradient(w), linear.gradient(w), **CLOSE)
    np.testing.assert_allclose(module.curvature_product(w, v), linear.hessian(w) @ v, **CLOSE)
    np.testing.assert_allclose(linear.curvature_product(w, v), linear.hessian(w) @ v, **CLOSE)
    np.testing.assert_allclose(module.hessian(w), linear.hessian(w), **CLOSE)
    assert module.smallest_eigenvalue(w) == pytest.approx(linear.smallest_eigenvalue(w), abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_values_and_differences_are_those_of_the_linear_risk(pair, seed: int) -> None:  # type: ignore[no-untyped-def]
    linear, module = pair
    rng = np.random.default_rng(seed)
    w, steps = rng.standard_normal(6), rng.standard_normal((3, 6)) / 4.0
    assert module.value(w) == pytest.approx(linear.value(w), abs=1e-10)
    assert module.mean_loss(w) == pytest.approx(linear.value(w), abs=1e-10)
    np.testing.assert_allclose(module.trials(w, steps), linear.trials(w, steps), **CLOSE)
    for gamma in (0.5, 2.0, -1.0):
        there = module.along(w, steps[0]).decrease(gamma)
        assert there == pytest.approx(linear.along(w, steps[0]).decrease(gamma), abs=1e-10)


def test_a_subset_is_the_risk_of_those_examples(pair) -> None:  # type: ignore[no-untyped-def]
    linear, module = pair
    places = np.array([0, 3, 4, 100, 699])
    w = np.linspace(-1.0, 1.0, 6)
    part = module.subset(places)
    assert part.n == part.problem.n == 5
    np.testing.assert_allclose(part.gradient(w), linear.subset(places).gradient(w), **CLOSE)
    assert part.bounds.gradient(w) > 100.0 * module.bounds.gradient(w)
    budget = sv.Budget(1.0, 1e-5)
    batched = Oracle(module, sv.Ledger(budget).run(budget), SimulatedNoise(0)).batched(5)
    assert batched._batch_bounds.gradient(w) == part.bounds.gradient(w)
    assert batched._batch_bounds.curvature_product(w) == part.bounds.curvature_product(w)
    assert batched._batch_bounds.hessian(w) == part.bounds.hessian(w)


@pytest.mark.parametrize("memory", [1.0, 3e4, 1e9])
def test_answers_do_not_depend_on_how_many_examples_are_computed_at_once(memory: float) -> None:
    few = models.linear_risk(n=25, memory=memory)
    many = models.linear_risk(n=25)
    w, v = np.linspace(-1.0, 2.0, 5), np.linspace(1.0, -1.0, 5)
    np.testing.assert_allclose(few.gradient(w), many.gradient(w), rtol=0, atol=1e-15)
    np.testing.assert_allclose(few.curvature_product(w, v), many.curvature_product(w, v), rtol=0, atol=1e-15)
    np.testing.assert_allclose(few.hessian(w), many.hessian(w), rtol=0, atol=1e-15)


def test_single_precision_is_close_and_its_sums_are_double() -> None:
    coarse, fine = models.linear_risk(dtype=torch.float32), models.linear_risk()
    w = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_allclose(coarse.gradient(w), fine.gradient(w), atol=1e-6)
    assert coarse.gradient(w).dtype == np.float64
