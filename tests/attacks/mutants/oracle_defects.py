"""Answers released without a charge, before it, or with noise for another price; runs that say too much."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

ORACLE = "tests/privacy/test_oracle.py"
TRAINING = "tests/test_training.py -k"

_CHARGE = "        grant = self._run.charge(_event(query, calibration, entries))\n"
_RELEASE = "        released = self._noise.gaussian(compute(), calibration)\n"
_SEARCH = "        self._run.charge(PureEvent(Query.LINE_SEARCH, epsilon))\n"

RELEASES = (
    Mutant(
        "charge skipped",
        "privacy/oracle.py",
        _CHARGE,
        "        from sottovoce.accounting import Grant\n\n"
        "        grant = Grant('0', _event(query, calibration, entries), units, 0)\n",
        f"{ORACLE}::test_every_question_is_charged_once_at_the_price_it_names",
    ),
    Mutant("line search not charged", "privacy/oracle.py", _SEARCH, "", f"{ORACLE} -k charged_once"),
    Mutant(
        "ledger asked after the data",
        "privacy/oracle.py",
        _CHARGE + _RELEASE,
        "        exact = compute()\n" + _CHARGE + _RELEASE.replace("compute()", "exact"),
        f"{ORACLE}::test_the_charge_comes_before_the_data",
    ),
    Mutant(
        "line search asked after the data",
        "privacy/oracle.py",
        _SEARCH + "        line = self._risk.along(w, direction)\n",
        "        line = self._risk.along(w, direction)\n" + _SEARCH,
        f"{ORACLE}::test_the_charge_comes_before_the_data",
    ),
    Mutant(
        "released without noise",
        "privacy/oracle.py",
        _RELEASE,
        "        released = compute()\n",
        f"{ORACLE} -k noise_released",
    ),
    Mutant(
        "charged for an answer that moves less",
        "privacy/oracle.py",
        "        sensitivity=calibration.sensitivity,\n",
        "        sensitivity=0.9 * calibration.moves,\n",
        f"{ORACLE} -k noise_released",
    ),
    Mutant(
        "gradient's sensitivity at other weights",
        "privacy/oracle.py",
        "sensitivity = self._bounds.gradient(w)\n        return self._gaussian(",
        "sensitivity = self._bounds.gradient(0.0 * w)\n        return self._gaussian(",
        f"{ORACLE} -k noise_released",
    ),
    Mutant(
        "trials not divided by their length",
        "privacy/oracle.py",
        "self._risk.trials(w, steps) / lengths",
        "self._risk.trials(w, steps)",
        f"{ORACLE} -k centred",
    ),
    Mutant(
        "weights left beyond the public limit",
        "privacy/desk.py",
        'self.problem.within_limit(arguments.vector("weights", w, self.problem.dim))',
        'arguments.vector("weights", w, self.problem.dim)',
        f"{ORACLE} -k beyond_the_public_limit",
    ),
    Mutant(
        "an oracle can be pickled",
        "privacy/desk.py",
        "    def __reduce__(self) -> NoReturn:",
        "    def refuse(self) -> NoReturn:",
        f"{ORACLE} -k pickled",
    ),
)

RUNS = (
    Mutant(
        "a simulated result starts a private run",
        "training.py",
        "if start.simulated and not simulated:",
        "if False:",
        f"{TRAINING} only_on_its_own_ledger",
    ),
    Mutant(
        "a result of another ledger starts a run",
        "training.py",
        "if ledger is None or start.ledger != ledger.identity:",
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
        "delta=budget.delta, n=problem.n, simulated=noise.simulated",
        "delta=budget.delta, n=problem.n, simulated=False",
        f"{TRAINING} simulated_runs_repeat",
    ),
)

_ARGUMENTS = "tests/privacy/test_oracle_arguments.py"
_MOVED = f"{_ARGUMENTS}::test_no_argument_moves_an_answer_past_what_was_charged"

ARGUMENTS = (
    Mutant(
        "lengths of a search may be negative",
        "privacy/arguments.py",
        "np.all((tried > 0.0) & (tried < math.inf))",
        "np.all(np.isfinite(tried))",
        _MOVED,
    ),
    Mutant(
        "a direction keeps a size at which products underflow",
        "privacy/arguments.py",
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
        "        sparse_vector.insist_payable(sensitivity, epsilon)\n",
        "",
        f"{_ARGUMENTS} -k too_poor",
    ),
    Mutant(
        "half a unit buys an answer",
        "privacy/arguments.py",
        "if isinstance(given, bool) or not isinstance(given, Integral):",
        "if given is None:",
        f"{_ARGUMENTS} -k batch_refuses",
    ),
)
