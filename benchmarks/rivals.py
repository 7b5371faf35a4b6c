"""PyTorch, Opacus, diffprivlib and scikit-learn as a researcher would use them, each in its own environment.

    python -P benchmarks/rivals.py SUITE FOLDER

runs there, without sottovoce: it loads X.npy and y.npy, then reads names of calls from standard input, makes
one call for each line and answers with its seconds, so that the caller can let both sides take turns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def torch_passes(X, y) -> dict[str, Callable[[], object]]:
    """Autograd gradient, functional Hessian and a full forward pass for each trial."""
    import torch
    from torch.nn.functional import softplus

    def problem(dtype):
        features, signs = torch.tensor(X, dtype=dtype), torch.tensor(y, dtype=dtype)
        w = torch.tensor(np.cos(np.arange(X.shape[1])), dtype=dtype, requires_grad=True)

        def risk(v):
            return softplus(-signs * (features @ v)).mean() + 5e-4 * (v @ v)

        return risk, w

    single, w32 = problem(torch.float32)
    double, w64 = problem(torch.float64)

    def trial(risk, w):
        with torch.no_grad():
            return risk(0.5 * w)

    return {
        "torch gradient, float32": lambda: torch.autograd.grad(single(w32), w32),
        "torch gradient, float64": lambda: torch.autograd.grad(double(w64), w64),
        "torch Hessian, float32": lambda: torch.autograd.functional.hessian(single, w32.detach()),
        "torch Hessian, float64": lambda: torch.autograd.functional.hessian(double, w64.detach()),
        "torch forward, float32": lambda: trial(single, w32),
        "torch forward, float64": lambda: trial(double, w64),
    }


def opacus_fits(X, y) -> dict[str, Callable[[], object]]:
    """Five epochs of DP-SGD on a linear model."""
    import warnings

    import torch
    from opacus import PrivacyEngine

    warnings.simplefilter("ignore")
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor((y > 0).astype(np.float32)))

    def fit():
        model = torch.nn.Linear(X.shape[1], 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        loader = torch.utils.data.DataLoader(data, batch_size=1024)
        model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
            module=model,
            optimizer=optimizer,
            data_loader=loader,
            epochs=5,
            target_epsilon=1.0,
            target_delta=1e-6,
            max_grad_norm=1.0,
        )
        criterion = torch.nn.BCEWithLogitsLoss()
        for _ in range(5):
            for features, labels in loader:
                optimizer.zero_grad()
                criterion(model(features).squeeze(-1), labels).backward()
                optimizer.step()

    return {"Opacus DP-SGD, five epochs": fit}


def diffprivlib_fits(X, y) -> dict[str, Callable[[], object]]:
    import warnings

    from diffprivlib.models import LogisticRegression
    from sklearn.linear_model import LogisticRegression as Plain

    warnings.simplefilter("ignore")
    return {
        "diffprivlib LogisticRegression": lambda: LogisticRegression(epsilon=1.0, data_norm=1.0).fit(X, y),
        "scikit-learn LogisticRegression, not private": lambda: Plain().fit(X, y),
    }


SUITES = {"torch": torch_passes, "opacus": opacus_fits, "diffprivlib": diffprivlib_fits}


def main() -> None:
    suite, folder = sys.argv[1], Path(sys.argv[2])
    calls = SUITES[suite](np.load(folder / "X.npy"), np.load(folder / "y.npy"))
    print(";".join(calls), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        calls[line.strip()]()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
