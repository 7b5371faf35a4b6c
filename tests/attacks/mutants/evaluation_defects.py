"""Figures in which one record meets the predictions of others, or stops what was paid for."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

_ROWS = "tests/evaluation/test_rows.py"

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
        "pairs within a bin counted as in order",
        "evaluation/figures.py",
        "upper[1:] @ np.cumsum(lower)[:-1]",
        "upper @ np.cumsum(lower)",
        "tests/evaluation/test_evaluation.py -k area_under",
    ),
    Mutant(
        "bounds of the area that forget the noise",
        "evaluation/figures.py",
        "least = [np.maximum(counts - margin, 0.0)",
        "least = [np.maximum(counts, 0.0)",
        "tests/evaluation/test_evaluation.py -k area_under",
    ),
    Mutant(
        "labels looked at after the charge",
        "evaluation/measures.py",
        "    test.insist_log_loss(ceiling)\n    test.insist_calibration(bins)\n",
        "",
        f"{_ROWS} -k validation_refuses",
    ),
)
