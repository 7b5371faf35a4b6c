"""Places in a call: a row at a kink is on or off by where BLAS finds it, so nobody may move another's place.

All others are one row, which a layer, or a product, maps to a number that rounding decides: at some places of
a call it is above a threshold and at others not. Whoever moves them to another place, or has them computed in
another way, moves all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.kernels.compiled.products import DenseView
from sottovoce.kernels.products import WideView
from sottovoce.kernels.sums import LinearSums
from sottovoce.queries.residuals import edges
from sottovoce.trusted import compiling, requests
from tests.attacks.doors.engine import Answer, Door, Draw, Pair, Reading, charging
from tests.attacks.doors.figures import FIGURES
from tests.attacks.doors.probes import answers_of, listening
from tests.attacks.doors.tables import LAYOUTS

TRIES = 20
_LENGTHS = (4, 5, 7, 8, 17, 31, 64)
RELATIONS = (Relation.REPLACE_ONE, Relation.ZERO_OUT)


class Unknown(nn.Sequential):
    """A chain that could do anything: its gradients are taken example by example."""


class Kinked(NamedTuple):
    """Linear, ReLU, Linear and a row at its kink; calls take so much memory."""

    module: nn.Module
    row: np.ndarray
    dtype: torch.dtype
    memory: float


def _kinked(draw: Draw) -> Kinked:
    """Calls are short, as those of a large module are. Of some tries the first whose sign differs by place in
    such a call, or in one that is shorter by one."""
    dtype = torch.float32 if draw.random() < 0.9 else torch.float64
    inputs, hidden = int(draw.choice([33, 64])), int(draw.integers(1, 4))
    length = int(draw.choice([2, 3, 4, 5, 6, 7, 8, 9, 10]))
    torch.manual_seed(int(draw.integers(2**31)))
    for _ in range(TRIES):
        first = nn.Linear(inputs, hidden, dtype=dtype)
        row = torch.randn(inputs, dtype=dtype)
        with torch.no_grad():
            for _ in range(2):
                first.bias -= first(row)
            found = [
                torch.func.vmap(first)(row.expand(rows, 1, inputs).clone())[:, 0] > 0.0
                for rows in (length, length - 1)
            ]
        if len(torch.unique(torch.cat(found), dim=0)) > 1:
            break
    second = nn.Linear(hidden, 1, dtype=dtype)
    with torch.no_grad():
        second.weight.fill_(5.0)
    chain = nn.Sequential if draw.random() < 0.5 else Unknown
    entries = 2 * (inputs + 2 * hidden + 1) if chain is nn.Sequential else (inputs + 2) * hidden + 1
    memory = 32.0 * (entries + 64) * (length + 0.5)
    return Kinked(chain(first, nn.ReLU(), second), row.double().numpy(), dtype, memory)


def _squares(outputs: Tensor, targets: Tensor) -> Tensor:
    return 0.5 * (outputs[:, 0] - targets) ** 2


def _risk(made: Kinked, X: np.ndarray, **more: Any) -> Any:
    module = made.module
    return sv.autodiff.TorchRisk(
        module,
        _squares,
        (X, np.full(len(X), 3.0)),
        gradient_clip=1.0,
        curvature_clip=1.0,
        loss_bound=2.0,
        curvature="matrix" if sum(p.numel() for p in module.parameters()) <= 40 else "products",
        dtype=made.dtype,
        memory=made.memory,
        invalid="zero",
        **more,
    )


def _person(draw: Draw) -> Pair:
    """A person, first, last or in the middle, with none, fewer, more or other rows."""
    made = _kinked(draw)
    row = made.row
    relation = RELATIONS[draw.integers(2)]
    others = int(draw.integers(20, 50))
    counts = np.ones(others, dtype=int) if draw.random() < 0.5 else draw.integers(1, 4, others)
    keys = np.repeat([f"other {number}" for number in range(others)], counts)
    where = int(draw.choice([0, 0, len(keys) // 2, len(keys)]))
    few, many = int(draw.integers(1, 4)), int(draw.integers(1, 12))
    mine = (0 if relation is Relation.ZERO_OUT else few, many)

    def read(rows: int) -> Reading:
        own = 0.1 * np.random.default_rng(rows).standard_normal((rows, row.size))
        X = np.insert(np.tile(row, (len(keys), 1)), where, 0.0, axis=0)
        X = np.concatenate([X[:where], own, X[where + 1 :]])
        groups = [*keys[:where], *["me"] * rows, *keys[where:]]
        risk = _risk(made, X, groups=groups, persons=others + 1)
        return Reading(answers=answers_of(risk, risk.start, relation), public=f"{risk!r}")

    note = f"{relation.value}, {mine[0]} against {mine[1]} rows of a person at {where} of {len(keys)}"
    return Pair(lambda: read(mine[0]), lambda: read(mine[1]), -1, note)


def _batch(draw: Draw) -> Pair:
    """A batch with and without a record, or person, as Poisson batches have it, or with another one in its
    place, as batches of fixed size have it."""
    made = _kinked(draw)
    row = made.row
    n = int(draw.integers(40, 100))
    size = int(draw.integers(10, n // 2))
    chosen = draw.permutation(n)[: size + 1]
    relation = RELATIONS[draw.integers(2)]
    first = np.sort(chosen[:size])
    second = np.sort(np.append(chosen[1:size], chosen[size : size + (relation is Relation.REPLACE_ONE)]))
    groups = np.arange(n) // 2 if draw.random() < 0.3 else None
    if groups is not None:
        first, second = (np.unique(part // 2) for part in (first, second))
        if relation is Relation.ZERO_OUT:
            second = first[1:]
        else:
            second = np.sort(np.append(first[1:], np.setdiff1d(np.arange(n // 2), first)[0]))
    X = np.tile(row, (n, 1))

    def read(indices: np.ndarray) -> Reading:
        risk = _risk(made, X, groups=groups, persons=None if groups is None else int(groups[-1]) + 1)
        batch = risk.subset(indices.astype(np.int64), n=len(first))
        return Reading(answers=answers_of(batch, risk.start, relation))

    note = f"{relation.value}, {len(first)} and {len(second)} of {n}, persons {groups is not None}"
    return Pair(lambda: read(first), lambda: read(second), -1, note)


class Foreign:
    """Someone else's linear classifier and regressor, as any other library computes them: by BLAS."""

    classes_ = np.array([0, 1])

    def __init__(self, weights: np.ndarray, shift: float) -> None:
        self._weights, self._shift = weights, shift

    def scores(self, X: Any) -> np.ndarray:
        rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        return (rows.astype(self._weights.dtype) @ self._weights)[:, 0] - self._shift

    def predict(self, X: Any) -> np.ndarray:
        return (self.scores(X) > 0.0).astype(np.int64)

    def predict_proba(self, X: Any) -> np.ndarray:
        odds = np.where(self.scores(X) > 0.0, 0.9, 0.1)
        return np.column_stack([1.0 - odds, odds])


def _foreign(draw: Draw) -> tuple[Foreign, np.ndarray]:
    """A model and a row whose score differs in sign by place: of some tries the first."""
    kind = np.float32 if draw.random() < 0.5 else np.float64
    for _ in range(TRIES):
        columns, outputs = int(draw.choice([16, 33, 64, 100])), int(draw.choice([1, 1, 2, 3]))
        weights, row = draw.normal(size=(columns, outputs)).astype(kind), draw.normal(size=columns)
        row = row.astype(np.float32).astype(np.float64)
        seen = np.unique(
            [s for length in (1, *_LENGTHS) for s in Foreign(weights, 0.0).scores(np.tile(row, (length, 1)))]
        )
        if len(seen) > 1:
            return Foreign(weights, float(seen[0])), row
    return Foreign(weights, 0.0), row


def _figure(draw: Draw) -> Pair:
    """A private figure of such a model by persons, one of whom has none, fewer or more rows."""
    model, row = _foreign(draw)
    name = list(FIGURES)[draw.integers(len(FIGURES))]
    layout = list(LAYOUTS)[draw.integers(len(LAYOUTS))]
    relation = RELATIONS[draw.integers(2)]
    others = int(draw.integers(5, 70))
    first, rows = bool(draw.random() < 0.3), int(draw.integers(1, 9))
    mine = (0 if relation is Relation.ZERO_OUT else int(draw.integers(1, 4)), rows)
    budget = sv.Budget(1.0, 1e-5, relation)
    options: dict[str, Any] = {"target": (0.0, 1.0)} if name in ("absolute_error", "deviance") else {}

    def read(rows: int) -> Reading:
        ledger = sv.Ledger(budget, unit="person")
        own, keys = ["me"] * rows, [f"other {number}" for number in range(others)]
        X = LAYOUTS[layout](np.tile(row, (others + rows, 1)))
        y = np.ones(others + rows, dtype=np.int64)

        def ask() -> Reading:
            with listening() as listener:
                FIGURES[name](
                    model,
                    X,
                    y,
                    budget=budget,
                    ledger=ledger,
                    reading=sv.ReadOptions(invalid="zero"),
                    groups=own + keys if first else keys + own,
                    persons=others + 1,
                    **options,
                )
            return Reading(answers=listener.answers)

        return charging(ledger, ask)

    note = f"{name}, {layout}, {relation.value}, {mine[0]} against {mine[1]} rows, {others} others"
    return Pair(lambda: read(mine[0]), lambda: read(mine[1]), -1, note)


def _edged(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """A row and weights whose product is 1 or just below by where, and how, it is computed: of some tries the
    first."""
    for _ in range(TRIES):
        dim = int(draw.choice([5, 8, 20, 54]))
        row = draw.normal(size=dim)
        row = (row / (2.0 * np.linalg.norm(row))).astype(np.float32)
        w = draw.normal(size=dim)
        w /= float(row.astype(np.float64) @ w)
        seen = [
            products
            for rows in range(1, 10)
            for view in (WideView, DenseView)
            for products in view(np.tile(row, (rows, 1))).times(np.column_stack([w, w]))[:, 0].tolist()
        ]
        if min(seen) < 1.0 <= max(seen):
            break
    return row, w


def _product(draw: Draw) -> Pair:
    """Residuals counted in bands by persons, one of whom has none, fewer or more rows; compiled or not, or by
    a size that their rows reach on one side only."""
    row, w = _edged(draw)
    relation = RELATIONS[draw.integers(2)]
    others = int(draw.integers(5, 70))
    first, rows = bool(draw.random() < 0.3), int(draw.integers(1, 9))
    mine = (0 if relation is Relation.ZERO_OUT else int(draw.integers(1, 4)), rows)
    path = str(draw.choice(["reference", "compiled", ""]))
    layout = sparse.csr_array if draw.random() < 0.3 else np.array
    threshold = (others + int(draw.integers(0, 9))) * row.size

    def read(rows: int) -> Reading:
        own, keys = ["me"] * rows, [f"other {number}" for number in range(others)]
        groups = own + keys if first else keys + own
        X = layout(np.tile(row, (others + rows, 1)))
        records = sv.Records.from_arrays(
            X, np.zeros(len(groups)), target=(-1.0, 1.0), groups=groups, persons=others + 1, invalid="zero"
        )
        risk, sums = sv.Risk(records, sv.losses.PseudoHuber()), LinearSums(records)
        asked = requests.ResidualShares(sv.losses.PseudoHuber().law, w, edges(risk.problem))
        with (
            mock.patch.dict("os.environ", {"SOTTOVOCE_KERNELS": path}),
            mock.patch.object(compiling, "WORTH_COMPILING", threshold),
        ):
            found = Answer(sums.answer(asked), sums.sensitivity(asked, relation))
        return Reading(answers={"residuals": found}, public=f"{records!r}")

    note = f"{path or 'by size'}, {relation.value}, {mine[0]} against {mine[1]} rows, {others} others"
    return Pair(lambda: read(mine[0]), lambda: read(mine[1]), -1, note)


_DRAWN: dict[str, tuple[Callable[[Draw], Pair], int]] = {
    "torch: places of persons": (_person, 6),
    "torch: places in batches": (_batch, 6),
    "evaluation: places of persons": (_figure, 40),
    "records: places of persons": (_product, 40),
}
DOORS = tuple(Door(name, pair, share) for name, (pair, share) in _DRAWN.items())
