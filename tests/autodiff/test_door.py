"""Data stays inside; weights come out as a module."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import sottovoce as sv

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

from tests.autodiff import models  # noqa: E402

SECRET = 123_456.75


@pytest.fixture(scope="module")
def risk() -> sv.autodiff.TorchRisk:
    X, y = models.linear_data(20, 3)
    X[:] = SECRET
    return sv.autodiff.TorchRisk(models.Linear(3), models.logistic, (X, y), gradient_clip=1, curvature_clip=1)


def test_nothing_that_holds_data_is_copied_pickled_or_shown(risk) -> None:  # type: ignore[no-untyped-def]
    line = risk.along(np.zeros(3), np.ones(3))
    for held in (risk, risk.sums._examples, line):
        for carry in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(sv.errors.DataError, match="never copied or pickled"):
                carry(held)
        assert "123" not in repr(held)
    assert "123" not in repr(risk.sums._terms) + risk.objective + repr(risk.problem) + repr(risk.bounds)


def test_data_and_module_are_taken_as_they_were_when_handed_over() -> None:
    X, y = (torch.as_tensor(part) for part in models.linear_data(20, 3))
    module = models.Linear(3)
    risk = sv.autodiff.TorchRisk(module, models.logistic, (X, y), gradient_clip=1, curvature_clip=1)
    before = risk.gradient(np.ones(3))
    X.zero_()
    with torch.no_grad():
        module.w.fill_(7.0)
    np.testing.assert_array_equal(risk.gradient(np.ones(3)), before)
    np.testing.assert_array_equal(risk.start, np.zeros(3))


class Tied(nn.Module):
    """One matrix used twice, one frozen layer, one buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)
        self.second.weight = self.first.weight
        self.frozen = nn.Linear(2, 3)
        self.frozen.requires_grad_(False)
        self.register_buffer("shift", torch.tensor([0.5, -0.5]))

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.frozen(torch.tanh(self.second(torch.tanh(self.first(x + self.shift)))))


def test_weights_go_round_and_only_trained_ones_change() -> None:
    torch.manual_seed(3)
    module = Tied().float()
    data = models.network_data(30)
    risk = sv.autodiff.TorchRisk(module, models.cross_entropy, data, gradient_clip=1.0, curvature_clip=1.0)
    assert risk.dim == 4 + 2 + 2
    same = risk.module_with(risk.start)
    for name, held in module.state_dict().items():
        assert torch.equal(same.state_dict()[name], held)
        assert same.state_dict()[name].dtype == held.dtype
    moved = risk.module_with(risk.start + 1.0)
    assert moved.second.weight is moved.first.weight
    assert torch.equal(moved.frozen.weight, module.frozen.weight)
    losses = models.cross_entropy(moved.double()(torch.as_tensor(data[0])), torch.as_tensor(data[1]))
    assert float(losses.detach().mean()) == pytest.approx(risk.mean_loss(risk.start + 1.0), abs=1e-5)
    with pytest.raises(sv.errors.ParameterError, match="weights"):
        risk.module_with(np.zeros(3))


def test_the_gradient_is_that_of_the_mean_loss() -> None:
    """Central differences, on a network, where nothing is clipped."""
    risk = sv.autodiff.TorchRisk(
        models.two_layers(2, 3, 3),
        models.cross_entropy,
        models.network_data(50),
        gradient_clip=1e3,
        curvature_clip=1e3,
        regularizer=sv.regularizers.L2(0.1),
    )
    w, v = risk.start, np.random.default_rng(0).standard_normal(risk.dim)
    slope = (risk.mean_loss(w + 1e-6 * v) - risk.mean_loss(w - 1e-6 * v)) / 2e-6
    assert risk.gradient(w) @ v == pytest.approx(slope, abs=1e-7)
    bend = (risk.gradient(w + 1e-6 * v) - risk.gradient(w - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(risk.curvature_product(w, v), bend, atol=1e-6)
    np.testing.assert_allclose(risk.hessian(w) @ v, risk.curvature_product(w, v), atol=1e-10)
