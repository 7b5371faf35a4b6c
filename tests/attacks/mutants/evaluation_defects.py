"""Figures in which one record meets the predictions of others, or stops what was paid for."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

_ROWS = "tests/evaluation/test_rows.py"
_AREA = "tests/evaluation/test_area.py"

EVALUATION = (
    Mutant(
        "predictions in another shape matched with all records",
        "evaluation/examination.py",
        "            if predicted.shape == (self.rows,):\n",
        "            if predicted.shape:\n",
        f"{_ROWS} -k late",
    ),
    Mutant(
        "the shape of predictions learned after the charge",
        "evaluation/examination.py",
        "        if found != shape:\n",
        "        if found == ():\n",
        f"{_ROWS} -k another_shape",
    ),
    Mutant(
        "a row that cannot be read handed to the model",
        "evaluation/rows.py",
        "return np.where(np.all(finite, axis=1, keepdims=True), X, X.dtype.type(0.0))",
        "return X.copy()",
        f"{_ROWS} -k makes_a_figure_fail",
    ),
    Mutant(
        "ties counted as in order",
        "evaluation/area.py",
        "(2 * np.cumsum(negatives) - negatives)",
        "(2 * np.cumsum(negatives))",
        _AREA,
    ),
    Mutant(
        "bounds of the area that forget the noise of the pairs",
        "evaluation/area.py",
        "scale * math.sqrt(several + uneven**2)",
        "scale * math.sqrt(several + uneven**2 - 1.0)",
        _AREA,
    ),
    Mutant(
        "how many positives there are taken for known",
        "evaluation/area.py",
        "moves = math.sqrt(numbers) * (STEPS + 3.0)",
        "moves = STEPS + 3.0",
        _AREA,
    ),
    Mutant(
        "declared persons taken for present",
        "evaluation/area.py",
        "counted = people is None or not people.declared",
        "counted = True",
        _AREA,
    ),
    Mutant(
        "a person's rows each in the pairs",
        "evaluation/area.py",
        "parts = np.ones(test.rows) if people is None else people.shares()",
        "parts = np.ones(test.rows)",
        _AREA,
    ),
    Mutant(
        "labels looked at after the charge",
        "evaluation/measures.py",
        "    test.insist_log_loss(ceiling)\n    test.insist_calibration(bins)\n",
        "",
        f"{_ROWS} -k validation_refuses",
    ),
)
