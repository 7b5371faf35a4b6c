"""Defects in files of the trusted base that no other list plants one in."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

ORACLE = "tests/privacy/test_oracle.py"

COUNTS = "tests/losses/test_counts.py -k"

BASE = (
    Mutant(
        "the pull of a large count left out of its slope",
        "losses/base.py",
        "round_up(max(high, 1.0 - low))",
        "round_up(high)",
        f"{COUNTS} reach_are_bounded",
    ),
    Mutant(
        "the largest count left out of its value",
        "losses/base.py",
        "self.value(ends) + np.maximum(0.0, -ends)",
        "self.value(ends)",
        f"{COUNTS} reach_are_bounded",
    ),
    Mutant(
        "slopes of counts as if rates stayed below their bound",
        "losses/counts.py",
        "slope=1.5, curvature_low",
        "slope=1.0, curvature_low",
        f"{COUNTS} those_of_the_definition",
    ),
    Mutant(
        "compiled slopes of counts forget the count",
        "kernels/compiled/losses.py",
        "            slopes[i] -= targets[i]\n",
        "            slopes[i] -= 0.0\n",
        f"{COUNTS} compiled_sums",
    ),
    Mutant(
        "arcs taken for chords in the diameter",
        "privacy/diameter.py",
        "sag = 0.25 * width * width * bend",
        "sag = 0.0",
        "tests/privacy/test_diameter.py",
    ),
    Mutant(
        "sums over rows taken for exact",
        "privacy/rounding.py",
        "return term + sums * (largest + term)",
        "return term + 0.0 * sums * (largest + term)",
        "tests/privacy/test_rounding.py",
    ),
    Mutant(
        "a share rounded up",
        "accounting/allowance.py",
        '    units = left // whole("parts", parts)\n',
        '    units = -(-left // whole("parts", parts))\n',
        "tests/accounting/test_ledger.py",
    ),
    Mutant(
        "delta of 1 accepted",
        "accounting/budget.py",
        "if delta >= 1.0:",
        "if delta > 1.0:",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "infinite numbers priced",
        "accounting/checks.py",
        "if not math.isfinite(number) or number < 0.0:",
        "if number < 0.0:",
        "tests/accounting/test_events.py",
    ),
    Mutant(
        "a batch larger than its population",
        "accounting/events.py",
        "    if batch > population:\n",
        "    if False:\n",
        "tests/accounting/test_events.py",
    ),
    Mutant(
        "a seal that leaves out what was charged",
        "accounting/disk/entries.py",
        "self.kind, self.at, self.body]",
        "self.kind, self.at]",
        "tests/accounting/test_ledger_damage.py",
    ),
    Mutant(
        "the guarantee of the last run alone",
        "accounting/guarantee.py",
        "epsilon, delta = composed(lineage)",
        "epsilon, delta = composed(lineage[-1:])",
        "tests/system/test_chains.py tests/accounting/test_lineage.py",
    ),
    Mutant(
        "weights of a result not recognised",
        "accounting/lineage.py",
        "if known is not None and known[0]() is value:",
        "if False:",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "a ledger not told from other files",
        "accounting/disk/identity.py",
        'return start.startswith(_HEADER) and number == APPLICATION.to_bytes(4, "big")',
        "return False",
        "tests/system/test_outputs.py",
    ),
    Mutant(
        "a matrix charged as a vector of its columns",
        "questions/base.py",
        "return length * (length + 1) // 2 if self.form is Form.SYMMETRIC else length",
        "return length",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "gram's bound halved in the question",
        "questions/features.py",
        "        return bounds.gram()\n",
        "        return 0.5 * bounds.gram()\n",
        f"{ORACLE} -k noise_released",
    ),
    Mutant(
        "squares heavier than they are charged for",
        "questions/features.py",
        "return np.concatenate([means, self.factor(risk.problem) * summed])",
        "return np.concatenate([means, 2.0 * self.factor(risk.problem) * summed])",
        "tests/audit/test_question_audits.py -k charged",
    ),
    Mutant(
        "softmax gradient not divided by n",
        "risks/softmax.py",
        "        return (total / self.n + self._pull(weights)).ravel()\n\n    def limited",
        "        return (total + self._pull(weights)).ravel()\n\n    def limited",
        "tests/risks/test_softmax.py",
    ),
    Mutant(
        "the last block of a pass left out",
        "data/threads.py",
        "yield from map(work, range(count))",
        "yield from map(work, range(max(1, count - 1)))",
        "tests/kernels/test_kernels.py -k threads",
    ),
    Mutant(
        "BLAS orders a pass's sums by threads of its own",
        "data/threads.py",
        "limit(limits=1, user_api=",
        "limit(limits=2, user_api=",
        "tests/kernels/test_kernels.py -k blas",
    ),
    Mutant(
        "an interaction of categories held at the unit of one",
        "data/layout.py",
        "float(np.float32(short * (short / unit)))",
        "short * 2.0",
        "tests/kernels/test_compact.py -k entry_by_entry",
    ),
    Mutant(
        "a limited gradient asked without its limit",
        "questions/asking.py",
        "return self.ask(LimitedGradient(w, limit), units)",
        "return self.ask(Gradient(w), units)",
        "tests/losses/test_limited.py",
    ),
    Mutant(
        "second moments of scores charged half",
        "questions/scores.py",
        "        return bounds.score_moment(self.w)\n",
        "        return 0.5 * bounds.score_moment(self.w)\n",
        "tests/audit/test_question_audits.py -k charged",
    ),
    Mutant(
        "rows of one person taken for independent",
        "questions/scores.py",
        """        if problem.unit != "record":\n""",
        "        if False:\n",
        "tests/risks/test_scores.py",
    ),
    Mutant(
        "a penalty's curvature stated at half",
        "regularizers.py",
        "return 2.0 * self.strength * _HALF.curvature_high",
        "return self.strength * _HALF.curvature_high",
        "tests/test_regularizers.py",
    ),
    Mutant(
        "columns' squares not divided by n",
        "risks/features.py",
        "return kernels.gram_diagonal(self._records._rows) / self.n",
        "return kernels.gram_diagonal(self._records._rows)",
        "tests/audit/test_question_audits.py -k charged",
    ),
)
