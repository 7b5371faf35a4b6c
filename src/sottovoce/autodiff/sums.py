"""Examples behind bounded sums: every example's part in an answer is computed by itself, cut, and summed."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from scipy import linalg

from sottovoce.autodiff.clipping import banded, clipped_and_counted, clipped_numbers, clipped_sum, cut
from sottovoce.autodiff.examples import MOST_EXAMPLES
from sottovoce.autodiff.fused import REACH
from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError
from sottovoce.kernels.sums import checked_weights
from sottovoce.privacy.rounding import Arithmetic
from sottovoce.privacy.sensitivity import Facts, sensitivity
from sottovoce.trusted import example_requests, requests
from sottovoce.trusted.requests import Sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from torch import Tensor

    from sottovoce.accounting.relations import Relation
    from sottovoce.arrays import Vector
    from sottovoce.autodiff.examples import Examples, Piece
    from sottovoce.autodiff.fused import Fused
    from sottovoce.autodiff.terms import Terms


@final
class ExampleSums(Sealed, Sums):
    """Sums over the examples of n records or persons. `chunk` says how many examples are computed at once
    where each gives so many numbers; it is public."""

    def __init__(
        self,
        terms: Terms,
        examples: Examples,
        fused: Fused | None,
        *,
        chunk: Callable[[int], int],
        persons: bool,
        counted: bool = False,
        n: int | None = None,
    ) -> None:
        self._terms = terms
        self._examples = examples
        self._fused = fused
        self._chunk = chunk
        self._persons = persons
        self._counted = counted
        self._n = examples.n if n is None else n

    @property
    def n(self) -> int:
        return self._n

    @property
    def by_person(self) -> bool:
        return self._persons

    @property
    def is_n_private(self) -> bool:
        return self._counted

    @property
    def dim(self) -> int:
        return self._terms.dim

    @cached_property
    def facts(self) -> Facts:
        """Additions are n at most, or as many as persons may have examples."""
        terms = self.n + MOST_EXAMPLES if self._persons else None
        arithmetic = Arithmetic(n=self.n, dim=self.dim, block_length=terms or self.n, radius=1.0, terms=terms)
        return Facts(
            n=self.n,
            radius=1.0,
            weight=1.0,
            lightest=0.0,
            influence=1.0,
            energy=1.0,
            target_reach=0.0,
            arithmetic=arithmetic,
            persons=self._persons,
        )

    def sensitivity(self, request: requests.Request, relation: Relation) -> float:
        if not isinstance(getattr(request, "of", request), requests.ExampleRequest):
            raise _refused(request)
        return sensitivity(request, self.facts, relation)

    def answer(self, request: requests.Request) -> Any:
        match request:
            case example_requests.ClippedGradients(w, limit):
                return self._gradients(w, limit)[0]
            case example_requests.CountedGradients(w, limit, weight):
                gradient, unclipped = self._gradients(w, limit)
                return np.append(gradient, limit * weight * unclipped)
            case example_requests.GradientChanges(w, direction, clip, limit):
                ends = self._flat(w), self._flat(w + direction)

                def changes(x: Tensor, y: Tensor) -> Tensor:
                    here, there = (cut(self._terms.gradients(end, x, y), clip) for end in ends)
                    return there - here

                return self._mean(changes, limit, (self.dim,), 2)
            case example_requests.GradientShares(w, edges):
                return self._shares(w, edges)
            case example_requests.ClippedHessians(w, limit):
                flat, shape = self._flat(w), (self.dim, self.dim)
                matrix = self._mean(lambda x, y: self._terms.hessians(flat, x, y), limit, shape)
                return 0.5 * (matrix + matrix.T)
            case example_requests.ClippedProducts(w, direction, limit):
                return self._products(w, direction, limit)
            case example_requests.ClippedLosses(w, span):
                low, high = span.checked()
                losses = self.losses(w)
                return math.fsum(clipped_numbers(held, low, high, shares) for held, shares in losses) / self.n
            case example_requests.LossSteps(steepest, w, steps, divisors):
                here = self.losses(w)
                falls = [self._fall(here, w, step, steepest * _length(step)) for step in steps]
                return np.array(falls) / divisors
            case example_requests.LossLine():
                fall = self.falls(request)
                return np.array([fall(float(length)) for length in request.lengths])
            case requests.Norm(of, added):
                return _length(self.answer(of) + added)
            case requests.SmallestEigenvalue(of, added):
                return float(linalg.eigvalsh(self.answer(of) + added, subset_by_index=(0, 0))[0])
            case _:
                raise _refused(request)

    def falls(self, request: requests.Request) -> Callable[[float], float]:
        """The losses at w are kept, one number an example."""
        assert isinstance(request, example_requests.LossLine)
        w, direction, here = request.w, request.direction, self.losses(request.w)
        limit = request.steepest * _length(direction)

        def fall(gamma: float) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                step = gamma * direction
            return self._fall(here, w, step, limit * abs(gamma))

        return fall

    def batch(self, size: int, most: int) -> ExampleSums:
        sized = self._with(self._examples, size)
        arithmetic = replace(self.facts.arithmetic, n=size, records=most)
        sized.__dict__["facts"] = replace(self.facts, n=size, arithmetic=arithmetic)
        sized.prices_only = True
        return sized

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> ExampleSums:
        return self._with(self._examples.take(indices), n)

    def _with(self, examples: Examples, n: int | None) -> ExampleSums:
        kept: dict[str, Any] = {"chunk": self._chunk, "persons": self._persons, "counted": self._counted}
        return ExampleSums(self._terms, examples, self._fused, **kept, n=n)

    def preconditioned(self, preconditioner: Any) -> ExampleSums:
        raise ParameterError("a PyTorch module has no columns to give coordinates to.")

    def works(self, flat: Tensor) -> bool:
        """Whether module and loss take every example. Exact: for the data's owner, at the door."""
        return all(self._terms.works(flat, x, y) for x, y, _ in self._pieces())

    def _gradients(self, w: Vector, limit: float) -> tuple[Vector, float]:
        """Mean of gradients cut to norm `limit`, and of their counts (`clipping.counted`)."""
        flat, filler, unclipped = self._flat(w), self._terms.filler, 0.0
        total = torch.zeros(self.dim, dtype=torch.float64, device=self._terms.device)
        for x, y, shares in self._gradient_pieces(flat):
            if self._fused is not None:
                added, counts = self._fused.clipped_sum(flat, x, y, limit, shares, filler)
            else:
                added, counts = clipped_and_counted(self._terms.gradients(flat, x, y), limit, shares)
            total += added
            unclipped += float(counts)
        return total.cpu().numpy() / self.n, unclipped / self.n

    def _shares(self, w: Vector, edges: Vector) -> Vector:
        flat, filler = self._flat(w), self._terms.filler
        ends = torch.from_numpy(np.array(edges)).to(self._terms.device)
        total = torch.zeros(len(edges) + 1, dtype=torch.float64, device=self._terms.device)
        for x, y, shares in self._gradient_pieces(flat):
            if self._fused is not None:
                total += self._fused.banded(flat, x, y, ends, shares, filler)
            else:
                norms = torch.linalg.vector_norm(self._terms.gradients(flat, x, y).double(), dim=1)
                total += banded(norms, ends, shares)
        found: Vector = total.cpu().numpy() / self.n
        return found

    def _products(self, w: Vector, direction: Vector, limit: float) -> Vector:
        """The direction at length 1, or shorter if it is."""
        along = checked_weights(direction, self.dim, 1.0, "direction")
        unit = along / max(1.0, _length(along))
        flat, v = self._flat(w), self._terms.vector(unit)
        return self._mean(
            lambda x, y: self._terms.products(flat, v, x, y), limit * min(1.0, _length(unit)), (self.dim,), 2
        )

    def losses(self, w: Vector) -> list[tuple[Tensor, Tensor]]:
        """Of each call, and what each of its examples counts. Exact: for the data's owner only."""
        flat = self._flat(w)
        return [(self._terms.values(flat, x, y).double(), q) for x, y, q in self._pieces()]

    def _fall(self, here: list[tuple[Tensor, Tensor]], w: Vector, step: Vector, limit: float) -> float:
        """Mean fall of losses along a step, each within the limit."""
        with np.errstate(over="ignore", invalid="ignore"):
            there = self.losses(w + step)
        falls = ((before - after, q) for (before, q), (after, _) in zip(here, there, strict=True))
        return math.fsum(clipped_numbers(fall, -limit, limit, q) for fall, q in falls) / self.n

    def _mean(
        self,
        terms: Callable[[Tensor, Tensor], Tensor],
        limit: float,
        shape: tuple[int, ...],
        copies: int = 1,
    ) -> Vector:
        """Mean of terms of this shape cut to norm `limit`, call by call; `copies` of each are held."""
        total = torch.zeros(shape, dtype=torch.float64, device=self._terms.device)
        for x, y, shares in self._pieces(copies * math.prod(shape)):
            total = total + clipped_sum(terms(x, y), limit, shares)
        mean: Vector = total.cpu().numpy() / self.n
        return mean

    def _flat(self, w: Any) -> Tensor:
        return self._terms.vector(checked_weights(w, self.dim, 1.0))

    def _gradient_pieces(self, flat: Tensor) -> Iterator[Piece]:
        if self._fused is None:
            return self._pieces(self.dim)
        self._fused.begin()
        return self._pieces(self._fused.entries(flat, self._terms.filler[0]), REACH)

    def _pieces(self, entries: int = 1, reach: float = 4.0) -> Iterator[Piece]:
        """Calls that give so many numbers an example."""
        return self._examples.pieces(self._chunk(entries), self.n, reach)

    def __repr__(self) -> str:
        return f"ExampleSums(n={self.n}, dim={self.dim})"


def _length(v: Vector) -> float:
    return float(np.linalg.norm(v))


def _refused(request: requests.Request) -> ParameterError:
    return ParameterError(
        f"{type(request).__name__} is not asked of a PyTorch module, which has no rows. "
        'Use method="descent-b", "opt-ls" or, for few weights, "cubic".'
    )
