"""Defects above training: the search, private figures and the encoder."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

FRONTS = (
    Mutant(
        name="noisy max with half the noise",
        place="privacy.counting:CountOracle._noisiest",
        old="2 * STEPS",
        new="STEPS",
        tests="tests/privacy/test_selection_privacy.py",
    ),
    Mutant(
        name="selection not charged",
        place="privacy.counting:CountOracle.best",
        old="release.pure(self.run, event, lambda: _)",
        new="self._noisiest(scores(counted, merits()), epsilon)",
        tests="tests/estimators/test_search.py",
    ),
    Mutant(
        name="every candidate gets the whole budget",
        place="estimators.search:PrivateSearch._contest",
        old="(oracle.run.units_cap - self._choosing(oracle)) // len(contest)",
        new="oracle.run.units_cap - self._choosing(oracle)",
        tests="tests/estimators/test_search.py",
    ),
    Mutant(
        name="a search trains any step",
        place="estimators.pipelines:require_learns_nothing",
        old="_refuse(step, name, 'it may learn from the data')",
        new=("return\n_refuse(step, name, 'it may learn from the data')"),
        tests="tests/estimators/test_pipelines.py -k may_learn",
    ),
    Mutant(
        name="a search applies any function",
        place="estimators.pipelines:_elementwise",
        old="known and isinstance(step.func, np.ufunc) and _",
        new="isinstance(step.func, np.ufunc) and _",
        tests="tests/estimators/test_pipelines.py -k may_learn",
    ),
    Mutant(
        name="steps of candidates not looked at",
        place="estimators.search:_candidate",
        old="private_part(candidate)",
        new="private_part(template)",
        tests="tests/estimators/test_pipelines.py -k put_in_place",
    ),
    Mutant(
        name="candidates not rehearsed",
        place="estimators.rehearsal:rehearse",
        old=("with suppress(FirstCharge):\n    unquoted(lambda: estimator.fit(X, y, **people))"),
        new="",
        tests="tests/estimators/test_pipelines.py -k costs_nothing",
    ),
    Mutant(
        name="a pickled model fits again uncounted",
        place="estimators.publishing:Publishable.__getstate__",
        old="LeftBehind()",
        new="None",
        tests="tests/estimators/test_estimators.py -k pickled_without",
    ),
    Mutant(
        name="a pickled model carries its ledger",
        place="estimators.publishing:Publishable.__getstate__",
        old="'guarantee_' in state",
        new="'guarantees_' in state",
        tests="tests/estimators/test_estimators.py -k pickled_without",
    ),
    Mutant(
        name="a person's score as large as all their rows'",
        place="privacy.counting:Counted.whole",
        old="self.persons is None",
        new="True",
        tests="tests/privacy/test_counting.py",
    ),
    Mutant(
        name="counts move by 1 instead of sqrt2",
        place="privacy.counting:CountOracle.cells",
        old="math.sqrt(2.0) * _UP",
        new="1.0",
        tests="tests/privacy/test_counting.py",
    ),
    Mutant(
        name="losses of one record not clipped",
        place="privacy.counting:Counted.whole",
        old="np.clip(np.nan_to_num(self._each(merits)), 0.0, 1.0)",
        new="self._each(merits)",
        tests="tests/privacy/test_counting.py",
    ),
    Mutant(
        name="a record in a cell that is not there",
        place="privacy.counting:Counted.cells",
        old="np.clip(self._each(places).astype(np.intp), 0, entries - 1)",
        new="self._each(places).astype(np.intp)",
        tests="tests/privacy/test_counting.py",
    ),
    Mutant(
        name="numbers of another length than the rows counted",
        place="privacy.counting:Counted._each",
        old="np.shape(given) != (self.rows,)",
        new="False",
        tests="tests/privacy/test_counting.py",
    ),
    Mutant(
        name="encoded numbers not clipped to their bounds",
        place="data.numbers:Numeric.basis",
        old=(
            "moved = self.transformed(np.clip(values, self.low, self.high))\n"
            "moved -= middle\n"
            "moved /= reach\n"
            "return np.clip(moved, -1.0, 1.0, out=moved)[:, None]"
        ),
        new="return ((self.transformed(values) - middle) / reach)[:, None]",
        tests="tests/data/test_encoding.py",
    ),
    Mutant(
        name="a spline of numbers that have no transform",
        place="data.numbers:_Ranged.__post_init__",
        old="self.transform is not None and self.low < _LEAST[self.transform]",
        new="False",
        tests="tests/data/test_tables.py -k wrong_declaration",
    ),
    Mutant(
        name="transformed numbers of a spline not clipped to its range",
        place="data.numbers:Spline.basis",
        old="inside = self.transformed(inside)",
        new="inside = self.transformed(np.nan_to_num(values, nan=self.low))",
        tests="tests/data/test_tables.py -k transformed_spline",
    ),
    Mutant(
        name="interactions not counted among the blocks of a row",
        place="data.schema:Schema.blocks",
        old="len(self.columns) + len(self.interactions)",
        new="len(self.columns)",
        tests="tests/data/test_tables.py -k longer",
    ),
    Mutant(
        name="a pandas frame read by the types its stream infers",
        place="data.sources:open_source",
        old="is_pandas_like_dataframe(table)",
        new="False",
        tests="tests/data/test_tables.py -k another",
    ),
    Mutant(
        name="an audit among records not charged",
        place="audit.one_run:audit_one_run",
        old="minimize(held.risk, ledger=ledger, **_)",
        new="minimize(held.risk, **_)",
        tests="tests/audit/test_planted.py -k charged_as",
    ),
    Mutant(
        name="a canary in a column of the table",
        place="audit.planted:among",
        old="rows[n:, dim - 1:-1]",
        new="rows[n:, dim - 2:-2]",
        tests="tests/audit/test_planted.py -k touches",
    ),
)
