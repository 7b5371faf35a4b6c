"""What the user says about a module is checked, and a refusal explains itself without quoting data."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

from tests.autodiff import models  # noqa: E402

CLIPS = {"gradient_clip": 1.0, "curvature_clip": 1.0}


def build(module, loss=models.cross_entropy, data=None, **declared):  # type: ignore[no-untyped-def]
    given = models.network_data(40) if data is None else data
    return sv.autodiff.TorchRisk(module, loss, given, **{**CLIPS, **declared})


class Centred(nn.Module):
    """Subtracts the mean of the batch: a hand-made batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 3)

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.inner(x - x.mean(dim=0, keepdim=True))


class Restless(nn.Module):
    """Another answer each time."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.calls = 0

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.calls += 1
        return self.inner(x) * self.calls


def contrastive(outputs, targets):  # type: ignore[no-untyped-def]
    """A softmax over the batch."""
    return -torch.log_softmax(outputs.sum(dim=1), dim=0)


@pytest.mark.parametrize(
    ("module", "loss", "words"),
    [
        (
            nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)),
            models.cross_entropy,
            "GroupNorm",
        ),
        (
            nn.Sequential(
                nn.Linear(2, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 3)
            ).eval(),
            models.cross_entropy,
            "statistics of a batch",
        ),
        (nn.Sequential(nn.Dropout(0.1), nn.Linear(2, 3)), models.cross_entropy, "at random"),
        (nn.Linear(2, 3), nn.functional.cross_entropy, 'reduction="none"'),
        (nn.Linear(2, 3), lambda o, t: models.cross_entropy(o, t)[:, None], "one number an example"),
        (Centred(), models.cross_entropy, "mixes"),
        (nn.Linear(2, 3), lambda o, t: models.cross_entropy(o, t) / len(o), "mixes"),
        (nn.Linear(2, 3), contrastive, "mixes"),
        (Restless(), models.cross_entropy, "Restless changes its own state"),
        (nn.Identity(), models.cross_entropy, "nothing to train"),
        ("a module", models.cross_entropy, "nn.Module"),
        (nn.Linear(2, 3), "a loss", "function loss"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_loss_that_is_not_the_examples_own_is_refused(module, loss, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sv.errors.ParameterError, match=words):
        build(module, loss)


def test_layers_that_treat_each_example_alone_are_welcome() -> None:
    frozen = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 3)).eval()
    normal = nn.Sequential(nn.Linear(2, 4), nn.LayerNorm(4), nn.Dropout(0.0), nn.Linear(4, 3))
    for module in (frozen, normal):
        risk = build(module)
        assert np.all(np.isfinite(risk.gradient(risk.start)))
        assert np.linalg.norm(risk.gradient(risk.start)) > 0.0


def test_what_the_users_code_raises_is_not_quoted() -> None:
    X, y = models.network_data(40)
    y[0] = 987_654
    with pytest.raises(sv.errors.DataError, match="withheld") as refusal:
        build(nn.Linear(2, 3), data=(X, y))
    assert "987" not in str(refusal.value)
    assert refusal.value.__context__ is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"gradient_clip": 0.0}, "gradient_clip"),
        ({"curvature_clip": float("nan")}, "curvature_clip"),
        ({"loss_bound": -1.0}, "loss_bound"),
        ({"smoothness": "much"}, "smoothness"),
        ({"curvature": "some"}, "products"),
        ({"dtype": torch.int64}, "float64"),
        ({"device": "abacus"}, "device"),
        ({"regularizer": 1e-3}, "regularizer"),
    ],
)
def test_bad_declarations_are_named(wrong, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sv.errors.ParameterError, match=words):
        build(nn.Linear(2, 3), **wrong)


@pytest.mark.parametrize(
    "data",
    [
        torch.zeros(4, 2),
        (torch.zeros(4, 2), torch.zeros(3)),
        (torch.zeros(0, 2), torch.zeros(0)),
        (np.array(["a", "b"]), np.zeros(2)),
        (torch.zeros(4, 2, dtype=torch.complex64), torch.zeros(4)),
    ],
    ids=["one tensor", "lengths differ", "empty", "words", "complex"],
)
def test_data_that_is_not_a_pair_of_equal_length_is_refused(data) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sv.errors.DataError):
        build(nn.Linear(2, 3), data=data)
