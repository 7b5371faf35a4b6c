"""Defects in files of the trusted base that no other list plants one in."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

ORACLE = "tests/privacy/test_oracle.py"

COUNTS = "tests/losses/test_counts.py -k"

BASE = (
    Mutant(
        "the pull of a large count left out of its slope",
        "losses.base:Loss.slope_within",
        "max(high, 1.0 - low)",
        "high",
        f"{COUNTS} reach_are_bounded",
    ),
    Mutant(
        "the largest count left out of its value",
        "losses.base:Loss.value_within",
        "self.value(ends) + np.maximum(0.0, -ends)",
        "self.value(ends)",
        f"{COUNTS} reach_are_bounded",
    ),
    Mutant(
        "slopes of counts as if rates stayed below their bound",
        "losses.counts:Poisson",
        "Constants(slope=1.5, **_)",
        "Constants(slope=1.0, **_)",
        f"{COUNTS} those_of_the_definition",
    ),
    Mutant(
        "sums over rows taken for exact",
        "privacy.rounding:Arithmetic.mean",
        "sums * self.counted * largest",
        "0.0",
        "tests/privacy/test_rounding.py",
    ),
    Mutant(
        "a share rounded up",
        "accounting.allowance:share",
        "left // whole('parts', parts)",
        "-(-left // whole('parts', parts))",
        "tests/accounting/test_ledger.py",
    ),
    Mutant(
        "delta of 1 accepted",
        "accounting.budget:Budget.__init__",
        "delta >= 1.0",
        "delta > 1.0",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "infinite numbers priced",
        "accounting.checks:nonnegative",
        "not math.isfinite(number) or number < 0.0",
        "number < 0.0",
        "tests/accounting/test_events.py",
    ),
    Mutant(
        "a batch larger than its population",
        "accounting.events:_check_batch",
        "batch > population",
        "False",
        "tests/accounting/test_events.py",
    ),
    Mutant(
        "a seal that leaves out what was charged",
        "accounting.disk.entries:Entry.seal",
        "[previous, self.number, self.id, self.dataset, self.kind, self.at, self.body]",
        "[previous, self.number, self.id, self.dataset, self.kind, self.at]",
        "tests/accounting/test_ledger_damage.py",
    ),
    Mutant(
        "the guarantee of the last run alone",
        "accounting.guarantee:Guarantee.over",
        "composed(lineage)",
        "composed(lineage[-1:])",
        "tests/system/test_chains.py tests/accounting/test_lineage.py",
    ),
    Mutant(
        "weights of a result not recognised",
        "accounting.lineage:origin_of",
        "known is not None and known[0]() is value",
        "False",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "a ledger not told from other files",
        "accounting.disk.identity:_is_ledger",
        "start.startswith(_HEADER) and number == APPLICATION.to_bytes(4, 'big')",
        "False",
        "tests/system/test_outputs.py",
    ),
    Mutant(
        "a matrix charged as a vector of its columns",
        "queries.base:Query.entries",
        "length * (length + 1) // 2 if self.form is Form.SYMMETRIC else length",
        "length",
        "tests/privacy/test_release.py",
    ),
    Mutant(
        "the last block of a pass left out",
        "data.threads:in_order",
        "range(count)",
        "range(max(1, count - 1))",
        "tests/kernels/test_kernels.py -k threads",
    ),
    Mutant(
        "BLAS orders a pass's sums by threads of its own",
        "data.threads:_Blas.limited",
        "_controller().limit(limits=1, user_api='blas')",
        "_controller().limit(limits=2, user_api='blas')",
        "tests/kernels/test_kernels.py -k blas",
    ),
    Mutant(
        "an interaction of categories held at the unit of one",
        "data.layout:_layout",
        "float(np.float32(short * (short / unit)))",
        "short * 2.0",
        "tests/kernels/test_compact.py -k entry_by_entry",
    ),
    Mutant(
        "a limited gradient asked without its limit",
        "queries.asking:Queries.limited_gradient",
        "LimitedGradient(w, limit)",
        "Gradient(w)",
        "tests/losses/test_limited.py",
    ),
    Mutant(
        "rows of one person taken for independent",
        "queries.scores:Information.admitted",
        "problem.unit != 'record'",
        "False",
        "tests/models/test_scores.py",
    ),
    Mutant(
        "a penalty's curvature stated at half",
        "regularizers:Tukey.curvature_high",
        "2.0 * self.strength",
        "self.strength",
        "tests/test_regularizers.py",
    ),
    Mutant(
        "means of rows as if two could not point apart",
        "privacy.charges:_means",
        "bands.ball_distance(facts.influence, relation)",
        "0.5 * bands.ball_distance(facts.influence, relation)",
        "tests/attacks/test_neighbours.py -k climbing_finds",
    ),
    Mutant(
        "marginals asked with more than their share",
        "features.additive:Additive.settled",
        "int(SHARE * whole)",
        "whole",
        "tests/features/test_additive.py -k better_than_the_line",
    ),
    Mutant(
        "a pile of records is seen in noise",
        "features.marginals:Marginal.is_piled",
        "max(self.shares) - _SURELY * self.noise",
        "max(self.shares)",
        "tests/features/test_selection.py -k told_from_noise",
    ),
    Mutant(
        "curves that are there move their knots while others are looked at",
        "features.additive:Additive.bent",
        "curved(self.schema, self._knots, self.marginals, self._names, apart=True)",
        "curved(self._plain, self._knots, self.marginals, self._names, apart=True)",
        "tests/features/test_selection.py -k knots_where_it_has_them",
    ),
)
