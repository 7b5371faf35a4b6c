"""Answers released without a charge, before it, or with noise for another price; runs that say too much."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

ORACLE = "tests/privacy/test_oracle.py"
TRAINING = "tests/test_training.py -k"

_CHARGE = "    units = run.charge(event).units\n"
_RELEASE = "self._noise.gaussian(compute(), self._calibration)"
_PURE = "    run.charge(event)\n    return mechanism()\n"

RELEASES = (
    Mutant(
        "charge skipped",
        "privacy/release.py",
        _CHARGE,
        "    units = 1\n",
        f"{ORACLE}::test_every_question_is_charged_once_at_the_price_it_names",
    ),
    Mutant(
        "line search not charged",
        "privacy/release.py",
        _PURE,
        "    return mechanism()\n",
        f"{ORACLE} -k charged_once",
    ),
    Mutant(
        "ledger asked after the data",
        "privacy/release.py",
        _CHARGE,
        "    _ = [compute() for _, compute in parts]\n" + _CHARGE,
        f"{ORACLE}::test_the_charge_comes_before_the_data",
    ),
    Mutant(
        "line search asked after the data",
        "privacy/release.py",
        _PURE,
        "    found = mechanism()\n    run.charge(event)\n    return found\n",
        f"{ORACLE}::test_the_charge_comes_before_the_data",
    ),
    Mutant(
        "released without noise", "privacy/release.py", _RELEASE, "compute()", f"{ORACLE} -k noise_released"
    ),
    Mutant(
        "a paid answer drawn twice",
        "privacy/release.py",
        "compute, self._compute = self._compute, None",
        "compute = self._compute",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "charged for an answer that moves less",
        "privacy/oracle.py",
        "GaussianEvent(question.kind, noising.sensitivity,",
        "GaussianEvent(question.kind, 0.9 * noising.moves,",
        f"{ORACLE} -k noise_released",
    ),
    Mutant(
        "gradient's sensitivity at other weights",
        "questions/derivatives.py",
        "return bounds.gradient(self.w)",
        "return bounds.gradient(0.0 * self.w)",
        f"{ORACLE} -k noise_released",
    ),
    Mutant(
        "trials not divided by their length",
        "questions/lines.py",
        "return risk.trials(self.w, self.steps) / lengths",
        "return risk.trials(self.w, self.steps)",
        f"{ORACLE} -k centred",
    ),
    Mutant(
        "weights left beyond the public limit",
        "questions/arguments.py",
        'problem.within_limit(vector("weights", given, problem.dim))',
        'vector("weights", given, problem.dim)',
        f"{ORACLE} -k beyond_the_public_limit",
    ),
    Mutant(
        "an oracle can be pickled",
        "privacy/prices.py",
        "    def __reduce__(self) -> NoReturn:",
        "    def refuse(self) -> NoReturn:",
        f"{ORACLE} -k pickled",
    ),
    Mutant(
        "a question with a bound of the method's own",
        "privacy/prices.py",
        "if type(question) not in known:",
        "if False:",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "a line search with a bound of the method's own",
        "privacy/oracle.py",
        "insist_known(question, SEARCHES).admitted",
        "question.admitted",
        "tests/privacy/test_release.py",
    ),
)

RUNS = (
    Mutant(
        "a simulated result starts a private run",
        "training.py",
        "if origin.simulated and not simulated:",
        "if False:",
        f"{TRAINING} only_on_its_own_ledger",
    ),
    Mutant(
        "a result of another ledger starts a run",
        "training.py",
        "if ledger is None or origin.ledger != ledger.identity:",
        "if False:",
        f"{TRAINING} only_on_its_own_ledger",
    ),
    Mutant(
        "a simulation charged to a ledger file",
        "training.py",
        "if noise.simulated and account.persistent:",
        "if False:",
        "tests/accounting/test_sqlite_store.py -k anchor",
    ),
    Mutant(
        "a simulation reported as private",
        "training.py",
        "cap=None if ledger is None else ledger.cap, simulated=noise.simulated",
        "cap=None if ledger is None else ledger.cap, simulated=False",
        f"{TRAINING} simulated_runs_repeat",
    ),
)

_ARGUMENTS = "tests/privacy/test_oracle_arguments.py"
_MOVED = f"{_ARGUMENTS}::test_no_argument_moves_an_answer_past_what_was_charged"

ARGUMENTS = (
    Mutant(
        "lengths of a search may be negative",
        "questions/arguments.py",
        "np.all((tried > 0.0) & (tried < math.inf))",
        "np.all(np.isfinite(tried))",
        _MOVED,
    ),
    Mutant(
        "a direction keeps a size at which products underflow",
        "questions/arguments.py",
        "    exponent = math.frexp(largest)[1]\n",
        "    exponent = 0\n",
        _MOVED,
    ),
    Mutant(
        "a norm whose squares underflow",
        "privacy/bounds.py",
        "math.nextafter(largest * float(np.linalg.norm(v / largest)) * (1.0 + 2.0**-40), math.inf)",
        "float(np.linalg.norm(v)) * (1.0 + 2.0**-40)",
        f"{_ARGUMENTS} -k norm",
    ),
    Mutant(
        "a grid of nearly equal lengths charged by differences that cancel",
        "privacy/sensitivity.py",
        "math.expm1(count * rate) / math.expm1(rate)",
        "(1.0 - shrink ** (2 * count)) / (1.0 - shrink * shrink)",
        f"{_ARGUMENTS} -k sum_of_its_squares",
    ),
    Mutant(
        "a search found too poor after the charge",
        "privacy/oracle.py",
        "        insist_payable(moves, epsilon)\n",
        "",
        f"{_ARGUMENTS} -k too_poor",
    ),
    Mutant(
        "half a unit buys an answer",
        "questions/arguments.py",
        "if isinstance(given, bool) or not isinstance(given, Integral):",
        "if given is None:",
        f"{_ARGUMENTS} -k batch_refuses",
    ),
)
