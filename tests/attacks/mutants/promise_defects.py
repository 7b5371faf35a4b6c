"""Guarantees that forget a run, budgets whose weakness is not said, and files that are destroyed."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

A = "accounting/"
LINEAGE = "tests/accounting/test_lineage.py"
OUTPUTS = "tests/system/test_outputs.py"

CHAINS = (
    Mutant(
        "a result forgets the run it started from",
        "training.py",
        "() if origin is None else origin.lineage",
        "()",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "weights lose the result they came from",
        "result.py",
        "        mark(self.weights, self.origin)\n\n    def __set",
        "        pass\n\n    def __set",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "a forged guarantee loads",
        "result.py",
        "if lineage and not guarantee.fits(lineage):",
        "if False:",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "a forged promise under the other relation loads",
        f"{A}guarantee.py",
        "if (self.other_epsilon, self.other_delta) != (None, None):",
        "if False:",
        "tests/system/test_chains.py",
    ),
    Mutant(
        "lattice priced at each run's own epsilon",
        f"{A}lineage.py",
        "(1.0 + math.exp(epsilon)) * variation * (1.0 + 1e-12)",
        "smallest / 1000.0",
        LINEAGE,
    ),
    Mutant(
        "the largest run stands for the chain",
        f"{A}lineage.py",
        "allowed = sum(",
        "allowed = max(",
        LINEAGE,
    ),
    Mutant(
        "runs of different currencies summed",
        f"{A}lineage.py",
        "if kinds or currency is None:",
        "if currency is None:",
        LINEAGE,
    ),
    Mutant(
        "the thousandth for the lattice spent twice",
        f"{A}lineage.py",
        "* (1 - LATTICE_SHARE)",
        "* 1",
        LINEAGE,
    ),
    Mutant(
        "a promise rounded down",
        f"{A}lineage.py",
        "rounding=ROUND_CEILING",
        "rounding='ROUND_FLOOR'",
        LINEAGE,
    ),
)

KEPT = (
    Mutant(
        "a report over the ledger",
        "cli/outputs.py",
        "if belongs_to_ledger(output) or any(_same(output, part) for part in charged):",
        "if False:",
        f"{OUTPUTS} -k ledger",
    ),
    Mutant(
        "a model saved over a ledger",
        "files.py",
        "if belongs_to_ledger(target):",
        "if False:",
        f"{OUTPUTS} -k saving",
    ),
    Mutant(
        "a hard link is another file",
        "cli/outputs.py",
        "if os.path.samefile(one, other):",
        "if False:",
        f"{OUTPUTS} -k spelled",
    ),
    Mutant(
        "outputs over inputs",
        "cli/outputs.py",
        "if any(_same(output, source) for source in filter(None, inputs)):",
        "if False:",
        f"{OUTPUTS} -k spelled",
    ),
    Mutant(
        "two outputs in one file",
        "cli/outputs.py",
        "        taken.append(output)\n",
        "",
        f"{OUTPUTS} -k two_outputs",
    ),
    Mutant(
        "overwritten without being asked",
        "cli/outputs.py",
        "if os.path.lexists(output) and not force:",
        "if False:",
        f"{OUTPUTS} -k without_force",
    ),
    Mutant(
        "what came meanwhile is overwritten",
        "cli/outputs.py",
        "    except FileExistsError:\n        return False\n",
        "",
        f"{OUTPUTS} -k meanwhile",
    ),
    Mutant(
        "a data set is named and nothing charged",
        "cli/output.py",
        "        if dataset is not None:\n",
        "        if False:\n",
        f"{OUTPUTS} -k data_set_without",
    ),
    Mutant(
        "a weak epsilon passes without a word",
        f"{A}wording.py",
        "WEAK_EPSILON = 10.0",
        "WEAK_EPSILON = 1000.0",
        f"{OUTPUTS} -k weak",
    ),
    Mutant(
        "delta above 1/n passes without a word",
        f"{A}wording.py",
        "if n is not None and delta * n > 1.0:",
        "if False:",
        f"{OUTPUTS} -k weak",
    ),
)
