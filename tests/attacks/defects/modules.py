"""The same attacks on PyTorch modules, whose examples are clipped one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from torch import nn

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.queries.clipped import ClippedGradient, GradientBands
from tests.attacks import test_neighbours as climbs
from tests.attacks.defects.watching import asked, coupled, digest, require_apart, require_paid
from tests.autodiff import models

NAMES = (
    *(
        "gradient",
        "gradient change",
        "gradient norm",
        "hessian",
        "curvature product",
        "eigenvalue",
        "trials",
        "grid",
    ),
    *("line search", "value", "clipped gradient", "gradient bands"),
)
ASKED, CANDIDATES = 4, 2
COUNT = 18
"""Attacks by queries: every kind of module, record or person, and both relations."""

CURVED = ("hessian", "curvature product", "eigenvalue")
"""Always asked of the one module whose curvature takes both signs, in turn."""


def _first(outputs: Any, targets: Any) -> Any:
    return models.quarter_square(outputs[:, 0], targets)


def _risk(kind: str, one: Any, persons: bool) -> Any:
    """One example, or a person with two that are alike, among others; None for a person without any."""
    X, y = models.phase_data(4, climbs.COLUMNS, seed=1)
    keys = np.arange(1, 5)
    if one is not None:
        mine = np.stack([one[0]] * (2 if persons else 1))
        X, y = np.vstack([mine, X]), np.concatenate([[one[1]] * len(mine), y])
        keys = np.append(np.zeros(len(mine), dtype=int), keys)
    chain = nn.Sequential(nn.Linear(climbs.COLUMNS, 1, bias=False, dtype=torch.float64))
    module, loss = {
        "squared": (models.Squared(climbs.COLUMNS), models.quarter_square),
        "linear": (models.Linear(climbs.COLUMNS), models.logistic),
        "layers": (chain, _first),
    }[kind]
    terms: dict[str, Any] = {"groups": keys, "persons": 5} if persons else {}
    clips = {"gradient_clip": 0.5, "curvature_clip": 0.25}
    return sv.autodiff.TorchRisk(module, loss, (X, y), invalid="zero", **clips, **terms)


def queries(seed: int) -> str:
    """Examples that could stand in one place, hostile ones among them: every two of them are neighbours.

    Two differ in their label alone, which is so far off that terms, curvature and falls change their sign."""
    torch.set_num_threads(1)
    draw = np.random.default_rng([seed, 31])
    kind = ("squared", "linear", "layers")[seed % 3]
    persons = bool((seed // 3) % 2)
    relation = list(Relation)[(seed // 6) % 2] if persons else Relation.REPLACE_ONE
    names = [str(name) for name in draw.permutation(NAMES)[:ASKED]]
    if kind == "squared":
        names[0] = CURVED[(seed // 3) % len(CURVED)]
    choice = climbs.decoded(draw.normal(size=80), "residual", None)
    sizes = draw.choice([1.0, 1e3, 1e160, np.nan], CANDIDATES) * draw.choice([-1.0, 1.0], CANDIDATES)
    held = [(choice.u, 1e3), (choice.u, -1e3)]
    held += [(size * choice.u, float(draw.choice([1.0, -1.0, 1e3]))) for size in sizes]

    def query(name: str, problem: Any) -> Any:
        if name == "clipped gradient":
            return ClippedGradient(choice.u, choice.limit)
        return GradientBands(choice.u) if name == "gradient bands" else choice.query(name, problem)

    def log(one: Any) -> Any:
        return asked(names, lambda: _risk(kind, one, persons), query, relation, seed)

    logs = [log(one) for one in held]
    require_paid(logs[0])
    if relation is Relation.REPLACE_ONE:
        require_apart(itertools.combinations(logs, 2))
    else:
        null = log(None)
        require_apart((one, null) for one in logs)
    return digest(logs[0]) + digest(logs[-1])


def fits(seed: int) -> str:
    """A whole run of `fit_torch`, and over a neighbour with the same answers."""
    torch.set_num_threads(1)
    X, y = models.linear_data(80, 3, seed)
    Z, z = X.copy(), y.copy()
    Z[7], z[7] = 1e3, -y[7]

    def fitted(X: Any, y: Any) -> list[bytes]:
        module = nn.Sequential(nn.Linear(3, 2))
        with torch.no_grad():
            for held in module.parameters():
                held.zero_()
        data = (X, (y > 0).astype(np.int64))
        made = sv.fit_torch(module, models.cross_entropy, data, sv.Budget(2.0, 1e-4), simulate=seed)
        return [str(made).encode(), *(part.numpy().tobytes() for part in made.state_dict().values())]

    return coupled(lambda: fitted(X, y), lambda: fitted(Z, z), seed)
