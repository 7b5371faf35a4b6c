"""Figures in which one record meets the predictions of others, or stops what was paid for."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

_ROWS = "tests/evaluation/test_rows.py"
_AREA = "tests/evaluation/test_area.py"

EVALUATION = (
    Mutant(
        "a record makes the deviance warn",
        "evaluation.private_evaluation:PrivateEvaluation.deviance",
        "np.errstate(divide='ignore', invalid='ignore', over='ignore')",
        "np.errstate(divide='ignore', invalid='ignore')",
        "tests/evaluation/test_evaluation.py -k deviance_warn",
    ),
    Mutant(
        "a recalibration is paid for that has no promise in common with the model",
        "estimators.recalibration:recalibrated",
        "unit != trained_for",
        "False",
        "tests/estimators/test_recalibration.py -k another_unit",
    ),
    Mutant(
        "predictions in another shape matched with all records",
        "evaluation.rows:predicted",
        "any((part.shape != rows.shape for rows, part in parts))",
        "any((not part.shape for rows, part in parts))",
        f"{_ROWS} -k late",
    ),
    Mutant(
        "the shape of predictions learned after the charge",
        "evaluation.private_evaluation:PrivateEvaluation._require_shape",
        "found != shape",
        "found == ()",
        f"{_ROWS} -k another_shape",
    ),
    Mutant(
        "a row that cannot be read handed to the model",
        "evaluation.rows:readable",
        "np.where(np.all(finite, axis=1, keepdims=True), X, X.dtype.type(0.0))",
        "X.copy()",
        f"{_ROWS} -k makes_a_figure_fail",
    ),
    Mutant(
        "a model asked about all rows of persons at once",
        "evaluation.rows:answered",
        "places.calls(people.row_numbers(), length)",
        "[(np.arange(_row_count(X)), np.arange(_row_count(X)))]",
        f"{_ROWS} -k place",
    ),
    Mutant(
        "a search asks about all rows of persons at once",
        "estimators.merits:merits",
        "predicted(model.predict, X, people)",
        "predicted(model.predict, X, None)",
        "tests/estimators/test_search_places.py",
    ),
    Mutant(
        "lists handed to a model untyped",
        "evaluation.rows:readable",
        "_numbers(X)",
        "np.array(X)",
        f"{_ROWS} -k list",
    ),
    Mutant(
        "ties counted as in order",
        "privacy.counting:_in_order",
        "2 * np.cumsum(negatives) - negatives",
        "2 * np.cumsum(negatives)",
        _AREA,
    ),
    Mutant(
        "bounds of the area that forget the noise of the pairs",
        "evaluation.area_interval:_margin",
        "several + uneven ** 2",
        "several + uneven ** 2 - 1.0",
        _AREA,
    ),
    Mutant(
        "how many positives there are taken for known",
        "privacy.counting:CountOracle.pairs",
        "math.sqrt(numbers) * (STEPS + 3.0) * _UP",
        "(STEPS + 3.0) * _UP",
        _AREA,
    ),
    Mutant(
        "declared persons taken for present",
        "privacy.counting:CountOracle.pairs",
        "counted.persons is not None and counted.persons.declared",
        "False",
        _AREA,
    ),
    Mutant(
        "a person's rows each in the pairs",
        "privacy.counting:Counted.pairs",
        "np.ones(self.rows) if self.persons is None else self.persons.shares()",
        "np.ones(self.rows)",
        _AREA,
    ),
    Mutant(
        "labels looked at after the charge",
        "evaluation.measures:evaluate",
        ("test.require_log_loss(ceiling)\ntest.require_calibration(bins)"),
        "",
        f"{_ROWS} -k validation_refuses",
    ),
)
