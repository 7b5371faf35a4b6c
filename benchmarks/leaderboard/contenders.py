"""Who takes part. Each rival is tuned by the exact loss on rows held out, which is not charged."""

from __future__ import annotations

from benchmarks.leaderboard import libraries
from benchmarks.leaderboard.adassp import adaptive
from benchmarks.leaderboard.descents import batches, charged_passes, full_passes, newton
from benchmarks.leaderboard.objective import perturbed
from benchmarks.leaderboard.query import Board, Contender, ours
from benchmarks.leaderboard.regression import Regression

RELATIONS = ("replace-one", "zero-out")
CLASSIFIERS: dict[str, Contender] = {
    "sottovoce (default)": ours,
    "DP-GD, tuned for free": full_passes,
    "DP-SGD, tuned for free": batches,
    "double-noise Newton, tuned for free": newton,
    "objective perturbation (Redberg et al. 2023), tuned for free": perturbed,
    "diffprivlib 0.6.6 (pure epsilon), best C": libraries.perturbed,
    "Opacus 1.6 DP-SGD, tuned for free": libraries.opacus,
    "jax-privacy 2.0 banded noise, tuned for free": libraries.banded,
    "DP-GD, tuning charged": charged_passes,
}
REGRESSORS: dict[str, Contender] = {
    "sottovoce (default)": ours,
    "private GD (Brown et al. 2024), tuned for free": full_passes,
    "AdaSSP (Wang 2018), ridge tuned for free": adaptive,
    "private GD, tuning charged": charged_passes,
}
CONTENDERS = CLASSIFIERS | REGRESSORS


def of(board: Board) -> dict[str, Contender]:
    return REGRESSORS if isinstance(board, Regression) else CLASSIFIERS
