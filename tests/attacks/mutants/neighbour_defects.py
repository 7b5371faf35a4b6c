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
        "accounting/ledger.py",
        "if budget.relation is not self.relation:",
        "if False:",
        RELATIONS,
    ),
    Mutant(
        "zero-out doubled in epsilon, not in mu",
        "accounting/lineage.py",
        "_summed(distinct, steps=2)",
        "_summed(distinct)",
        RELATIONS,
    ),
    Mutant(
        "the value under replacement covers zero-out",
        "accounting/lineage.py",
        "None if any(preset.value_asked for preset in distinct) else composed(distinct)",
        "composed(distinct)",
        RELATIONS,
    ),
    Mutant(
        "noise for the other relation",
        "privacy/oracle.py",
        "relation=run.budget.relation",
        "relation=run.budget.relation.other",
        f"{RELATIONS} -k halves",
    ),
    Mutant(
        "a Poisson batch under replacement",
        "accounting/allowance.py",
        "if poisson and relation is not Relation.ZERO_OUT:",
        "if False:",
        POISSON,
    ),
    Mutant(
        "a Poisson batch divided by what it holds",
        "privacy/oracle.py",
        "self._entropy), n=self._size)",
        "self._entropy))",
        f"{BATCH} -k however_many",
    ),
    Mutant(
        "sampled Gaussian at half its rate",
        "accounting/renyi/poisson.py",
        "math.log(batch / population)",
        "math.log(batch / population / 2)",
        POISSON,
    ),
    Mutant(
        "a row counts 1 whoever it is of",
        "data/persons.py",
        "np.where(rows == 1, 1.0, (1.0 - SHARE_MARGIN) / np.maximum(rows, 1))",
        "np.ones(len(rows))",
        PEOPLE,
    ),
    Mutant(
        "a figure sums a person's rows",
        "data/persons.py",
        "(self.shares() * merits)[known]",
        "merits[known]",
        PEOPLE,
    ),
    Mutant(
        "shares rounded up",
        "data/persons.py",
        "(1.0 - SHARE_MARGIN) / np.maximum(rows, 1)",
        "np.nextafter(1.0 / np.maximum(rows, 1), 1.0)",
        PEOPLE,
    ),
    Mutant(
        "a person split over batches",
        "data/records.py",
        "indices if self._persons is None else self._persons.rows_of(indices)",
        "indices",
        PEOPLE,
    ),
    Mutant(
        "a row without a key is a person",
        "data/persons.py",
        "-1 if key is None else numbers.setdefault(key, len(numbers))",
        "numbers.setdefault(key or str(len(numbers)), len(numbers))",
        PEOPLE,
    ),
    Mutant(
        "a declared person counts at least once",
        "data/record_facts.py",
        "0.0 if absent or self.weight_cap is not None else lightest",
        "0.0 if self.weight_cap is not None else lightest",
        PEOPLE,
    ),
    Mutant(
        "a model's persons forgotten when it is evaluated",
        "evaluation/measures.py",
        "groups = table.keys if groups is None else groups",
        "pass",
        "tests/system/test_persons_fronts.py -k names_persons",
    ),
    Mutant(
        "a key read by the type of its column",
        "data/persons.py",
        "return _digits(number) or text or None",
        "return text or None",
        PEOPLE,
    ),
    Mutant(
        "the number of rows in the noise",
        "risks/linear.py",
        "terms=None if self._records.persons is None else MOST_ROWS",
        "terms=self._records._rows.n",
        PEOPLE,
    ),
    Mutant(
        "a ledger takes either unit",
        "accounting/ledger.py",
        "if unit_of(unit) != self._unit:",
        "if False:",
        f"{RELATIONS} -k unit",
    ),
    Mutant(
        "training asks no ledger for whom it counts",
        "training.py",
        "account.run(budget, called, unit=problem.unit)",
        "account.run(budget, called, unit=account.unit)",
        f"{RELATIONS} -k unit",
    ),
    Mutant(
        "a ledger's unit forgotten on disk",
        "accounting/disk/entries.py",
        'unit_of(raw.get("unit", "record"))',
        '"record"',
        f"{RELATIONS} -k unit",
    ),
    Mutant(
        "an example counts 1 whoever it is of",
        "autodiff/clipping.py",
        "factors = factors if shares is None else factors * shares",
        "factors = factors if shares is None else factors * (shares > 0)",
        TORCH,
    ),
    Mutant(
        "what fills a person's gaps counts",
        "autodiff/people.py",
        "shares = torch.zeros(size, dtype",
        "shares = torch.full((size,), 0.1, dtype",
        TORCH,
    ),
    Mutant(
        "a person's examples split over batches",
        "autodiff/people.py",
        "counts = np.diff(self._first)[indices]",
        "counts = np.minimum(1, np.diff(self._first)[indices])",
        TORCH,
    ),
    Mutant(
        "examples placed by how many others have",
        "autodiff/people.py",
        "torch.from_numpy(np.flatnonzero(present))",
        "torch.arange(int(np.count_nonzero(present)))",
        TORCH,
    ),
    Mutant(
        "persons counted under zero-out",
        "training.py",
        "if problem.counted and budget.relation is Relation.ZERO_OUT:",
        "if False:",
        PEOPLE,
    ),
)
