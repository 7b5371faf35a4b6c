"""The two public data sets as the paper scales them, rows clipped to norm 1, and the risks on them."""

from __future__ import annotations

import os
from functools import cache

import numpy as np

from sottovoce import losses, regularizers
from sottovoce.data.records import Records
from sottovoce.datasets import covertype
from sottovoce.errors import DataError
from sottovoce.models.linear import Risk
from sottovoce_studies import ijcnn1

STRENGTH = 1e-3
PUBLISHED_AT = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#ijcnn1"


def require_present(datasets: list[str], path: str | None) -> None:
    """Refuse before any work is done if IJCNN1 is asked for and is not there."""
    if "ijcnn1" in datasets:
        _ijcnn1(path)


@cache
def risk_on(dataset: str, loss: str, path: str | None) -> Risk:
    """Logistic loss with the nonconvex penalty, or sigmoid loss with L2, both of strength 1e-3.

    Two exact passes load what the kernels need, so that no run's clock counts it."""
    if loss == "logistic":
        risk = Risk(_records(dataset, path), losses.Logistic(), regularizers.Tukey(STRENGTH))
    else:
        risk = Risk(_records(dataset, path), losses.Sigmoid(), regularizers.L2(STRENGTH))
    risk.gradient(np.zeros(risk.dim))
    risk.hessian(np.zeros(risk.dim))
    return risk


@cache
def _records(dataset: str, path: str | None) -> Records:
    if dataset == "ijcnn1":
        other = _ijcnn1(path)
        return Records.from_arrays(other.standardized(), other.signs(), radius=1.0, labels=(-1, 1))
    table = covertype.load().two_classes()
    return Records.from_arrays(table.standardized(), table.signs(), radius=1.0, labels=(-1, 1))


def _ijcnn1(path: str | None) -> ijcnn1.Ijcnn1:
    place = path or os.environ.get(ijcnn1.FOLDER)
    if not place:
        raise DataError(
            f"IJCNN1 may not be shipped: LIBSVM publishes it at {PUBLISHED_AT}. Store its training rows as "
            f"arrays X_train and y_train of an ijcnn1.npz and point to it: --data PATH, or {ijcnn1.FOLDER}."
        )
    return ijcnn1.load(place)
