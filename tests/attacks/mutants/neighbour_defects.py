"""Neighbours mistaken for others: the wrong relation's price, people who count too much or are split."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

RELATIONS = "tests/accounting/test_relations.py"
POISSON = "tests/accounting/test_poisson.py"
BATCH = "tests/privacy/test_batch_privacy.py"
PEOPLE = "tests/privacy/test_persons.py"
TORCH = "tests/autodiff/test_torch_persons.py"

NEIGHBOURS = (
    Mutant(
        "a ledger takes either relation",
        "accounting.ledger:Ledger.run",
        "budget.relation is not self.relation",
        "False",
        RELATIONS,
    ),
    Mutant(
        "zero-out doubled in epsilon, not in mu",
        "accounting.lineage:composed_otherwise",
        "_summed(distinct, steps=2)",
        "_summed(distinct)",
        RELATIONS,
    ),
    Mutant(
        "the value under replacement covers zero-out",
        "accounting.lineage:composed_otherwise",
        "None if any((preset.value_asked for preset in distinct)) else composed(distinct)",
        "composed(distinct)",
        RELATIONS,
    ),
    Mutant(
        "noise for the other relation",
        "privacy.oracle:Oracle.__init__",
        "replace(risk.bounds, calibration=calibration, relation=run.budget.relation)",
        "replace(risk.bounds, calibration=calibration, relation=run.budget.relation.other)",
        f"{RELATIONS} -k halves",
    ),
    Mutant(
        "a Poisson batch under replacement",
        "accounting.allowance:new_grant",
        "poisson and relation is not Relation.ZERO_OUT",
        "False",
        POISSON,
    ),
    Mutant(
        "a Poisson batch divided by what it holds",
        "privacy.oracle:BatchOracle._batch",
        "self._risk.subset(_, n=self._size)",
        "self._risk.subset(_)",
        f"{BATCH} -k however_many",
    ),
    Mutant(
        "sampled Gaussian at half its rate",
        "accounting.renyi.poisson:_log_moment",
        "batch / population",
        "batch / population / 2",
        POISSON,
    ),
    Mutant(
        "a row counts 1 whoever it is of",
        "data.persons:Persons.shares",
        "np.where(rows == 1, 1.0, (1.0 - SHARE_MARGIN) / np.maximum(rows, 1))",
        "np.ones(len(rows))",
        PEOPLE,
    ),
    Mutant(
        "a figure sums a person's rows",
        "data.persons:Persons.floored",
        "self.shares() * merits",
        "merits",
        PEOPLE,
    ),
    Mutant(
        "shares rounded up",
        "data.persons:Persons.shares",
        "(1.0 - SHARE_MARGIN) / np.maximum(rows, 1)",
        "np.nextafter(1.0 / np.maximum(rows, 1), 1.0)",
        PEOPLE,
    ),
    Mutant(
        "a person split over batches",
        "data.records:Records.subset",
        "indices if self._persons is None else self._persons.rows_of(indices)",
        "indices",
        PEOPLE,
    ),
    Mutant(
        "a row without a key is a person",
        "data.persons:Persons.of",
        "-1 if key is None else numbers.setdefault(key, len(numbers))",
        "numbers.setdefault(key or str(len(numbers)), len(numbers))",
        PEOPLE,
    ),
    Mutant(
        "a declared person counts at least once",
        "data.record_facts:Declared.counting",
        "absent or self.weight_cap is not None",
        "self.weight_cap is not None",
        PEOPLE,
    ),
    Mutant(
        "a model's persons forgotten when it is evaluated",
        "evaluation.measures:_test",
        "groups = table.keys if groups is None else groups",
        "pass",
        "tests/system/test_persons_fronts.py -k names_persons",
    ),
    Mutant(
        "a key read by the type of its column",
        "data.persons:_text",
        "_digits(number) or text or None",
        "text or None",
        PEOPLE,
    ),
    Mutant(
        "the number of rows in the noise",
        "risks.linear:Risk.bounds",
        "None if self._records.persons is None else MOST_ROWS",
        "self._records._rows.n",
        PEOPLE,
    ),
    Mutant(
        "a ledger takes either unit",
        "accounting.ledger:Ledger.run",
        "unit_of(unit) != self._unit",
        "False",
        f"{RELATIONS} -k unit",
    ),
    Mutant(
        "training asks no ledger for whom it counts",
        "training:minimize",
        "account.run(budget, called, unit=problem.unit)",
        "account.run(budget, called, unit=account.unit)",
        f"{RELATIONS} -k unit",
    ),
    Mutant(
        "a ledger's unit forgotten on disk",
        "accounting.disk.entries:read_declaration",
        "unit_of(raw.get('unit', 'record'))",
        "'record'",
        f"{RELATIONS} -k unit",
    ),
    Mutant(
        "an example counts 1 whoever it is of",
        "autodiff.clipping:clipped_sum",
        "factors * shares",
        "factors * (shares > 0)",
        TORCH,
    ),
    Mutant(
        "what fills a person's gaps counts",
        "autodiff.people:PersonExamples._call",
        "torch.zeros(size, dtype=torch.float64, device=self._shares.device)",
        "torch.full((size,), 0.1, dtype=torch.float64, device=self._shares.device)",
        TORCH,
    ),
    Mutant(
        "a person's examples split over batches",
        "autodiff.people:PersonExamples.take",
        "np.diff(self._first)[indices]",
        "np.minimum(1, np.diff(self._first)[indices])",
        TORCH,
    ),
    Mutant(
        "examples placed by how many others have",
        "autodiff.people:PersonExamples._call",
        "torch.from_numpy(np.flatnonzero(present))",
        "torch.arange(int(np.count_nonzero(present)))",
        TORCH,
    ),
    Mutant(
        "persons counted under zero-out",
        "training:minimize",
        "problem.counted and budget.relation is Relation.ZERO_OUT",
        "False",
        PEOPLE,
    ),
)
