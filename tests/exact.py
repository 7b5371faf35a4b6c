"""Losses and risks at high precision, written down afresh: what the library's floats are measured against."""

from __future__ import annotations

import mpmath

from sottovoce import losses
from sottovoce.losses import Kind, Loss
from sottovoce.models.linear import Risk


def exact_loss(loss: Loss, t: mpmath.mpf) -> mpmath.mpf:
    """phi(t) at working precision, written down afresh."""
    e, log, one = mpmath.exp, mpmath.log, mpmath.mpf(1)
    match loss:
        case losses.Logistic():
            return log(1 + e(-t))
        case losses.Sigmoid():
            return one / (1 + e(t))
        case losses.Savage():
            return one / (1 + e(t)) ** 2
        case losses.SoftplusHinge(sharpness=k):
            return log(1 + e(k * (1 - t))) / k
        case losses.PseudoHuber(scale=c) | losses.LeastSquares(scale=c):
            return mpmath.mpf(c) ** 2 * (mpmath.sqrt(1 + (t / c) ** 2) - 1)
        case losses.LogCosh():
            return log(mpmath.cosh(t))
        case losses.Cauchy(scale=c):
            return mpmath.mpf(c) ** 2 / 2 * log(1 + (t / c) ** 2)
        case losses.GemanMcClure(scale=c):
            return t**2 / 2 / (1 + (t / c) ** 2)
        case losses.Welsch(scale=c):
            return mpmath.mpf(c) ** 2 / 2 * (1 - e(-((t / c) ** 2)))
        case _:
            raise AssertionError(loss)


def derivatives(loss: Loss, t: mpmath.mpf) -> list[mpmath.mpf]:
    """phi, phi', phi'' at t, by Taylor's formula at high precision."""
    zero, one, half = mpmath.taylor(lambda s: exact_loss(loss, s), t, 2)
    return [zero, one, 2 * half]


class Exact:
    """The same risk on the rows as stored, at 60 digits; sums only, no blocks."""

    def __init__(self, risk: Risk) -> None:
        block = risk.records._rows.block(0)
        self.loss = risk.loss
        self.rows = [[mpmath.mpf(float(x)) for x in row] for row in block.features]
        self.targets = [mpmath.mpf(float(y)) for y in block.targets]

    def terms(self, w: list[mpmath.mpf]) -> list[tuple[list[mpmath.mpf], list[mpmath.mpf]]]:
        out = []
        for x, y in zip(self.rows, self.targets, strict=True):
            product = mpmath.fdot(x, w)
            margin = self.loss.kind is Kind.MARGIN
            t = y * product if margin else product - y
            value, first, second = derivatives(self.loss, t)
            out.append(([value, first * y if margin else first, second], x))
        return out

    def value(self, w: list[mpmath.mpf]) -> mpmath.mpf:
        return mpmath.fsum(d[0] for d, _ in self.terms(w)) / len(self.rows)

    def gradient(self, w: list[mpmath.mpf]) -> list[mpmath.mpf]:
        terms = self.terms(w)
        return [mpmath.fsum(d[1] * x[j] for d, x in terms) / len(self.rows) for j in range(len(w))]

    def hessian(self, w: list[mpmath.mpf]) -> mpmath.matrix:
        terms, dim = self.terms(w), len(w)
        return mpmath.matrix(
            [
                [mpmath.fsum(d[2] * x[j] * x[k] for d, x in terms) / len(self.rows) for k in range(dim)]
                for j in range(dim)
            ]
        )
