"""Each example's term cut to a public length, then summed: what makes an answer's sensitivity finite."""

from __future__ import annotations

import torch
from torch import Tensor

MARGIN = 2.0**-30
"""Terms are cut this much shorter than allowed: more than rounding adds to norms of up to 2^22 entries."""


def clipped_sum(terms: Tensor, limit: float, shares: Tensor) -> Tensor:
    """Sum over the first dimension of terms cut to norm `limit` (Frobenius for matrices), in float64."""
    return clipped_and_counted(terms, limit, shares)[0]


def clipped_and_counted(terms: Tensor, limit: float, shares: Tensor) -> tuple[Tensor, Tensor]:
    """That sum, and the sum of shares, half of each: added where a term was not cut, taken off where it was.

    A term whose norm is not finite, by NaN, infinity or overflow, counts as zero. Whether a term is cut
    depends on that term alone, so replacing an example moves the sum by at most twice the limit. So does
    replacing all examples of a person, over whom `shares` sum to 1 at most: their part lies in the convex
    hull of cut terms and 0. What has share 0 adds 0."""
    flat, norms, factors = _factors(terms, limit)
    return ((factors * shares) @ flat).reshape(terms.shape[1:]), counted(norms, limit, shares)


def cut(terms: Tensor, limit: float) -> Tensor:
    """The terms, cut to norm `limit` each."""
    flat, _, factors = _factors(terms, limit)
    return (factors[:, None] * flat).reshape(terms.shape)


def _factors(terms: Tensor, limit: float) -> tuple[Tensor, Tensor, Tensor]:
    """Terms in float64, one a row and 0 where they are not finite, their norms, and what to cut each by."""
    flat = terms.to(torch.float64).reshape(len(terms), -1)
    norms = torch.linalg.vector_norm(flat, dim=1)
    usable = torch.isfinite(norms)
    flat = torch.where(usable[:, None], flat, 0.0)
    allowed = limit * (1.0 - MARGIN)
    return flat, norms, torch.clamp(allowed / torch.where(usable, norms, 1.0).clamp_min(1e-300), max=1.0)


def counted(norms: Tensor, limit: float, shares: Tensor) -> Tensor:
    """Sum of shares, half of each: added where a norm is within the limit, taken off elsewhere."""
    return torch.where(norms <= limit, 0.5 * shares, -0.5 * shares).sum()


def banded(norms: Tensor, edges: Tensor, shares: Tensor) -> Tensor:
    """Sum of shares for each band: above the first edge, between two, at most the last. What is not finite
    counts in none."""
    bands = (norms[:, None] <= edges).sum(1)
    usable = torch.where(torch.isfinite(norms), shares, 0.0)
    return torch.zeros(len(edges) + 1, dtype=torch.float64, device=norms.device).index_add_(0, bands, usable)


def clipped_numbers(terms: Tensor, low: float, high: float, shares: Tensor) -> float:
    """Sum of numbers cut to [low, high], in float64; one that is not finite counts as the nearest to 0."""
    exact = terms.to(torch.float64)
    exact = torch.where(torch.isfinite(exact), exact, 0.0)
    return float((exact.clamp(low, high) * shares).sum())
