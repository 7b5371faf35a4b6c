"""A small public stand-in for IJCNN1, and runs that nobody had to make."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sottovoce_studies.settings import Trial
from sottovoce_studies.trial import Run


def write_rows(folder: Path, n: int = 4000) -> Path:
    """An ijcnn1.npz of the right shape: ten indicators, twelve numbers, and a sign they explain."""
    luck = np.random.default_rng(7)
    X = np.zeros((n, 22), dtype=np.float32)
    X[np.arange(n), luck.integers(0, 10, n)] = 1.0
    X[:, 10:] = 0.15 * luck.standard_normal((n, 12))
    y = np.where(X[:, 10:13].sum(axis=1) + 0.1 * luck.standard_normal(n) > 0, 1, -1).astype(np.int8)
    np.savez(folder / "ijcnn1.npz", X_train=X, y_train=y)
    return folder


def made_up(trial: Trial, *, stop: str = "CERTIFIED", cut: bool = False, longest: int = 300) -> Run:
    """A run with plausible figures; the seed moves its loss."""
    return Run(
        trial=trial,
        stop=stop,
        cut=cut,
        longest=longest,
        final_loss=0.5 + 0.01 * trial.seed,
        gradient_norm=0.01,
        eigenvalue=-0.001,
        inside=True,
        certified=stop == "CERTIFIED",
        certified_gradient=0.02,
        certified_curvature=-0.01,
        visits=3,
        passes=4.0,
        hessians=1,
        spent=0.25,
        seconds=0.5,
        elapsed=0.6,
        path=((1.0, 0.3), (4.0, 0.01)) if trial.seed == 0 else (),
    )
