"""What a private fit is called from: meta-estimators whose own work on the records no budget covers.

A fit sees the rows it is given, not whether a row stands there three times or what is done with its model
afterwards. It can see which of scikit-learn's modules called it, and says so once. That is a help, not a
guard: from another process or library nothing is seen. docs/pitfalls.md has the whole list.
"""

from __future__ import annotations

import sys
import warnings

from sottovoce.errors import PrivacyWarning

OUTER = {
    "sklearn.ensemble._bagging": "bagging draws records with repetition, and one that was drawn k times is "
    "protected k times less than guarantee_ says. Train one model with the whole budget instead",
    "sklearn.calibration": "calibration fits its curve exactly, outside the budget. The logistic loss gives "
    "probabilities by itself; measure them with evaluation.calibration",
    "sklearn.ensemble._stacking": "stacking fits its last model on these records too. Make it private, with "
    "a share of the same ledger, or train one model",
    "sklearn.compose._target": "the target's transformer is fitted exactly. Declare target=(low, high)",
    "sklearn.model_selection._search": "exact scores choose outside the budget. Use PrivateSearch",
    "sklearn.feature_selection._sequential": "columns are chosen by exact scores, outside the budget. Choose "
    "them from what is known without the data",
    "sklearn.feature_selection._rfe": "columns are chosen over many fits, and each costs the whole budget "
    "again. Choose them from what is known without the data",
}
"""Modules that call `fit`, each with what it does and what to do instead."""


def warn_of_outer_fit() -> None:
    """Warn if one of these modules is up the stack; a function of code alone, never of data."""
    frame = sys._getframe(1)
    while frame is not None:
        said = OUTER.get(frame.f_globals.get("__name__", ""))
        if said is not None:
            warnings.warn(
                f"{said}. The guarantee of this fit is its own and does not cover what surrounds it.",
                PrivacyWarning,
                stacklevel=2,
            )
            return
        frame = frame.f_back  # type: ignore[assignment]
