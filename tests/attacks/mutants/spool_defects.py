"""Encoded rows on disk that others can find, that outlive the process, or that belong to another table."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

TESTS = "tests/data/test_spool.py"

SPOOL = (
    Mutant(
        "spool left on disk under a name",
        "data.spool:Spool.__init__",
        "tempfile.TemporaryFile(dir=folder)",
        "tempfile.NamedTemporaryFile(dir=folder, delete=False)",
        TESTS,
    ),
    Mutant(
        "the rows of persons are told while they are read",
        "data.parquet_rows:read_rows",
        """f"reading rows{f', spooling them into {folder}' if spool else ''}\"""",
        'f"reading {n} rows"',
        f"{TESTS} -k how_many_rows",
    ),
    Mutant(
        "a full disk tells how many rows persons have",
        "data.spool:Spool.__init__",
        'f"{free / 1e9:.3g} GB are free"',
        'f"{self.size} bytes are needed"',
        f"{TESTS} -k how_many_rows",
    ),
    Mutant(
        "every block of a spool is its first",
        "data.spool:Spool.block",
        "index * self._stride",
        "0 * index",
        TESTS,
    ),
    Mutant(
        "spooled file changed unnoticed",
        "data.parquet_rows:SpooledRows._require_unchanged",
        "self._source.require_unchanged()",
        "pass",
        TESTS,
    ),
    Mutant(
        "batch from a spool of a changed file",
        "data.parquet_rows:SpooledRows.take",
        "self._require_unchanged()",
        "",
        TESTS,
    ),
)
