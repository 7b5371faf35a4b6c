"""Noise of steps by a released Hessian, whose directions turn from one step to the next.

A step s = -(H~ + m)^-1 g~, in a ball, by a cubic model or with eigenvalues raised, is -p_i g~_i along each
eigenvector of H~: p_i = -s_i/g~_i is released with it. The noise E of H~ enters times the step, as P E s,
with variance (scale^2/2) p_i^2 (|s|^2 + s_i^2). The shift m, or what raised an eigenvalue, is taken as given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.methods.noise_propagation import StepNoise
from sottovoce.results.inference.coefficient_noise import LARGEST_KEPT, CoefficientNoise

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer

LARGEST_TURNED = 300
"""Most weights for which a step by a Hessian is followed in all directions; beyond, by its length alone."""


def by_hessian(gradient: Answer[Vector], hessian: Answer[Matrix], step: Vector) -> StepNoise | None:
    """The step_noise of a step along the eigenvectors of that Hessian; None where there are too many."""
    if step.size > LARGEST_TURNED:
        return None
    values, vectors = np.linalg.eigh(hessian.value)
    parts, way = vectors.T @ gradient.value, vectors.T @ step
    lengths = np.where(parts == 0.0, 0.0, -way / np.where(parts == 0.0, 1.0, parts))
    beside = 0.5 * (hessian.scale * lengths) ** 2 * (float(step @ step) + way**2)
    noise = hessian.scale * math.sqrt(2.0 * step.size) + hessian.sampling
    bend = np.minimum(_through_noise(values, noise), 2.0 / np.maximum(np.abs(lengths), 1e-300))
    return StepNoise(lengths, gradient.scale, bend, vectors, beside)


def turned_noise(
    step_noises: Sequence[StepNoise], weights: Sequence[float], problem: Problem
) -> CoefficientNoise:
    """What noise leaves in the mean of the points after each step, by their weights: as `variances` has it,
    with matrices in place of numbers."""
    dim, columns = problem.dim, problem.columns
    reaching, left = np.zeros((dim, dim)), np.zeros((dim, dim))
    for step_noise, weight in zip(reversed(step_noises), reversed(weights), strict=True):
        reaching = reaching + weight * np.eye(dim)
        basis = _whole(step_noise, problem)
        along = reaching @ basis
        spread = along * np.sqrt(np.resize(step_noise.added, dim))
        left += spread @ spread.T
        shrunk = along * np.resize(1.0 - step_noise.kept, dim) @ basis.T
        reaching = reaching - _apart(step_noise, problem, shrunk)
    blocks = [left[start : start + columns, start : start + columns] for start in range(0, dim, columns)]
    covariance = np.mean(blocks, axis=0) if columns <= LARGEST_KEPT else None
    return CoefficientNoise(np.sqrt(np.diag(left)), covariance, "")


def _through_noise(values: Vector, noise: float) -> Vector:
    """Eigenvalues of a Hessian by those of a noisy one: beyond its noise (v + sqrt(v^2 - noise^2))/2 in size,
    and those within it share what is left of the trace, which has little noise."""
    clear = np.abs(values) > noise
    freed = 0.5 * (values + np.sign(values) * np.sqrt(np.maximum(values**2 - noise**2, 0.0)))
    left = max(0.0, float(values.sum() - freed[clear].sum()))
    return np.where(clear, freed, left / max(1, int(np.count_nonzero(~clear))))


def _whole(step_noise: StepNoise, problem: Problem) -> Matrix:
    """The directions of all weights."""
    if step_noise.basis is None:
        return np.eye(problem.dim)
    return np.asarray(
        np.kron(np.eye(problem.dim // len(step_noise.basis)), step_noise.basis), dtype=np.float64
    )


def _apart(step_noise: StepNoise, problem: Problem, shrunk: Matrix) -> Matrix:
    """What such a step takes off: where it treats outputs alike, of what tells them apart alone, as nothing
    bends what they have in common."""
    if problem.outputs == 1 or (step_noise.basis is not None and len(step_noise.basis) == problem.dim):
        return shrunk
    blocks = shrunk.reshape(problem.dim, problem.outputs, -1)
    return np.asarray((blocks - blocks.mean(axis=1, keepdims=True)).reshape(shrunk.shape))
