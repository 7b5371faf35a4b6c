"""Answers released without a charge, before it, or with noise for another price; runs that say too much."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

ORACLE = "tests/privacy/test_oracle.py"
TRAINING = "tests/test_training.py -k"


RELEASES = (
    Mutant(
        "charge skipped",
        "privacy.release:gaussian",
        "grant = run.charge(event)",
        'from sottovoce.accounting.store import Grant\ngrant = Grant("", event, 1, 0)',
        f"{ORACLE}::test_every_query_is_charged_once_at_the_price_it_names",
    ),
    Mutant(
        "line search not charged",
        "privacy.release:pure",
        "grant = run.charge(event)",
        'from sottovoce.accounting.store import Grant\ngrant = Grant("", event, 1, 0)',
        f"{ORACLE} -k charged_once",
    ),
    Mutant(
        "ledger asked after the data",
        "privacy.release:gaussian",
        "grant = run.charge(event)",
        "_ = compute()\ngrant = run.charge(event)",
        f"{ORACLE}::test_the_charge_comes_before_the_data",
    ),
    Mutant(
        "line search asked after the data",
        "privacy.release:pure",
        (
            "grant = run.charge(event)\nreturn run.released(grant, fingerprint(query), lambda: unquoted(mechanism))"
        ),
        (
            "found = mechanism()\ngrant = run.charge(event)\nreturn run.released(grant, fingerprint(query), lambda: found)"
        ),
        f"{ORACLE}::test_the_charge_comes_before_the_data",
    ),
    Mutant(
        "released without noise",
        "privacy.release:gaussian",
        "noise.gaussian(_exact(compute, calibration), calibration)",
        "compute()",
        f"{ORACLE} -k noise_released",
    ),
    Mutant(
        "a released answer made by hand",
        "privacy.release:Released.__init__",
        "raise LedgerError(_)",
        "pass",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "answers of any maker",
        "queries.base:Answer.__init_subclass__",
        "cls.__module__ not in _MAKERS",
        "False",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "a released answer that says less noise than it has",
        "privacy.release:Released.read",
        "self.scale * widening",
        "self.scale",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "charged for an answer that moves less",
        "privacy.oracle:plain_event",
        "GaussianEvent(query.kind, calibrated.sensitivity, calibrated.scale, calibrated.entries, calibrated.step)",
        "GaussianEvent(query.kind, 0.9 * calibrated.exact_sensitivity, calibrated.scale, calibrated.entries, calibrated.step)",
        f"{ORACLE} -k noise_released",
    ),
    Mutant(
        "trials not divided by their length",
        "autodiff.sums:ExampleSums.answer",
        "np.array(falls) / divisors",
        "np.array(falls)",
        "tests/autodiff/test_sensitivity.py -k paid_for",
    ),
    Mutant(
        "weights left beyond the public limit",
        "queries.arguments:weights",
        "problem.within_limit(vector('weights', given, problem.dim))",
        "vector('weights', given, problem.dim)",
        f"{ORACLE} -k beyond_the_public_limit",
    ),
    Mutant(
        "an oracle can be pickled",
        "privacy.prices:Priced.__reduce__",
        ("def __reduce__(self) -> NoReturn:\n    ..."),
        ("def refuse(self) -> NoReturn:\n    ..."),
        f"{ORACLE} -k pickled",
    ),
    Mutant(
        "a query with a bound of the method's own",
        "privacy.prices:require_known",
        "type(query) not in known",
        "False",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "a line search with a bound of the method's own",
        "privacy.oracle:Oracle.search",
        "require_known(query, SEARCHES)",
        "query",
        "tests/privacy/test_release.py",
    ),
)

RUNS = (
    Mutant(
        "a simulated result starts a private run",
        "training:_require_counted",
        "origin.simulated and (not simulated)",
        "False",
        f"{TRAINING} only_on_its_own_ledger",
    ),
    Mutant(
        "a result of another ledger starts a run",
        "training:_require_counted",
        "ledger is None or origin.ledger != ledger.identity",
        "False",
        f"{TRAINING} only_on_its_own_ledger",
    ),
    Mutant(
        "a simulation charged to a ledger file",
        "training:minimize",
        "noise.simulated and account.persistent",
        "False",
        "tests/accounting/test_sqlite_store.py -k anchor",
    ),
    Mutant(
        "a simulation reported as private",
        "training:minimize",
        "Guarantee.over(lineage, simulated=noise.simulated, **_)",
        "Guarantee.over(lineage, simulated=False, **_)",
        f"{TRAINING} simulated_runs_repeat",
    ),
)

_ARGUMENTS = "tests/privacy/test_oracle_arguments.py"
_MOVED = f"{_ARGUMENTS}::test_no_argument_moves_an_answer_past_what_was_charged"

ARGUMENTS = (
    Mutant(
        "lengths of a search may be negative",
        "queries.arguments:line",
        "(tried > 0.0) & (tried < math.inf)",
        "np.isfinite(tried)",
        f"{_ARGUMENTS}::test_a_search_goes_forward_or_is_refused_before_the_charge",
    ),
    Mutant(
        "a direction keeps a size at which products underflow",
        "queries.arguments:_scaled",
        "math.frexp(largest)[1]",
        "0",
        _MOVED,
    ),
    Mutant(
        "a norm whose squares underflow",
        "privacy.sensitivity:norm_above",
        "math.nextafter(largest * float(np.linalg.norm(v / largest)) * (1.0 + 2.0 ** (-40)), math.inf)",
        "float(np.linalg.norm(v)) * (1.0 + 2.0 ** (-40))",
        f"{_ARGUMENTS} -k norm",
    ),
    Mutant(
        "a search found too poor after the charge",
        "privacy.oracle:Oracle.search",
        "require_payable(sensitivity, epsilon)",
        "",
        f"{_ARGUMENTS} -k too_poor",
    ),
    Mutant(
        "half a unit buys an answer",
        "queries.arguments:units",
        "isinstance(given, bool) or not isinstance(given, Integral)",
        "given is None",
        f"{_ARGUMENTS} -k batch_refuses",
    ),
)
