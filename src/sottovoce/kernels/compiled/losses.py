"""Losses in compiled passes over short runs of rows: what is summed, what is chained, what a trial needs.

With e = exp(-|t|) in (0, 1] nothing overflows or cancels: 1/(1 + e^t) is e/(1 + e) or 1/(1 + e), and
log(1 + e^-t) = max(-t, 0) + log(1 + e).

Logarithms are taken of products: 1 + e lies in (1, 2], so a run of `RUN` rows multiplies to at most 2^RUN,
and each factor's two roundings move the sum of logarithms by two units of 2^-53. That is less than three of
the `function_ulps` that `rounding` allows each row, because the loss ranges over at least log(2)/scale.
Records with weights take a logarithm each, by a polynomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.data.compiled.jit import compiled
from sottovoce.kernels.compiled import residuals
from sottovoce.kernels.compiled.exponential import decay, log_ratio
from sottovoce.kernels.compiled.twins import LOGISTIC, POISSON, SAVAGE, SIGMOID, Twin

RUN = 256
"""Most rows in a run."""


@compiled()
def place(twin: Twin, products: Any, targets: Any) -> None:
    """t_i from <x_i, w>, in place: y <x, w> for a margin loss, <x, w> - y for a residual loss, <x, w> less a
    constant for a count."""
    if twin.margin:
        chain(twin, products, targets)
    elif twin.family == POISSON:
        for i in range(products.size):
            products[i] -= twin.shift
    else:
        for i in range(products.size):
            products[i] -= targets[i]


@compiled()
def chain(twin: Twin, slopes: Any, targets: Any) -> None:
    """Multiply by dt/d<x, w>, in place: the label's sign for a margin loss, 1 for a residual loss."""
    if twin.margin:
        for i in range(slopes.size):
            slopes[i] *= targets[i]


@compiled()
def tangent(twin: Twin, t: Any, targets: Any, weights: Any, slopes: Any, values: Any) -> float:
    """Sum of phi(t_i) over a run, and phi'(t_i) in `slopes`; both times what the record counts.

    `weights`, here and below, is empty where records have none; `values`, and `slopes` and the three `rooms`
    below, are room for a run. Where sums of phi are not wanted, that of a logarithm is left out."""
    if twin.family == LOGISTIC and not twin.valued:
        _logistic_slopes(twin, t, targets, weights, slopes)
        return 0.0
    if weights.size:
        return _counted_tangent(twin, t, targets, weights, slopes, values)
    if twin.family == LOGISTIC and twin.negative == twin.positive:
        return twin.positive * _logistic_tangent(twin, t, slopes)
    if twin.family == LOGISTIC:
        return _weighted_logistic_tangent(twin, t, targets, slopes)
    _plain(twin, t, values, slopes)
    _pull(twin, t, targets, values, slopes)
    for i in range(t.size):
        slopes[i] = min(max(slopes[i], -twin.slope), twin.slope) * _count(twin, targets[i])
    return _weighted_sum(twin, values[: t.size], targets)


@compiled()
def curvatures(twin: Twin, t: Any, targets: Any, out: Any) -> None:
    """phi''(t_i) times what the record counts."""
    if twin.family == LOGISTIC:
        for i in range(t.size):
            e = decay(twin.scale * (t[i] - twin.shift))
            share = 1.0 / (1.0 + e)
            out[i] = twin.scale * e * share * share
    elif twin.family == SIGMOID:
        for i in range(t.size):
            e = decay(t[i])
            share = 1.0 / (1.0 + e)
            bend = e * share * share * (1.0 - e) * share
            out[i] = bend if t[i] >= 0.0 else -bend
    elif twin.family == SAVAGE:
        for i in range(t.size):
            e = decay(t[i])
            share = 1.0 / (1.0 + e)
            p = (e if t[i] >= 0.0 else 1.0) * share
            out[i] = 2.0 * p * e * share * share * (2.0 - 3.0 * p)
    else:
        residuals.curvatures(twin, t, out)
    for i in range(t.size):
        out[i] = min(max(out[i], twin.low), twin.high) * _count(twin, targets[i])


@compiled()
def mark(twin: Twin, t: Any, marks: Any, slopes: Any) -> None:
    """What `drop` needs to know of where it starts: 1 + e for a logarithm of it, else phi(t_i)."""
    if twin.family == LOGISTIC:
        for i in range(t.size):
            marks[i] = 1.0 + decay(twin.scale * (t[i] - twin.shift))
    else:
        _plain(twin, t, marks, slopes)


@compiled()
def drop(
    twin: Twin, length: float, t: Any, moves: Any, marks: Any, targets: Any, weights: Any, rooms: Any
) -> float:
    """Sum of phi(t_i) - phi(t_i + length u_i) over a run, differences taken row by row."""
    if weights.size:
        return _counted_drop(twin, length, t, moves, marks, targets, weights, rooms)
    if twin.family == LOGISTIC:
        if twin.negative == twin.positive:
            return twin.positive * _logistic_drop(twin, length, t, moves, marks)
        return _weighted_logistic_drop(twin, length, t, moves, marks, targets)
    there, values, slopes = rooms[0, : t.size], rooms[1, : t.size], rooms[2, : t.size]
    for i in range(t.size):
        there[i] = t[i] + length * moves[i]
    _plain(twin, there, values, slopes)
    for i in range(t.size):
        values[i] = marks[i] - values[i]
    if twin.family == POISSON:
        for i in range(t.size):
            values[i] += targets[i] * (length * moves[i])
    return _weighted_sum(twin, values, targets)


@compiled()
def _counted_tangent(twin: Twin, t: Any, targets: Any, weights: Any, slopes: Any, values: Any) -> float:
    _plain(twin, t, values, slopes)
    _pull(twin, t, targets, values, slopes)
    for i in range(t.size):
        count = weights[i] * _count(twin, targets[i])
        slopes[i] = min(max(slopes[i], -twin.slope), twin.slope) * count
        values[i] *= weights[i]
    return _weighted_sum(twin, values[: t.size], targets)


@compiled()
def _counted_drop(
    twin: Twin, length: float, t: Any, moves: Any, marks: Any, targets: Any, weights: Any, rooms: Any
) -> float:
    there, values, slopes = rooms[0, : t.size], rooms[1, : t.size], rooms[2, : t.size]
    for i in range(t.size):
        there[i] = t[i] + length * moves[i]
    if twin.family == LOGISTIC:
        unit = 1.0 / twin.scale
        for i in range(t.size):
            s, end = twin.scale * (t[i] - twin.shift), twin.scale * (there[i] - twin.shift)
            gain = max(-s, 0.0) - max(-end, 0.0) + log_ratio(marks[i], 1.0 + decay(end))
            values[i] = gain * unit * weights[i]
    else:
        _plain(twin, there, values, slopes)
        for i in range(t.size):
            pulled = targets[i] * (length * moves[i]) if twin.family == POISSON else 0.0
            values[i] = (marks[i] - values[i] + pulled) * weights[i]
    return _weighted_sum(twin, values, targets)


@compiled()
def _pull(twin: Twin, t: Any, targets: Any, values: Any, slopes: Any) -> None:
    """Take y_i t_i from the values of counts, and y_i from their slopes."""
    if twin.family == POISSON:
        for i in range(t.size):
            values[i] -= targets[i] * t[i]
            slopes[i] -= targets[i]


@compiled()
def _count(twin: Twin, target: float) -> float:
    return twin.positive if target > 0.0 else twin.negative


@compiled(reorder=True)
def _weighted_sum(twin: Twin, values: Any, targets: Any) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i] * _count(twin, targets[i])
    return total


@compiled()
def _logistic_slopes(twin: Twin, t: Any, targets: Any, weights: Any, slopes: Any) -> None:
    for i in range(t.size):
        s = twin.scale * (t[i] - twin.shift)
        e = decay(s)
        falling = e if s >= 0.0 else 1.0
        slopes[i] = max(-min(falling / (1.0 + e), twin.fading * falling), -twin.slope)
    if weights.size:
        for i in range(t.size):
            slopes[i] *= weights[i] * _count(twin, targets[i])
    else:
        for i in range(t.size):
            slopes[i] *= _count(twin, targets[i])


@compiled(reorder=True)
def _logistic_tangent(twin: Twin, t: Any, slopes: Any) -> float:
    linear, product = 0.0, 1.0
    for i in range(t.size):
        s = twin.scale * (t[i] - twin.shift)
        e = decay(s)
        factor = 1.0 + e
        slopes[i] = max(-(e if s >= 0.0 else 1.0) / factor, -twin.slope) * twin.positive
        product *= factor
        linear += max(-s, 0.0)
    total: float = linear + np.log(product)
    return total / twin.scale


@compiled(reorder=True)
def _weighted_logistic_tangent(twin: Twin, t: Any, targets: Any, slopes: Any) -> float:
    below = above = 0.0
    light = heavy = 1.0
    for i in range(t.size):
        s = twin.scale * (t[i] - twin.shift)
        e = decay(s)
        factor, linear = 1.0 + e, max(-s, 0.0)
        positive = targets[i] > 0.0
        slopes[i] = max(-(e if s >= 0.0 else 1.0) / factor, -twin.slope) * _count(twin, targets[i])
        heavy *= factor if positive else 1.0
        light *= 1.0 if positive else factor
        above += linear if positive else 0.0
        below += 0.0 if positive else linear
    total: float = twin.positive * (above + np.log(heavy)) + twin.negative * (below + np.log(light))
    return total / twin.scale


@compiled(reorder=True)
def _logistic_drop(twin: Twin, length: float, t: Any, moves: Any, marks: Any) -> float:
    linear = 0.0
    start = end = 1.0
    for i in range(t.size):
        s = twin.scale * (t[i] - twin.shift)
        there = twin.scale * ((t[i] + length * moves[i]) - twin.shift)
        linear += max(-s, 0.0) - max(-there, 0.0)
        start *= marks[i]
        end *= 1.0 + decay(there)
    gain: float = linear + np.log(start / end)
    return gain / twin.scale


@compiled(reorder=True)
def _weighted_logistic_drop(twin: Twin, length: float, t: Any, moves: Any, marks: Any, targets: Any) -> float:
    below = above = 0.0
    light = heavy = light_end = heavy_end = 1.0
    for i in range(t.size):
        s = twin.scale * (t[i] - twin.shift)
        end = twin.scale * ((t[i] + length * moves[i]) - twin.shift)
        factor = 1.0 + decay(end)
        linear = max(-s, 0.0) - max(-end, 0.0)
        positive = targets[i] > 0.0
        heavy *= marks[i] if positive else 1.0
        light *= 1.0 if positive else marks[i]
        heavy_end *= factor if positive else 1.0
        light_end *= 1.0 if positive else factor
        above += linear if positive else 0.0
        below += 0.0 if positive else linear
    of_positive: float = twin.positive * (above + np.log(heavy / heavy_end))
    of_negative: float = twin.negative * (below + np.log(light / light_end))
    return (of_positive + of_negative) / twin.scale


@compiled()
def _plain(twin: Twin, t: Any, values: Any, slopes: Any) -> None:
    """phi(t_i) and phi'(t_i), neither weighted nor clamped."""
    if twin.family == LOGISTIC:
        unit = 1.0 / twin.scale
        for i in range(t.size):
            s = twin.scale * (t[i] - twin.shift)
            e = decay(s)
            values[i] = (max(-s, 0.0) + log_ratio(1.0 + e, 1.0)) * unit
            slopes[i] = -(e if s >= 0.0 else 1.0) / (1.0 + e)
    elif twin.family == SIGMOID:
        for i in range(t.size):
            s = t[i]
            e = decay(s)
            share = 1.0 / (1.0 + e)
            values[i] = min((e if s >= 0.0 else 1.0) * share, 1.0)
            slopes[i] = -e * share * share
    elif twin.family == SAVAGE:
        for i in range(t.size):
            s = t[i]
            e = decay(s)
            share = 1.0 / (1.0 + e)
            p = min((e if s >= 0.0 else 1.0) * share, 1.0)
            values[i] = p * p
            slopes[i] = -2.0 * p * e * share * share
    else:
        residuals.tangent(twin, t, values, slopes)
