"""Renyi divergence of a Gaussian answer on a secret batch of fixed size drawn without replacement.

Wang, Balle & Kasiviswanathan 2019, theorem 27, replaced records. dp-accounting evaluates the same theorem by
differences of floating-point numbers that cancel: at order 40, rate 0.2 and scale 627 it falls 1e-7 short,
at order 64, rate 0.5 and scale 100 it is thirty times too high. Here the differences are whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

# Relative error allowed for; floating point enters only after the differences are taken.
SLACK = 1e-9
# Past this moment the cruder of the theorem's two bounds is used alone.
_LAST_MOMENT = 256


@lru_cache(maxsize=4096)
def subsampled_gaussian(order: float, mu_squared: float, batch: int, population: int) -> float:
    """Upper bound on the Renyi divergence at `order`; `mu_squared` = (sensitivity/scale)^2 on the batch."""
    return between_whole_orders(order, lambda whole: _log_moment(whole, mu_squared, batch, population))


def between_whole_orders(order: float, log_moment: Callable[[int], float]) -> float:
    """The divergence at `order` from log moments at whole orders, (order - 1) times the divergence there.

    That product is convex in the order, so its chord is an upper bound."""
    below, above = math.floor(order), math.ceil(order)
    part = order - below
    bound = part * log_moment(above) if part > 0.0 else 0.0
    bound += (1.0 - part) * log_moment(below)
    return bound / (order - 1.0) * (1.0 + SLACK)


def _log_moment(order: int, mu_squared: float, batch: int, population: int) -> float:
    """log(1 + sum over j of rate^j C(order, j) min(4 sqrt(B_lo B_hi), 2 e^{mu^2 j(j-1)/2})).

    B_k = E (p/q - 1)^k at the even k on either side of j. Three outputs p, q, r of neighbouring batches obey
    E_r |p - q|^j / r^j <= 4 B_j, and at most the sum of E (p/r)^j and E (q/r)^j."""
    if order < 2:
        return 0.0
    moments = _log_even_moments(order, mu_squared)
    log_rate = math.log(batch / population)
    logs = []
    for j, log_choices in enumerate(log_binomials(order)[2:], start=2):
        log_bound = math.log(2.0) + mu_squared * j * (j - 1) / 2.0
        low, high = moments.get(j - j % 2), moments.get(j + j % 2)
        if low is not None and high is not None:
            log_bound = min(log_bound, math.log(4.0) + (low + high) / 2.0)
        logs.append(log_bound + j * log_rate + log_choices)
    largest = max(0.0, *logs)
    total = math.fsum(math.exp(value - largest) for value in logs)
    return math.log1p(total) if largest == 0.0 else largest + math.log(math.exp(-largest) + total)


@lru_cache(maxsize=256)
def log_binomials(order: int) -> tuple[float, ...]:
    """log C(order, j) for j from 0."""
    choices, logs = 1, [0.0]
    for j in range(1, order + 1):
        choices = choices * (order - j + 1) // j
        logs.append(math.log(choices))
    return tuple(logs)


def _log_even_moments(order: int, mu_squared: float) -> dict[int, float]:
    """log B_k for even k, B_k the k-th difference at 0 of e^{mu^2 i(i-1)/2}, rounded up.

    Stops where B_k exceeds 7/8 of e^{mu^2 k(k-1)/2}, from which on the other bound is the smaller one."""
    last = 2
    while last < min(order, _LAST_MOMENT) and last * math.exp(-(last - 1) * mu_squared) > 0.125:
        last += 2
    lost = last * (4.0 - 0.5 * math.log2(min(1.0, mu_squared))) + mu_squared * last * last
    bits = 96 + math.ceil(lost)
    row, error = _exponentials(mu_squared, last, bits)
    moments = {}
    for k in range(1, last + 1):
        row = [after - before for before, after in pairwise(row)]
        if k % 2 == 0:
            moments[k] = math.log(row[0] + (error << k)) - bits * math.log(2.0)
    return moments


def _exponentials(mu_squared: float, last: int, bits: int) -> tuple[list[int], int]:
    """e^{mu^2 i(i-1)/2} for i = 0..last in units of 2^-bits, and a bound on the error of each.

    A product of numbers at least 1, cut to a whole number of units, errs by a relative 2^-bits at most. The
    i-th value gathers fewer than i^2 cuts, and the base's own error, one unit a term, i(i-1)/2 times."""
    one = 1 << bits
    numerator, denominator = mu_squared.as_integer_ratio()
    base = term = one
    terms = 0
    while term:
        terms += 1
        term = term * numerator // (denominator * terms)
        base += term
    values, power = [one, one], base
    for _ in range(2, last + 1):
        values.append(values[-1] * power >> bits)
        power = power * base >> bits
    return values, (last * last * (2 * terms + 8) * values[-1] >> bits) + 1
