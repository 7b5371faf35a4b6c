"""Defects above training: the search, private figures and the encoder."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

FRONTS = (
    Mutant(
        name="noisy max with half the noise",
        file="privacy/oracle.py",
        before="threshold_moves = 2 * moves if",
        after="threshold_moves = moves if",
        tests="tests/privacy/test_selection_privacy.py",
    ),
    Mutant(
        name="selection not charged",
        file="privacy/oracle.py",
        before="return release.pure(self.run, PureEvent(Query.SELECTION, epsilon), noisiest)",
        after="return noisiest()",
        tests="tests/estimators/test_search.py",
    ),
    Mutant(
        name="every candidate gets the whole budget",
        file="estimators/search.py",
        before="(desk.run.units_cap - choosing) // len(settings)",
        after="(desk.run.units_cap - choosing)",
        tests="tests/estimators/test_search.py",
    ),
    Mutant(
        name="a search trains any step",
        file="estimators/pipelines.py",
        before="        if check is None:\n",
        after="        if check is None:\n            return\n",
        tests="tests/estimators/test_pipelines.py -k may_learn",
    ),
    Mutant(
        name="a search applies any function",
        file="estimators/pipelines.py",
        before="        if not (known and isinstance(step.func, np.ufunc)",
        after="        if not (isinstance(step.func, np.ufunc)",
        tests="tests/estimators/test_pipelines.py -k may_learn",
    ),
    Mutant(
        name="steps of candidates not looked at",
        file="estimators/search.py",
        before="    prefix, _ = private_part(candidate)\n",
        after="    prefix, _ = private_part(template)\n",
        tests="tests/estimators/test_pipelines.py -k put_in_place",
    ),
    Mutant(
        name="candidates not rehearsed",
        file="estimators/rehearsal.py",
        before="    with suppress(FirstCharge):\n        unquoted(lambda: estimator.fit(X, y, **people))\n",
        after="",
        tests="tests/estimators/test_pipelines.py -k costs_nothing",
    ),
    Mutant(
        name="a pickled model fits again uncounted",
        file="estimators/publishing.py",
        before='return {**state, "ledger": LeftBehind()}',
        after='return {**state, "ledger": None}',
        tests="tests/estimators/test_estimators.py -k pickled_without",
    ),
    Mutant(
        name="a pickled model carries its ledger",
        file="estimators/publishing.py",
        before='if "guarantee_" in state and',
        after='if "guarantees_" in state and',
        tests="tests/estimators/test_estimators.py -k pickled_without",
    ),
    Mutant(
        name="score sensitivity forgotten",
        file="estimators/search.py",
        before="desk.best(scores, STEPS, choosing)",
        after="desk.best(scores, 1, choosing)",
        tests="tests/privacy/test_selection_privacy.py",
    ),
    Mutant(
        name="counts move by 1 instead of sqrt2",
        file="evaluation/examination.py",
        before="moves = math.sqrt(2.0) * (1.0 + 2.0**-50) if",
        after="moves = 1.0 if",
        tests="tests/evaluation/test_evaluation.py",
    ),
    Mutant(
        name="losses of one record not clipped",
        file="evaluation/examination.py",
        before="merits = np.clip(losses() / width, 0.0, 1.0)",
        after="merits = losses() / width",
        tests="tests/evaluation/test_evaluation.py -k whatever_it_loses",
    ),
    Mutant(
        name="encoded numbers not clipped to their bounds",
        file="data/numbers.py",
        before="moved = self._transformed(np.clip(values, self.low, self.high))\n            moved -= middle\n            moved /= reach\n            return np.clip(moved, -1.0, 1.0, out=moved)[:, None]",
        after="return ((self._transformed(values) - middle) / reach)[:, None]",
        tests="tests/data/test_encoding.py",
    ),
    Mutant(
        name="interactions not counted among the blocks of a row",
        file="data/schema.py",
        before="return len(self.columns) + len(self.interactions) + 1",
        after="return len(self.columns) + 1",
        tests="tests/data/test_tables.py -k longer",
    ),
    Mutant(
        name="a pandas frame read by the types its stream infers",
        file="data/sources.py",
        before="if not known and hasattr(table",
        after="if hasattr(table",
        tests="tests/data/test_tables.py -k another",
    ),
    Mutant(
        name="an audit among records not charged",
        file="audit/one_run.py",
        before="method=method, ledger=ledger, simulate=simulate",
        after="method=method, simulate=simulate",
        tests="tests/audit/test_planted.py -k charged_as",
    ),
    Mutant(
        name="a canary in a column of the table",
        file="audit/planted.py",
        before="rows[n:, dim - 1 : -1]",
        after="rows[n:, dim - 2 : -2]",
        tests="tests/audit/test_planted.py -k touches",
    ),
)
