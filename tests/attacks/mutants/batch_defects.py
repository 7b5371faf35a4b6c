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
        "privacy.sampling:entropy_for",
        "os.urandom if simulate is None else _",
        "np.random.default_rng(0).bytes if simulate is None else _",
        BATCH,
    ),
    Mutant(
        "one batch for all questions",
        "privacy.oracle:BatchOracle._batch",
        "chosen(self.problem.n, self._size, self._entropy)",
        "chosen(self.problem.n, self._size, np.random.default_rng(0).bytes)",
        BATCH,
    ),
    Mutant(
        "batch drawn before the charge",
        "privacy.oracle:BatchOracle.ask",
        "noising = self.noising(question, units)",
        ("noising = self.noising(question, units)\nself._draw()"),
        BATCH,
    ),
    Mutant(
        "batch's sensitivity over all records",
        "privacy.prices:BatchPrices.__init__",
        "replace(bounds, problem=replace(bounds.problem, n=size), **_)",
        "replace(bounds, **_)",
        BATCH,
    ),
    Mutant(
        "amplified for a smaller batch",
        "privacy.oracle:BatchOracle.ask",
        "SubsampledGaussianEvent(batch=self._size, **_)",
        "SubsampledGaussianEvent(batch=1, **_)",
        BATCH,
    ),
    Mutant(
        "paired Hessian not charged",
        "privacy.oracle:BatchOracle._paired",
        "tuple(plain)",
        "tuple(plain)[:1]",
        BATCH,
    ),
)

ROUNDING = (
    Mutant(
        "gradient's rounding forgotten",
        "privacy.bounds:Bounds.gradient",
        "2.0 * _",
        "0.0 * _",
        BOUNDS,
    ),
    Mutant(
        "Hessian's rounding forgotten",
        "privacy.bounds:Bounds._hessian_rounding",
        "2.0 * _",
        "0.0 * _",
        BOUNDS,
    ),
    Mutant(
        "curvature product charged at half of what an eigenvalue moves by",
        "privacy.bounds:Bounds.curvature_product",
        "self.eigenvalue_moves()",
        "0.5 * self.eigenvalue_moves()",
        "tests/audit/test_question_audits.py",
    ),
    Mutant(
        "trials' rounding forgotten",
        "privacy.bounds:Bounds.trials",
        "2.0 * _",
        "0.0 * _",
        BOUNDS,
    ),
    Mutant(
        "line search's rounding halved",
        "privacy.bounds:Bounds.difference",
        "2.0 * self._difference_error(w, step)",
        "self._difference_error(w, step)",
        BOUNDS,
    ),
    Mutant(
        "published noise where it is too small",
        "privacy.bounds:Bounds._stated",
        "paper < tight * (1.0 - 1e-12)",
        "False",
        BOUNDS,
    ),
)
