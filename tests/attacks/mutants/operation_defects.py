"""Defects in what keeps a paid run from being lost: memory, reservations, journals."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

MACHINE = "tests/data/test_machine.py"
RESERVED = "tests/accounting/test_reservations.py"
RESUMED = "tests/attacks/test_resumed.py"
LAW = f"{RESUMED} -k uninterrupted_one"
DAMAGE = f"{RESUMED} -k fit_its_ledger"
RENEWED = "tests/accounting/test_renewal.py"
FIGURES = "tests/attacks/test_resumed_figures.py"

OPERATION = (
    Mutant(
        "memory that a run lacks is found out after its charges",
        "machine:require_memory",
        "left is not None and left < needed",
        "False",
        f"{MACHINE} -k before_the_first_charge",
    ),
    Mutant(
        "a compiler that failed asked again",
        "kernels.warming:_compile",
        "give_up()",
        "pass",
        f"{MACHINE} -k done_without",
    ),
    Mutant(
        "what others reserved is charged, in a file",
        "accounting.disk.entries:Account.taken",
        "self.spent.with_all(held_by_others(self.held, run))",
        "self.spent",
        RESERVED,
    ),
    Mutant(
        "what others reserved is charged, in memory",
        "accounting.store:MemoryStore.append",
        "self._totals.with_all(held_by_others(self._held, grant.run_id))",
        "self._totals",
        RESERVED,
    ),
    Mutant(
        "a reservation counted beside the charges it pays for",
        "accounting.store:drawn",
        "grant.run_id in kept",
        "False",
        RESERVED,
    ),
    Mutant(
        "a run with a reservation charged past the cap",
        "accounting.disk.entries:Account.taken",
        "self.spent.with_all(held_by_others(self.held, run))",
        "self.spent.less(self.held.get(run, Totals(0, 0)))",
        RESERVED,
    ),
    Mutant(
        "a dead run keeps its reservation",
        "accounting.disk.sqlite_store:SqliteStore._lapse",
        "not journal_of(self._file.path, run).is_held",
        "False",
        f"{RESERVED} -k killed",
    ),
    Mutant(
        "a live run loses its reservation",
        "accounting.disk.sqlite_store:SqliteStore._lapse",
        "not journal_of(self._file.path, run).is_held",
        "True",
        f"{RESERVED} -k killed",
    ),
    Mutant(
        "a run that goes on pays again",
        "accounting.run:Run.charge",
        "self._charged_before(event) if self._past else self._charge(event)",
        "self._charge(event)",
        LAW,
    ),
    Mutant(
        "an answer that was released is drawn again",
        "accounting.disk.journal:Journal.answer",
        "self._answers.get((charge, part))",
        "None",
        LAW,
    ),
    Mutant(
        "an answer handed out before it is written down",
        "accounting.disk.journal:Journal.answer",
        "self._write(_)",
        "",
        RESUMED,
    ),
    Mutant(
        "another query given an old answer",
        "accounting.resuming:_differing",
        "old.get(name) != new.get(name)",
        "False",
        f"{RESUMED} -k declarations",
    ),
    Mutant(
        "a journal from a backup accepted",
        "accounting.resuming:resumed",
        "not sealed <= journal.seals",
        "False",
        f"{RESUMED} -k 'fit_its_ledger or last_answer'",
    ),
    Mutant(
        "a changed journal accepted",
        "accounting.disk.journal:Journal._read",
        "seal != self._next_seal(raw)",
        "False",
        DAMAGE,
    ),
    Mutant(
        "two processes go on with one run",
        "accounting.disk.journal:Journal.resume",
        "not _locked(self._handle)",
        "False",
        f"{RESUMED} -k at_work",
    ),
    Mutant(
        "a run that is to go no further is charged",
        "accounting.run:Run._charge",
        "self._stays",
        "False",
        f"{RESUMED} -k charged_no_more",
    ),
    Mutant(
        "figures are counted while others spend their budget",
        "privacy.oracle:CountOracle.open",
        "account.start(budget, name, unit=unit, **reserved)",
        "account.run(budget, name, unit=unit)",
        f"{FIGURES} -k 'to_itself or from_the_start'",
    ),
    Mutant(
        "a part of a run takes nothing from its whole",
        "accounting.store:given_up",
        "kept[whole.run].less(wanted)",
        "kept[whole.run]",
        f"{FIGURES} -k from_its_whole",
    ),
    Mutant(
        "parts of a run have one name",
        "accounting.resuming:part_of",
        "f'{whole} {place}'",
        "f'{whole}'",
        f"{FIGURES} -k 'uninterrupted_one and search'",
    ),
    Mutant(
        "a changed file is known by its name and time alone",
        "data.filesets:_place",
        "(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)",
        "(found.st_mtime_ns,)",
        f"{FIGURES} -k model_and_table",
    ),
    Mutant(
        "an evaluation goes on with another model",
        "evaluation.measures:identity_of",
        "hashlib.sha256(model.to_file().encode()).hexdigest()",
        "''",
        f"{FIGURES} -k model_and_table",
    ),
    Mutant(
        "a search whose candidates were charged counts as one that was not",
        "accounting.run:Run.interrupt",
        "bool(self.units_spent or self._begun or self._divided)",
        "bool(self.units_spent or self._begun)",
        f"{FIGURES} -k 'uninterrupted_one and search'",
    ),
    Mutant(
        "what a part has not used is spent by others",
        "accounting.disk.entries:Account.taken",
        "Totals(whole.units + unused, whole.lattice)",
        "whole",
        RENEWED,
    ),
    Mutant(
        "a part spends more than it was allotted",
        "accounting.disk.entries:Account.taken",
        "not part",
        "True",
        RENEWED,
    ),
    Mutant(
        "charges of parts count against the parts alone",
        "accounting.disk.entries:Account.taken",
        "Totals(max(whole.units, cap.units - left.units), max(whole.lattice, cap.lattice - left.lattice))",
        "Totals(cap.units - left.units, cap.lattice - left.lattice)",
        f"{RENEWED} -k lattice",
    ),
    Mutant(
        "an account that expired is charged",
        "accounting.disk.sqlite_store:SqliteStore._require_current",
        "until and datetime.now(UTC).date().isoformat() > until",
        "False",
        f"{RENEWED} -k last_day",
    ),
    Mutant(
        "accounts that follow each other promise the cap of one",
        "accounting.disk.statement:DatasetStatement.over_time",
        "(*self.before, self)",
        "(self,)",
        f"{RENEWED} -k all_it_follows",
    ),
    Mutant(
        "a schedule costs what one run costs",
        "planning.schedule:schedule",
        "str(place)",
        "'one'",
        f"{RENEWED} -k compose_to",
    ),
)
