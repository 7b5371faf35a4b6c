"""Neighbours mistaken for others: the wrong relation's price, people who count too much or are split."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

RELATIONS = "tests/accounting/test_relations.py"
STATEMENTS = "tests/accounting/test_statements.py"
POISSON = "tests/accounting/test_poisson.py"
BATCH = "tests/privacy/test_batch_privacy.py"
PEOPLE = "tests/privacy/test_persons.py"
TORCH = "tests/autodiff/test_torch_persons.py"
PLACES = "tests/autodiff/test_places.py"

NEIGHBOURS = (
    Mutant(
        "a ledger takes either relation",
        "accounting.ledger:Ledger._require_counted_alike",
        "run.budget.relation is not self.relation",
        "False",
        RELATIONS,
    ),
    Mutant(
        "zero-out doubled in epsilon, not in mu",
        "accounting.lineage:_summed",
        "taken ** 2 * currency.cap(preset.budget)",
        "taken * currency.cap(preset.budget)",
        RELATIONS,
    ),
    Mutant(
        "the value under replacement covers zero-out",
        "accounting.lineage:Preset.steps",
        "self.value_asked or self.counted",
        "self.counted",
        RELATIONS,
    ),
    Mutant(
        "counted persons under replacement cover zero-out",
        "accounting.lineage:Preset.steps",
        "self.value_asked or self.counted",
        "self.value_asked",
        STATEMENTS,
    ),
    Mutant(
        "a chain with a run under zero-out promises zero-out",
        "accounting.lineage:relation_of",
        "preset.steps(Relation.ZERO_OUT) is not None",
        "True",
        STATEMENTS,
    ),
    Mutant(
        "a replacement counted as one step of zero-out",
        "accounting.lineage:Preset.steps",
        "2",
        "1",
        STATEMENTS,
    ),
    Mutant(
        "a run forgets that its persons were counted",
        "training:minimize",
        "replace(run.preset, run=name, counted=problem.counted)",
        "replace(run.preset, run=name)",
        STATEMENTS,
    ),
    Mutant(
        "records and persons promised together",
        "accounting.lineage:composed_under",
        "len({preset.unit for preset in distinct}) > 1",
        "False",
        STATEMENTS,
    ),
    Mutant(
        "the cap of another ledger promised",
        "estimators.recalibration:_together",
        "bool(found.ledger) and found.ledger == trained.ledger",
        "True",
        STATEMENTS,
    ),
    Mutant(
        "persons counted where keys may be missing",
        "data.persons:require_declared",
        "persons is None and lenient",
        "False",
        STATEMENTS,
    ),
    Mutant(
        "two candidates promised under zero-out",
        "report.words:headline",
        "promise.relation is Relation.REPLACE_ONE",
        "True",
        STATEMENTS,
    ),
    Mutant(
        "whoever is held out of a search depends on the keys",
        "estimators.held_out:Split.of",
        "holdout.held_out(everyone.n, share, simulate)",
        "np.array([hash(key) % 100 < 100 * share for key in dict.fromkeys(keys)])",
        STATEMENTS,
    ),
    Mutant(
        "a Poisson batch under replacement",
        "accounting.allowance:new_grant",
        "poisson and relation is not Relation.ZERO_OUT",
        "False",
        POISSON,
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
        "evaluation.measures:opened_test",
        "groups = table.keys if groups is None else groups",
        "pass",
        "tests/system/test_persons_fronts.py -k names_persons",
    ),
    Mutant(
        "a key read by the type of its column",
        "data.persons:_text",
        "_digits(spelled(plain) if any(map(str.isdigit, plain)) else math.nan) or plain or None",
        "plain or None",
        PEOPLE,
    ),
    Mutant(
        "a ledger takes either unit",
        "accounting.ledger:Ledger._require_counted_alike",
        "unit_of(unit) != self._unit",
        "False",
        f"{RELATIONS} -k unit",
    ),
    Mutant(
        "training asks no ledger for whom it counts",
        "training:minimize",
        "account.start(budget, called, unit=problem.promised_to, **_)",
        "account.start(budget, called, unit=account.unit, **_)",
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
        "autodiff.clipping:clipped_and_counted",
        "factors * shares",
        "factors * (shares > 0)",
        TORCH,
    ),
    Mutant(
        "what fills a call counts",
        "autodiff.examples:Examples.pieces",
        "np.zeros(length)",
        "np.full(length, 0.1)",
        TORCH,
    ),
    Mutant(
        "a person's examples split over batches",
        "autodiff.examples:Units.of",
        "np.diff(self.first)[indices]",
        "np.minimum(1, np.diff(self.first)[indices])",
        TORCH,
    ),
    Mutant(
        "places of a call filled from the first",
        "data.places:calls",
        "Call(rows, places[rows])",
        "Call(rows, np.arange(len(rows)))",
        f"{PLACES} -k person_moves",
    ),
    Mutant(
        "persons placed in the order in which they come",
        "data.persons:Persons.of",
        "np.fromiter(map(_start, numbers), np.int64, counted)",
        "np.arange(counted)",
        f"{PLACES} -k person_moves",
    ),
    Mutant(
        "examples of a batch numbered anew",
        "autodiff.examples:Units.of",
        "Units(first, self.rows[at], self.numbers[at], self.shares[at])",
        "Units(first, self.rows[at], np.arange(len(at)), self.shares[at])",
        f"{PLACES} -k batch_with",
    ),
    Mutant(
        "a call as long as the batch happens to be",
        "autodiff.examples:Examples.pieces",
        "places.spread_length(expected, longest, reach)",
        "places.spread_length(len(self._units.rows), longest, reach)",
        f"{PLACES} -k person_moves",
    ),
    Mutant(
        "lists of examples typed from all rows",
        "autodiff.examples:_tensor",
        "torch.as_tensor(writable).detach().clone() if typed else None",
        "torch.as_tensor(writable).detach().clone()",
        f"{PLACES} -k no_type",
    ),
    Mutant(
        "persons counted under zero-out",
        "training:minimize",
        "problem.counted and budget.relation is Relation.ZERO_OUT",
        "False",
        PEOPLE,
    ),
)
