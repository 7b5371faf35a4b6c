"""Batches that are not what amplification assumes, and bounds without their rounding."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

SAMPLING = "tests/privacy/test_sampling.py"
BATCH = "tests/privacy/test_batch_privacy.py"
BOUNDS = "tests/privacy/test_bounds.py"


BATCHES = (
    Mutant(
        "batches drawn with replacement",
        "privacy.sampling:draw",
        "_distinct(np.concatenate([chosen, fresh]))",
        "np.concatenate([chosen, fresh])",
        SAMPLING,
    ),
    Mutant(
        "batches drawn with a bias",
        "privacy.sampling:draw",
        "words = words[words < np.uint64(last_multiple)]",
        "pass",
        SAMPLING,
    ),
    Mutant(
        "private batches can be guessed",
        "privacy.noise:entropy_for",
        "os.urandom if simulate is None else _",
        "np.random.default_rng(0).bytes if simulate is None else _",
        BATCH,
    ),
    Mutant(
        "amplified for a smaller batch",
        "privacy.batches:BatchOracle.ask",
        "SubsampledGaussianEvent(batch=self._size, **_)",
        "SubsampledGaussianEvent(batch=1, **_)",
        BATCH,
    ),
)

ROUNDING = (
    Mutant(
        "published noise where it is too small",
        "models.bounds:Bounds._stated",
        "paper < tight * (1.0 - 1e-9)",
        "False",
        BOUNDS,
    ),
)
