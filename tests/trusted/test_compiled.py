"""Compiled passes clamp as NumPy does, whatever a law returns: wild laws give the same sums either way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sottovoce as sv
from sottovoce.kernels.sums import LinearSums
from sottovoce.losses import Kind, Logistic, Loss
from sottovoce.trusted import requests
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.laws import Law, Placing

N, DIM = 700, 3
BAND = Band(-1.0, 1.2, np.linspace(-0.8, 0.1, 9), np.linspace(-0.5, 0.9, 9))


def large(t: float, y: float) -> tuple[float, float, float]:
    return 1e5 * t * t, 1e5 * t, 1e5 * (t - 0.3)


def missing(t: float, y: float) -> tuple[float, float, float]:
    gone = math.log(t)
    return gone, gone, gone


def infinite(t: float, y: float) -> tuple[float, float, float]:
    return 1.0 / (t - t), t / 0.0, -1.0 / (t - t)


def by_label(t: float, y: float) -> tuple[float, float, float]:
    return (9.0, -9.0, 9.0) if y > 0.0 else (-9.0, 9.0, -9.0)


WILD = [large, missing, infinite, by_label, Logistic.scalar]


def rows_of(form: str) -> sv.Records:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(N, DIM)) * 0.7, rng.choice([-1, 1], N)
    weighted = (
        {"sample_weight": rng.choice([0.0, 0.4, 2.0], N), "weight_cap": 2.0} if form == "weighted" else {}
    )
    held: Any = sparse.csr_array(X * (rng.random(X.shape) < 0.5)) if form == "sparse" else X
    return sv.Records.from_arrays(held, y, labels=(-1, 1), radius=1.5, **weighted)


def asked(scalar: Any) -> list[requests.Request]:
    law, w = Law(scalar, Placing.MARGIN, negative=0.5, positive=2.0), np.array([0.5, -1.0, 0.7])
    steps = np.array([[0.3, 0.1, -0.2], [1.0, 2.0, 0.5]])
    return [
        requests.VectorSum(law, BAND, w),
        requests.VectorChange(law, Span(-0.2, 0.3), 0.1, w, steps[1]),
        requests.NumberSum(law, Span(-0.3, 0.8), w),
        requests.MatrixSum(law, Span(-0.2, 0.3), w),
        requests.InformationSum(law, Span(0.0, 0.3), w),
        requests.ScoreSum(law, BAND, w),
        requests.StepDrops(law, 0.7, w, steps, np.linalg.norm(steps, axis=1)),
        requests.LineDrops(law, 0.7, w, steps[0], np.array([1.0, 0.25])),
    ]


@pytest.mark.parametrize("form", ["dense", "weighted", "sparse"])
@pytest.mark.parametrize("scalar", WILD, ids=lambda f: f.__name__)
def test_compiled_and_numpy_passes_clamp_alike(
    scalar: Any, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = rows_of(form)
    answers = []
    for kernels in ("reference", "compiled"):
        monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
        answers.append([np.asarray(LinearSums(records).answer(request)) for request in asked(scalar)])
    for request, plain, compiled in zip(asked(scalar), *answers, strict=True):
        assert np.all(np.isfinite(plain)), type(request).__name__
        np.testing.assert_allclose(compiled, plain, rtol=1e-11, atol=1e-12, err_msg=type(request).__name__)


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
def test_value_and_gradient_clamp_in_one_pass_as_in_two(
    kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    sums = LinearSums(rows_of("dense"))
    for scalar in WILD:
        vector, _, number, *_ = asked(scalar)
        assert isinstance(vector, requests.VectorSum)
        assert isinstance(number, requests.NumberSum)
        value, gradient = sums.value_and_gradient(number, vector)
        assert value == pytest.approx(sums.answer(number), rel=1e-12)
        np.testing.assert_allclose(gradient, sums.answer(vector), rtol=1e-11, atol=1e-13)


def test_a_record_that_counts_nothing_adds_nothing_whatever_its_law_returns() -> None:
    """Clamp, then weight: 0 times infinity is no number, and would make a blank row count."""

    class Blank(Loss):
        name, kind, unit = "blank", Kind.MARGIN, Logistic.unit
        scalar = staticmethod(infinite)

    X, y = np.array([[1.0], [0.5]]), [1, -1]
    sides = [
        sv.Risk(
            sv.Records.from_arrays(
                np.array([[x], [0.5]]), y, labels=(-1, 1), sample_weight=[0.0, 1.0], weight_cap=1.0
            ),
            Blank(),
        )
        for x in (X[0, 0], -0.3)
    ]
    w, steps = np.ones(1), np.full((1, 1), 0.2)
    for name, told in (("gradient", (w,)), ("value", (w,)), ("hessian", (w,)), ("trials", (w, steps))):
        one, other = (np.asarray(getattr(side, name)(*told)) for side in sides)
        assert np.array_equal(one, other), name
