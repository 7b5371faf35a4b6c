"""Guarantees that forget a run, budgets whose weakness is not said, and files that are destroyed."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

LINEAGE = "tests/accounting/test_lineage.py"
OUTPUTS = "tests/system/test_outputs.py"
FORGED = "tests/test_forged_files.py"

CHAINS = (
    Mutant(
        "coefficients in R in encoded units",
        "exports.r:to_r",
        "weights @ terms.matrix.T + terms.offset",
        "weights",
        "tests/exports/test_exports_r.py -k cells_are",
    ),
    Mutant(
        "R reads interactions the other way round",
        "exports.r:_array",
        "values.ravel(order='F')",
        "values.ravel()",
        "tests/exports/test_exports_r.py -k hostile",
    ),
    Mutant(
        "a failing loss quotes a margin",
        "privacy.release:unquoted",
        "type(error).__name__",
        "repr(error)",
        "tests/privacy/test_release.py -k withheld",
    ),
    Mutant(
        "a purpose that no report can hold is charged",
        "accounting.checks:writable",
        'value.encode("utf-8")',
        "value",
        "tests/system/test_check.py -k no_file_can_hold",
    ),
    Mutant(
        "an invisible character makes a second cap",
        "accounting.disk.identity:dataset_name",
        "all(map(_is_seen, given))",
        "given.isprintable()",
        "tests/accounting/test_ledger_identity.py -k invisible",
    ),
    Mutant(
        "the first record of a file without a header is quoted",
        "data.sources:require_present",
        "2 * len(absent) <= len(wanted)",
        "True",
        "tests/system/test_check.py -k first_record",
    ),
    Mutant(
        "a person left out is not told",
        "data.headers:persons_unnamed",
        "schema.person is not None or (not _)",
        "True",
        "tests/system/test_check.py -k left_out",
    ),
    Mutant(
        "no category occurs, and check is content",
        "data.inspection:Findings.useless",
        "self.missing + self.undeclared < self.rows",
        "True",
        "tests/system/test_check.py -k status",
    ),
    Mutant(
        "counts by person without the count",
        "losses.counts:poisson",
        "slope - y",
        "slope",
        "tests/models/test_scores.py -k counts",
    ),
    Mutant(
        "any word is a unit",
        "accounting.guarantee:Guarantee.__post_init__",
        "unit_of(self.unit)",
        "self.unit",
        "tests/accounting/test_statements.py -k no_promise",
    ),
    Mutant(
        "a unit is written as it is",
        "report.markup:text",
        "html.escape(str(value), quote=False)",
        "str(value)",
        f"{FORGED} -k markup",
    ),
    Mutant(
        "the page's policy admits any script",
        "report.page:document",
        "_digest(script)",
        "\"'unsafe-inline'\"",
        "tests/report/test_report.py -k policy",
    ),
    Mutant(
        "two features of one name",
        "data.schema:Schema._require_distinct_features",
        "name in seen",
        "False",
        "tests/data/test_schema.py -k one_name",
    ),
    Mutant(
        "a result forgets the run it started from",
        "training:minimize",
        "() if origin is None else origin.lineage",
        "()",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "weights lose the result they came from",
        "results.result:Result.__post_init__",
        "mark(self.weights, self.origin)",
        "pass",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "a forged guarantee loads",
        "results.result:Result.from_dict",
        "lineage and (not guarantee.fits(lineage))",
        "False",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "a forged promise under the other relation loads",
        "accounting.guarantee:Guarantee.fits",
        "(self.other_epsilon, self.other_delta) != (None, None)",
        "False",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "lattice priced at each run's own epsilon",
        "accounting.lineage:_summed",
        "(1.0 + math.exp(epsilon)) * variation * (1.0 + 1e-12)",
        "smallest / 1000.0",
        LINEAGE,
    ),
    Mutant(
        "the largest run stands for the chain",
        "accounting.lineage:_summed",
        "allowed = sum(_)",
        "allowed = max(_)",
        LINEAGE,
    ),
    Mutant(
        "runs of different currencies summed",
        "accounting.lineage:_summed",
        "kinds or currency is None or (max(steps) > 1 and name != Gdp.name)",
        "currency is None",
        LINEAGE,
    ),
    Mutant(
        "the thousandth for the lattice spent twice",
        "accounting.lineage:_summed",
        "1 - LATTICE_SHARE",
        "1",
        LINEAGE,
    ),
    Mutant(
        "a promise rounded down",
        "accounting.lineage:_rounded_up",
        "value.quantize(last, rounding=ROUND_CEILING)",
        "value.quantize(last, rounding='ROUND_FLOOR')",
        LINEAGE,
    ),
)

KEPT = (
    Mutant(
        "a report over the ledger",
        "cli.outputs:require_free",
        "belongs_to_ledger(output) or any((_same(output, part) for part in charged))",
        "False",
        f"{OUTPUTS} -k ledger",
    ),
    Mutant(
        "a model saved over a ledger",
        "files:write",
        "belongs_to_ledger(target)",
        "False",
        f"{OUTPUTS} -k saving",
    ),
    Mutant(
        "a hard link is another file",
        "cli.outputs:_same",
        "os.path.samefile(one, other)",
        "False",
        f"{OUTPUTS} -k spelled",
    ),
    Mutant(
        "outputs over inputs",
        "cli.outputs:require_free",
        "any((_same(output, source) for source in read))",
        "False",
        f"{OUTPUTS} -k spelled",
    ),
    Mutant(
        "two outputs in one file",
        "cli.outputs:require_free",
        "taken.append(output)",
        "",
        f"{OUTPUTS} -k two_outputs",
    ),
    Mutant(
        "overwritten without being asked",
        "cli.outputs:require_free",
        "os.path.lexists(output) and (not force) and (not is_stream(output))",
        "False",
        f"{OUTPUTS} -k without_force",
    ),
    Mutant(
        "what came meanwhile is overwritten",
        "cli.outputs:_reserved",
        ("try:\n    ...\nexcept FileExistsError:\n    return False\nexcept OSError:\n    return True"),
        ("try:\n    ...\nexcept OSError:\n    return True"),
        f"{OUTPUTS} -k meanwhile",
    ),
    Mutant(
        "a data set is named and nothing charged",
        "cli.output:open_ledger",
        "dataset is not None",
        "False",
        f"{OUTPUTS} -k data_set_without",
    ),
    Mutant(
        "a weak epsilon passes without a word",
        "accounting.wording",
        "WEAK_EPSILON = 10.0",
        "WEAK_EPSILON = 1000.0",
        f"{OUTPUTS} -k weak",
    ),
    Mutant(
        "delta above 1/n passes without a word",
        "accounting.wording:caution",
        "n is not None and delta * n > 1.0",
        "False",
        f"{OUTPUTS} -k weak",
    ),
)
