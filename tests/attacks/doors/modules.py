"""TorchRisk: modules that keep a state, examples that are hostile, tensors and lists."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import sottovoce as sv
from tests.attacks.doors import hostile
from tests.attacks.doors.engine import Door, Draw, Pair, Reading
from tests.attacks.doors.probes import answers_of

DIM = 2


class Plain(nn.Module):
    """<x, w> + b."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.full((DIM,), 0.25, dtype=torch.float64))
        self.b = nn.Parameter(torch.zeros((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.seen(x) @ self.w + self.b

    def seen(self, x: Tensor) -> Tensor:
        return x


class FirstBatch(Plain):
    """ActNorm: its parameters are set from the first batch that passes."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = False

    def seen(self, x: Tensor) -> Tensor:
        if not self.ready:
            self.ready = True
            with torch.no_grad():
                self.b.copy_(-x.detach().mean())
        return x


class FirstBuffer(Plain):
    """The same in a buffer, where a flag is a buffer too."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(DIM, dtype=torch.float64))
        self.register_buffer("ready", torch.zeros(()))

    def seen(self, x: Tensor) -> Tensor:
        if not bool(self.ready):
            self.ready.fill_(1.0)
            self.mean.copy_(x.detach().mean(0))
        return x - self.mean


class FirstAttribute(Plain):
    """The same in a plain attribute."""

    scale: Tensor | None = None

    def seen(self, x: Tensor) -> Tensor:
        if self.scale is None:
            self.scale = x.detach().abs().max() + 1.0
        return x / self.scale


class Running(Plain):
    """A running mean, as batch normalization keeps it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(DIM, dtype=torch.float64))

    def seen(self, x: Tensor) -> Tensor:
        self.mean.mul_(0.5).add_(0.5 * x.detach().mean(0))
        return x - self.mean


class Counter(Plain):
    """Counts its calls in a buffer and slows down with them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def seen(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x / self.calls


class Writer(Plain):
    """Writes into its input."""

    def seen(self, x: Tensor) -> Tensor:
        return x.clamp_(-1.0, 1.0)


class Mixer(Plain):
    """Looks at the whole batch."""

    def seen(self, x: Tensor) -> Tensor:
        return x - x.mean(0)


class Normalized(Plain):
    """Batch normalization with statistics that are fixed."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(DIM, dtype=torch.float64)
        self.eval()

    def seen(self, x: Tensor) -> Tensor:
        return self.norm(x)


class Cast(Plain):
    """Whole numbers or real ones, as they come."""

    def seen(self, x: Tensor) -> Tensor:
        return torch.remainder(x, 1009).to(self.w.dtype)


MODULES = (Plain, Cast, FirstBatch, FirstBuffer, FirstAttribute, Running, Counter, Writer, Mixer, Normalized)


def _squares(outputs: Tensor, targets: Tensor) -> Tensor:
    return 0.5 * (outputs - targets) ** 2


def _classes(outputs: Tensor, targets: Tensor) -> Tensor:
    scores = torch.stack([outputs, -outputs, 0.0 * outputs], dim=1)
    return nn.functional.cross_entropy(scores, targets, reduction="none")


_HOLDERS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda values: values,
    "tensor": torch.from_numpy,
    "float32": lambda values: values.astype(np.float32) if values.dtype.kind == "f" else values,
    "lists": lambda values: values.tolist(),
}


def _modules(draw: Draw) -> Pair:
    n = int(draw.integers(2, 7))
    place, whole = int(draw.integers(n)), bool(draw.random() < 0.4)
    X = draw.integers(-3, 4, (n, DIM)).astype(float) if draw.random() < 0.3 else draw.normal(size=(n, DIM))
    y = draw.integers(3, size=n) if whole else draw.normal(size=n)
    other, targets = X.copy(), y.copy()
    note, other[place, draw.integers(DIM)] = hostile.number(draw)
    if whole:
        targets[place] = draw.choice([0, 2, 3, -1, -100, 2**40])
    elif draw.random() < 0.3:
        targets[place] = hostile.number(draw)[1]
    module = (
        (Plain, Normalized)[draw.integers(2)] if draw.random() < 0.4 else MODULES[draw.integers(len(MODULES))]
    )
    kind = list(_HOLDERS)[draw.integers(len(_HOLDERS))]
    options: dict[str, Any] = {
        "gradient_clip": 1.0,
        "curvature_clip": 0.5,
        "loss_bound": 2.0,
        "invalid": "zero",
    }

    def read(X: np.ndarray, y: np.ndarray) -> Reading:
        warnings.filterwarnings("ignore", "There is a performance drop")  # said once a process
        with np.errstate(all="ignore"):
            data = (_HOLDERS[kind](X.copy()), _HOLDERS[kind](y.copy()))
        risk = sv.autodiff.TorchRisk(module(), _classes if whole else _squares, data, **options)
        answers = answers_of(risk)
        state = {name: held.tolist() for name, held in risk.module_with(risk.start).state_dict().items()}
        return Reading(answers=answers, public=f"{risk!r} {risk.start.tolist()} {state}")

    note = f"{module.__name__}, {note}, {kind}, target {targets[place]}"
    return Pair(lambda: read(X, y), lambda: read(other, targets), place, note)


_TYPED: dict[str, Callable[[list[Any]], Any]] = {
    "lists": lambda rows: rows,
    "tuples": tuple,
    "objects": lambda rows: np.array(rows, dtype=object),
    "rows of objects": lambda rows: [np.array(row, dtype=object) for row in rows],
    "array": lambda rows: np.array([[int(cell) % 2**40 for cell in row] for row in rows], dtype=np.int64),
    "real array": lambda rows: np.array(rows, dtype=np.float64),
}


def _types(draw: Draw) -> Pair:
    """Whole numbers past 2^24, of which one is replaced by a cell of another kind."""
    n = int(draw.integers(2, 7))
    place = int(draw.integers(n))
    rows: list[list[Any]] = draw.integers(2**24, 2**40, (n, DIM)).tolist()
    y = draw.normal(size=n)
    stranger = [0.5, 2**70, True, 7, 1e300, -(2.0**30)][draw.integers(6)]
    other = [list(row) for row in rows]
    other[place][draw.integers(DIM)] = stranger
    kind = list(_TYPED)[draw.integers(len(_TYPED))]

    def read(rows: list[list[Any]]) -> Reading:
        risk = sv.autodiff.TorchRisk(
            Cast(),
            _squares,
            (_TYPED[kind](rows), y),
            gradient_clip=1.0,
            curvature_clip=0.5,
            loss_bound=2.0,
            invalid="zero",
        )
        return Reading(answers=answers_of(risk), public=f"{risk!r}")

    return Pair(lambda: read(rows), lambda: read(other), place, f"{kind}, {stranger!r}")


DOORS = (
    Door("torch: modules and examples", _modules, 30),
    Door("torch: types of cells", _types, 20),
)
