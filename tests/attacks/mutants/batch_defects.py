"""Batches that are not what amplification assumes, and bounds without their rounding."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

SAMPLING = "tests/privacy/test_sampling.py"
BATCH = "tests/privacy/test_batch_privacy.py"
BOUNDS = "tests/privacy/test_bounds.py"


BATCHES = (
    Mutant(
        "batches drawn with replacement",
        "privacy/sampling.py",
        "chosen = _distinct(np.concatenate([chosen, fresh]))",
        "chosen = np.concatenate([chosen, fresh])",
        SAMPLING,
    ),
    Mutant(
        "batches drawn with a bias",
        "privacy/sampling.py",
        "            words = words[words < np.uint64(last_multiple)]\n",
        "            pass\n",
        SAMPLING,
    ),
    Mutant(
        "private batches can be guessed",
        "privacy/sampling.py",
        "return os.urandom if simulate is None else",
        "return np.random.default_rng(0).bytes if simulate is None else",
        BATCH,
    ),
    Mutant(
        "one batch for all questions",
        "privacy/oracle.py",
        "chosen(self.problem.n, self._size, self._entropy)",
        "chosen(self.problem.n, self._size, np.random.default_rng(0).bytes)",
        BATCH,
    ),
    Mutant(
        "batch drawn before the charge",
        "privacy/oracle.py",
        "        noising = self.noising(question, units)\n",
        "        noising = self.noising(question, units)\n        self._draw()\n",
        BATCH,
    ),
    Mutant(
        "batch's sensitivity over all records",
        "privacy/prices.py",
        "            problem=replace(bounds.problem, n=size),\n",
        "",
        BATCH,
    ),
    Mutant(
        "amplified for a smaller batch",
        "privacy/oracle.py",
        "            batch=self._size,",
        "            batch=1,",
        BATCH,
    ),
    Mutant(
        "paired Hessian not charged",
        "privacy/oracle.py",
        "SharedBatchEvent(tuple(plain), self._size, self.problem.n)",
        "SharedBatchEvent(tuple(plain)[:1], self._size, self.problem.n)",
        BATCH,
    ),
)

ROUNDING = (
    Mutant(
        "gradient's rounding forgotten",
        "privacy/bounds.py",
        "        return moves + 2.0 * self.arithmetic.gradient(",
        "        return moves + 0.0 * self.arithmetic.gradient(",
        BOUNDS,
    ),
    Mutant(
        "Hessian's rounding forgotten",
        "privacy/bounds.py",
        "        return 2.0 * self.arithmetic.hessian(",
        "        return 0.0 * self.arithmetic.hessian(",
        BOUNDS,
    ),
    Mutant(
        "curvature product charged at half of what an eigenvalue moves by",
        "privacy/bounds.py",
        "self._stated(self.eigenvalue_moves(), self._published_hessian)",
        "self._stated(0.5 * self.eigenvalue_moves(), self._published_hessian)",
        "tests/audit/test_question_audits.py",
    ),
    Mutant(
        "trials' rounding forgotten",
        "privacy/bounds.py",
        "        return moves + 2.0 * self.arithmetic.normalized_trials(",
        "        return moves + 0.0 * self.arithmetic.normalized_trials(",
        BOUNDS,
    ),
    Mutant(
        "line search's rounding halved",
        "privacy/bounds.py",
        "return moves + 2.0 * self._difference_error(w, step)",
        "return moves + self._difference_error(w, step)",
        BOUNDS,
    ),
    Mutant(
        "published noise where it is too small",
        "privacy/bounds.py",
        "        if paper < tight * (1.0 - 1e-12):",
        "        if False:",
        BOUNDS,
    ),
)
