"""Lanczos's recurrence on products that carry noise, for a direction of low curvature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector


def lowest_direction(
    product: Callable[[Vector], Vector], dim: int, products: int, *, seed: int = 0
) -> Vector:
    """Unit vector of lowest noisy curvature in the space that `products` noisy products span.

    Each image is made orthogonal to all earlier directions and becomes the next one, from a public random
    start. Noise makes the images those of no symmetric matrix, so nothing is taken from the recurrence but
    its basis Q: the answer minimizes y'(Q'Z + Z'Q)y over unit y, Z the noisy images of Q. There noise of sd s
    in every entry of Z weighs no more than s sqrt(2 k) for k products, whatever the dimension; in the basis
    itself it weighs s sqrt(d), so fewer and better products beat many poor ones."""
    generator = np.random.default_rng(seed)
    basis, images = np.zeros((products, dim)), np.zeros((products, dim))
    candidate = generator.standard_normal(dim)
    for k in range(products):
        basis[k] = _outside(basis[:k], candidate, generator)
        images[k] = product(basis[k])
        candidate = images[k]
    projected = basis @ images.T
    _, vectors = np.linalg.eigh(projected + projected.T)
    direction: Vector = vectors[:, 0] @ basis
    return direction / float(np.linalg.norm(direction))


def _outside(basis: np.ndarray, candidate: Vector, generator: np.random.Generator) -> Vector:
    """The unit part of a vector that is orthogonal to the basis, or a random one where none is left."""
    size = float(np.linalg.norm(candidate))
    for _ in range(2):
        candidate = candidate - basis.T @ (basis @ candidate)
    left = float(np.linalg.norm(candidate))
    if left <= 1e-10 * size or size == 0.0:
        return _outside(basis, generator.standard_normal(candidate.size), generator)
    return candidate / left
