"""Nothing that one example leaves behind reaches another: state is refused, and harmless where it hides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sottovoce as sv

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

from tests.autodiff import models  # noqa: E402

CLIPS = {"gradient_clip": 1.0, "curvature_clip": 1.0}
FAR = 1000.0


class ActNorm(nn.Module):
    """Sets scale and shift from its first batch, then keeps them (Kingma & Dhariwal 2018)."""

    def __init__(self, width: int = 2) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(width))
        self.register_buffer("ready", torch.tensor(0))

    def forward(self, x: Any) -> Any:
        if not self.ready:
            self.shift.data.copy_(-x.mean(0))
            self.ready.fill_(1)
        return x + self.shift


class RunningMean(nn.Module):
    """Follows the mean of its inputs in a buffer, by assignment."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x: Any) -> Any:
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return x - self.mean


class Cache(nn.Module):
    """Remembers what it saw in a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def forward(self, x: Any) -> Any:
        self.seen.append(x.detach().sum())
        return x


class InPlace(nn.Module):
    """Writes into a buffer and takes it back: no change to see, and nothing to differentiate through."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x: Any) -> Any:
        self.count.add_(0.25)
        self.count.sub_(0.25)
        return x + self.count


class Centres(nn.Module):
    """A loss with a state of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, outputs: Any, targets: Any) -> Any:
        self.calls += 1
        return models.cross_entropy(outputs, targets)


def after(layer: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(layer, nn.Linear(2, 3)).double()


def risk_on(module: nn.Module, first: float = 0.0, **declared: Any) -> Any:
    X, y = models.network_data(40)
    X[0] += first
    return sv.autodiff.TorchRisk(module, models.cross_entropy, (X, y), **{**CLIPS, **declared})


@pytest.mark.parametrize("layer", [ActNorm(), RunningMean(), Cache()], ids=lambda layer: type(layer).__name__)
def test_a_layer_that_writes_its_own_state_is_refused_by_its_name(layer: nn.Module) -> None:
    before = {name: held.clone() for name, held in layer.state_dict().items()}
    with pytest.raises(sv.errors.ParameterError, match=f"{type(layer).__name__} changes its own state"):
        risk_on(after(layer), FAR)
    for name, held in layer.state_dict().items():
        assert torch.equal(held, before[name])


def test_a_loss_that_writes_its_own_state_is_refused() -> None:
    with pytest.raises(sv.errors.ParameterError, match="Centres changes its own state"):
        sv.autodiff.TorchRisk(after(nn.Tanh()), Centres(), models.network_data(40), **CLIPS)


def test_a_layer_that_takes_its_shape_from_the_first_batch_is_refused() -> None:
    with pytest.raises(sv.errors.ParameterError, match="LazyLinear takes its shape"):
        risk_on(nn.Sequential(nn.Linear(2, 3), nn.LazyLinear(3)))


def test_the_user_s_module_and_what_it_was_built_from_never_see_a_real_example(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No call, on whichever copy, holds two real examples; the start does not move with the data."""
    sizes: list[int] = []
    call = nn.Linear.forward

    def watched(self: Any, x: Any) -> Any:
        if len(x) > 1:
            sizes.append(int((x.abs() > 100.0).sum()))
        return call(self, x)

    monkeypatch.setattr(nn.Linear, "forward", watched)
    X, y = models.network_data(40)
    pair = [
        sv.autodiff.TorchRisk(after(nn.Identity()), models.cross_entropy, (X + shift, y), **CLIPS)
        for shift in (0.0, FAR)
    ]
    assert sizes
    assert max(sizes) == 0
    np.testing.assert_array_equal(pair[0].start, pair[1].start)
    assert pair[0].problem == pair[1].problem


def test_whoever_makes_up_examples_is_shown_kinds_and_no_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor how many a person has: a check that read it would refuse one table and not its neighbour."""
    shown: list[Any] = []

    def kept(terms: Any, flat: Any, kinds: Any, **_: Any) -> None:
        shown.append([(part.shape, part.dtype) for part in kinds])
        terms.stand_in(*(part.new_zeros(part.shape[1:]) for part in kinds))

    monkeypatch.setattr("sottovoce.autodiff.risk.check_terms", kept)
    X, y = models.phase_data(5, 3, seed=1)
    for rows in (5, 4):
        people = {"groups": np.array([1, 1, 2, 3, 3])[:rows], "persons": 3}
        sv.autodiff.TorchRisk(
            models.Squared(3), models.quarter_square, (X[:rows], y[:rows]), **people, **CLIPS
        )
    assert shown[0] == shown[1]
    assert [shape for shape, _ in shown[0]] == [(0, 3), (0,)]


def test_passes_leave_weights_buffers_and_module_as_they_were() -> None:
    risk = risk_on(after(nn.Tanh()), FAR)
    w = risk.start
    held, first = w.copy(), risk.gradient(w)
    state = {name: part.clone() for name, part in risk.sums._terms._module.state_dict().items()}
    for _ in range(3):
        np.testing.assert_array_equal(risk.gradient(w), first)
        risk.value(w)
        risk.curvature_product(w, np.ones(risk.dim))
    np.testing.assert_array_equal(w, held)
    for name, part in risk.sums._terms._module.state_dict().items():
        assert torch.equal(part, state[name])


class Writing(nn.Module):
    """Adds to its own weights and counts its calls: numbers that no example decides."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.quiet = quiet
        self.calls = 1

    def forward(self, x: Any) -> Any:
        if not self.quiet:
            self.inner.bias.data.add_(1.0)
            self.calls += 1
        return self.inner(x) * self.calls


def test_a_module_that_starts_to_write_later_changes_nothing_that_lasts() -> None:
    torch.manual_seed(0)
    risk = risk_on(Writing(quiet=True).double())
    risk.sums._terms._module.quiet = False
    w = risk.start
    held = w.copy()
    answers = [risk.gradient(w) for _ in range(3)]
    np.testing.assert_array_equal(w, held)
    np.testing.assert_array_equal(answers[0], answers[2])


@pytest.mark.parametrize("place", [0, 17, 39])
@pytest.mark.parametrize("label", [3, 987_654, -7])
def test_a_label_past_the_last_class_counts_for_nothing_or_is_refused_at_the_door(
    label: int, place: int
) -> None:
    X, y = models.network_data(40)
    whole = sv.autodiff.TorchRisk(after(nn.Tanh()), models.cross_entropy, (X, y), **CLIPS)
    y[place] = label
    with pytest.raises(sv.errors.DataError, match="withheld") as refusal:
        sv.autodiff.TorchRisk(after(nn.Tanh()), models.cross_entropy, (X, y), **CLIPS)
    assert str(label) not in str(refusal.value)
    assert refusal.value.__context__ is None
    risk = sv.autodiff.TorchRisk(after(nn.Tanh()), models.cross_entropy, (X, y), invalid="zero", **CLIPS)
    w, p = risk.start, np.ones(risk.dim)
    others = np.delete(np.arange(40), place)
    rest = whole.subset(others)
    np.testing.assert_allclose(risk.gradient(w), rest.gradient(w) * 39 / 40, atol=1e-15)
    np.testing.assert_allclose(risk.hessian(w), rest.hessian(w) * 39 / 40, atol=1e-15)
    np.testing.assert_allclose(
        risk.curvature_product(w, p), rest.curvature_product(w, p) * 39 / 40, atol=1e-15
    )
    assert risk.value(w) == pytest.approx(rest.value(w) * 39 / 40)
    assert risk.along(w, p).decrease(0.1) == pytest.approx(rest.along(w, p).decrease(0.1) * 39 / 40)
    result = sv.minimize(
        risk,
        budget=sv.Budget(5.0, 1e-5),
        method="opt",
        tolerance=sv.Tolerance(gradient=0.5, curvature=2.0),
        simulate=0,
    )
    assert np.all(np.isfinite(result.weights))


def test_terms_of_other_examples_keep_every_bit_beside_one_that_raises() -> None:
    X, y = models.network_data(40)
    risks = []
    for label in (y[5], 99):
        other = y.copy()
        other[5] = label
        risks.append(
            sv.autodiff.TorchRisk(after(nn.Tanh()), models.cross_entropy, (X, other), invalid="zero", **CLIPS)
        )
    flat = risks[0].sums._terms.vector(risks[0].start)
    first, second = (risk.sums._terms.gradients(flat, *next(iter(risk.sums._pieces()))[:2]) for risk in risks)
    keep = np.arange(40) != 5
    assert torch.equal(first[keep], second[keep])
    assert torch.isnan(second[5]).all()


def test_a_module_that_cannot_take_made_up_examples_is_refused_before_data_is_asked() -> None:
    with pytest.raises(sv.errors.ParameterError, match="made-up examples"):
        risk_on(nn.Linear(5, 3))
    with pytest.raises(sv.errors.ParameterError, match='invalid must be "raise"'):
        risk_on(after(nn.Tanh()), invalid="drop")
    with pytest.raises(sv.errors.ParameterError, match="differentiated twice"):
        risk_on(after(InPlace()))
