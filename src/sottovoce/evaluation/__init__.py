"""Private evaluation on a test set: every figure is a charged query and comes with a confidence interval."""

from sottovoce.evaluation.measures import (
    absolute_error,
    accuracy,
    auc,
    calibration,
    confusion_matrix,
    deviance,
    evaluate,
    log_loss,
    majority_rate,
)

__all__ = [
    "absolute_error",
    "accuracy",
    "auc",
    "calibration",
    "confusion_matrix",
    "deviance",
    "evaluate",
    "log_loss",
    "majority_rate",
]
