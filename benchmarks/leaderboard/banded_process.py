"""jax-privacy's side, in an environment of its own: loads rows.npz, then fits once for each line of settings.

    python -P benchmarks/leaderboard/banded_process.py FOLDER

A line is JSON: bands, steps, chance of a record to be drawn in its cycle, expected size of a batch,
multiplier, rate, seed. The answer is the last weights and the mean of the last half of them. Batches,
clipping, the strategy and its correlated noise are jax-privacy's."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy import batch_selection
from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig
from jax_privacy.matrix_factorization import toeplitz

PADDING = 1024


def logistic(w: jax.Array, x: jax.Array, sign: jax.Array) -> jax.Array:
    return jnp.mean(jax.nn.softplus(-sign * (x @ w)))


@functools.cache
def strategy(steps: int, bands: int) -> np.ndarray:
    return np.asarray(toeplitz.optimize_banded_toeplitz(n=steps, bands=bands))


@functools.cache
def plan(bands: int, steps: int, chance: float, size: int, multiplier: float, seed: int) -> Any:
    return BandMFExecutionPlanConfig(
        iterations=steps,
        strategy=strategy(steps, bands),
        sampling_prob=chance,
        epsilon=None,
        delta=None,
        noise_multiplier=multiplier,
        normalize_by=size,
        noise_seed=seed,
    ).plan


@functools.cache
def step_of(bands: int, steps: int, chance: float, size: int, multiplier: float) -> Any:
    """One compiled step; the seed of the noise is in its state."""
    made = plan(bands, steps, chance, size, multiplier, 0)
    gradient = made.clipped_grad(logistic, batch_argnums=(1, 2))

    @jax.jit
    def step(w: Any, x: Any, sign: Any, padded: Any, noise: Any, rate: Any) -> Any:
        clipped = gradient(w, x, sign, is_padding_example=padded)
        noisy, noise = made.noise_addition_transform.update(clipped, noise)
        return w - rate * noisy, noise

    return step


def fitted(X: np.ndarray, y: np.ndarray, rate: float, seed: int, **asked: Any) -> list[np.ndarray]:
    step, own = step_of(**asked), plan(**asked, seed=seed)
    w, steps = jnp.zeros(X.shape[1]), asked["steps"]
    noise, mean = own.noise_addition_transform.init(w), np.zeros(X.shape[1])
    drawn = own.batch_selection_strategy.batch_iterator(len(X), np.random.default_rng(seed))
    for count, batch in enumerate(drawn):
        index = batch_selection.pad_to_multiple_of(batch, PADDING)
        w, noise = step(w, X[index], y[index], index == -1, noise, rate)
        if count >= steps // 2:
            mean += np.asarray(w) / (steps - steps // 2)
    return [np.asarray(w, dtype=np.float64), mean]


def main() -> None:
    warnings.simplefilter("ignore")
    with np.load(Path(sys.argv[1]) / "rows.npz") as stored:
        X, y = stored["X"].astype(np.float32), stored["y"].astype(np.float32)
    for line in sys.stdin:
        print(json.dumps([w.tolist() for w in fitted(X, y, **json.loads(line))]), flush=True)


if __name__ == "__main__":
    main()
