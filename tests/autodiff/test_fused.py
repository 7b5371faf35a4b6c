"""Sums of clipped gradients by layers: the same as example by example, bounded and blind to others alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.relations import Relation

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

from sottovoce.autodiff.fused import Fused  # noqa: E402
from tests.autodiff import models  # noqa: E402

ROWS, IMAGES, WORDS = (20, 7), (12, 2, 9, 9), (20, 5)


def rows(shape: tuple[int, ...] = ROWS) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def words() -> Any:
    return torch.randint(0, 2, WORDS, generator=torch.Generator().manual_seed(1))


def half_frozen() -> nn.Module:
    module = nn.Sequential(nn.Linear(7, 4), nn.Tanh(), nn.Linear(4, 3))
    module[0].weight.requires_grad_(False)
    module[2].bias.requires_grad_(False)
    return module


CHAINS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(7, 6), nn.ReLU(), nn.Linear(6, 3)), rows),
    "nested": (
        lambda: nn.Sequential(nn.Sequential(nn.Linear(7, 6), nn.SiLU()), nn.Linear(6, 3, bias=False)),
        rows,
    ),
    "half frozen": (half_frozen, rows),
    "layer norm": (lambda: nn.Sequential(nn.Linear(7, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 3)), rows),
    "cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1),
            nn.GroupNorm(2, 4),
            nn.ReLU(),
            nn.MaxPool2d(2, 1),
            nn.Conv2d(4, 3, 2, dilation=2, bias=False),
            nn.ELU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(3, 3),
        ),
        lambda: rows(IMAGES),
    ),
    "words": (
        lambda: nn.Sequential(
            nn.Embedding(4, 6), nn.Linear(6, 4), nn.LayerNorm(4), nn.Tanh(), nn.Flatten(), nn.Linear(20, 3)
        ),
        words,
    ),
    "sequence norm": (
        lambda: nn.Sequential(nn.Embedding(4, 2), nn.LayerNorm([5, 2]), nn.Flatten(), nn.Linear(10, 3)),
        words,
    ),
}


def risk(module: nn.Module, X: Any, y: Any = None, clip: float = 0.3, **more: Any) -> Any:
    labels = torch.arange(len(X)) % 3 if y is None else y
    given: dict[str, Any] = {"gradient_clip": clip, "curvature_clip": 1.0, "curvature": "products", **more}
    return sv.autodiff.TorchRisk(module, models.cross_entropy, (X, labels), **given)


@pytest.mark.parametrize("clip", [1e-3, 0.3, 1e3])
@pytest.mark.parametrize("name", list(CHAINS))
def test_the_sum_is_that_of_gradients_taken_example_by_example(name: str, clip: float) -> None:
    torch.manual_seed(0)
    make, data = CHAINS[name]
    held = risk(make(), data(), clip=clip)
    assert held.sums._fused is not None
    w = held.start + 0.1
    fused = held.gradient(w)
    recorded = by_graph(held).gradient(w)
    assert not any(is_plain(graph) for graph in held.sums._fused._graphs.values())
    held.sums._fused = None
    np.testing.assert_allclose(fused, held.gradient(w), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(recorded, fused, rtol=1e-12, atol=1e-15)


def is_plain(compute: Any) -> bool:
    """Whether nothing was recorded."""
    return getattr(compute, "__func__", None) is Fused._parts


def by_graph(held: Any) -> Any:
    """The same after requests enough for its operations to be recorded."""
    held.sums._fused._asked = 100
    return held


class Own(nn.Linear):
    """A layer that may do anything."""


def hooked() -> nn.Module:
    module = nn.Sequential(nn.Linear(7, 3))
    module[0].register_forward_hook(lambda layer, given, found: found)
    return module


def overridden() -> nn.Module:
    module = nn.Sequential(nn.Linear(7, 3))
    module[0].forward = lambda x: nn.functional.linear(x, module[0].weight)  # type: ignore[method-assign]
    return module


def tied() -> nn.Module:
    module = nn.Sequential(nn.Linear(7, 7), nn.Tanh(), nn.Linear(7, 7), nn.Linear(7, 3))
    module[2].weight = module[0].weight
    return module


@pytest.mark.parametrize(
    "make",
    [
        hooked,
        tied,
        lambda: nn.Sequential(Own(7, 3)),
        lambda: nn.Sequential(nn.Linear(7, 3), nn.Softmax(dim=0)),
        lambda: nn.Sequential(nn.Linear(7, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).eval(),
        lambda: nn.Sequential(nn.Linear(7, 4), nn.Dropout(0.5), nn.Linear(4, 3)).eval(),
        overridden,
    ],
)
def test_what_is_not_a_chain_of_known_layers_is_never_run_on_several_examples(make: Any) -> None:
    torch.manual_seed(0)
    try:
        held = risk(make(), rows())
    except sv.errors.ParameterError:
        return
    assert held.sums._fused is None


@pytest.mark.parametrize("limit", [1e-60, 1e-3, 1.0])
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-100, 1.0, 1e100, 1e150, 1e200])
def test_no_example_is_longer_than_its_limit_whatever_its_size(size: float, limit: float) -> None:
    held = risk(nn.Sequential(nn.Linear(7, 3)), np.full((1, 7), size), torch.zeros(1, dtype=torch.int64))
    flat = held.sums._terms.vector(held.start * 1e-200)
    piece = next(iter(held.sums._pieces()))
    for scale in (1.0, 1e-160, 1e150):
        found = held.sums._fused
        found._loss = lambda outputs, targets, scale=scale: scale * outputs.sum(1)
        total, _ = found.clipped_sum(flat, *piece[:2], limit, piece.shares, held.sums._terms.filler)
        assert float(total.norm()) <= limit


def counting(calls: Any) -> Callable[[Any, Any], Any]:
    """A loss that counts its calls, in a tensor that survives each of them."""

    def loss(outputs: Any, targets: Any) -> Any:
        with torch.no_grad():
            calls.add_(1.0)
        return models.cross_entropy(outputs, targets) * calls

    return loss


def drawing(outputs: Any, targets: Any) -> Any:
    return models.cross_entropy(outputs, targets) * torch.rand(())


@pytest.mark.parametrize("loss", [counting(torch.ones(())), drawing])
def test_a_loss_that_leaves_something_behind_or_draws_is_refused_not_recorded(loss: Any) -> None:
    """Who is in a batch decides the number of calls: it must not show in anybody's gradient."""
    torch.manual_seed(0)
    held = by_graph(risk(nn.Sequential(nn.Linear(7, 3)), rows()))
    held.sums._fused._loss = loss
    with pytest.raises(sv.errors.DataError):
        held.gradient(held.start)


def test_the_number_of_requests_decides_when_graphs_are_recorded() -> None:
    """Not that of calls, which examples decide."""
    torch.manual_seed(0)
    held = risk(nn.Sequential(nn.Linear(7, 3)), rows(), memory=32.0 * 100 * 2)
    assert len(list(held.sums._pieces(20))) > 5
    for asked in range(1, 6):
        held.gradient(held.start)
        assert bool(held.sums._fused._graphs) == (asked > 3)


@pytest.mark.parametrize(
    "name",
    [
        "mlp",
        "cnn",
        *(pytest.param(name, marks=pytest.mark.slow) for name in CHAINS if name not in ("mlp", "cnn")),
    ],
)
@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("relation", list(Relation))
def test_no_hostile_example_moves_the_sum_past_its_charge(name: str, relation: Any, persons: bool) -> None:
    """A record, or a person with all its examples, that is replaced or left out."""
    torch.manual_seed(0)
    make, data = CHAINS[name]
    module, X = make(), data()
    labels, keys = torch.arange(len(X)) % 3, np.arange(len(X)) // 2
    n, mine = (len(X) // 2, [4, 5]) if persons else (len(X), [4])

    def read(inputs: Any, marks: Any, kept: np.ndarray) -> Any:
        """The risk over these examples; a record that is left out is so by its batch."""
        if persons:
            more = {"groups": keys[kept], "persons": n, "invalid": "zero"}
            return by_graph(risk(module, inputs[kept], marks[kept], **more))
        return by_graph(risk(module, inputs, marks, invalid="zero")).subset(kept, n=n)

    everyone = np.arange(len(X))
    left = everyone if relation is Relation.REPLACE_ONE else np.delete(everyone, mine)
    bound = (2.0 if relation is Relation.REPLACE_ONE else 1.0) * 0.3 / n
    there, moved = read(X, labels, left), []
    w = there.start + 0.1
    for stranger in (1, 3, 99, -1) if not X.is_floating_point() else (1e30, float("nan"), -5.0):
        for label in (2, 3):
            other, marks = X.clone(), labels.clone()
            other[mine], marks[mine] = stranger, label
            here = read(other, marks, everyone)
            moved.append(float(np.linalg.norm(here.gradient(w) - there.gradient(w))))
    assert max(moved) <= bound * (1.0 + 1e-9)
    assert max(moved) > 0.1 * bound


def test_an_example_that_raises_counts_nothing_and_disturbs_no_bit_of_another() -> None:
    torch.manual_seed(0)
    module, X, y = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3)), rows(), torch.arange(20) % 3
    bad = y.clone()
    bad[3] = 17
    broken = risk(module, X, bad, invalid="zero")
    assert broken.sums._fused is not None
    w = broken.start
    kept = np.delete(np.arange(20), 3)
    whole = risk(module, X, y)
    np.testing.assert_allclose(
        broken.gradient(w), whole.subset(kept, n=20).gradient(w), rtol=1e-12, atol=1e-15
    )


def test_calls_are_as_long_as_memory_allows() -> None:
    """A Linear's gradients are never formed, so that a wide layer does not shorten calls."""
    torch.manual_seed(0)
    held = risk(nn.Sequential(nn.Linear(7, 300), nn.ReLU(), nn.Linear(300, 3)), rows())
    entries = held.sums._fused.entries(held.sums._terms.vector(held.start), held.sums._terms.filler[0])
    assert entries == 2 * (7 + 300) + 2 * (300 + 3) < held.dim
