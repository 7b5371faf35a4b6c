"""TorchRisk: the mean loss of a PyTorch module, each example's part in it clipped."""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from scipy import linalg

from sottovoce.autodiff.claims import check_module, check_terms
from sottovoce.autodiff.clipping import banded, clipped_and_counted, clipped_numbers, clipped_sum
from sottovoce.autodiff.examples import MOST_EXAMPLES, Examples
from sottovoce.autodiff.fused import REACH
from sottovoce.autodiff.line import TorchLine
from sottovoce.autodiff.parameters import Layout
from sottovoce.autodiff.problem import ClippedBounds, ClippedProblem
from sottovoce.autodiff.settings import Settings
from sottovoce.autodiff.terms import Loss, Terms
from sottovoce.data.persons import Persons
from sottovoce.data.sealed import Sealed
from sottovoce.errors import BLANK, DataError, ParameterError
from sottovoce.kernels.sums import checked_weights
from sottovoce.privacy.rounding import Arithmetic
from sottovoce.regularizers import L2, Regularizer
from sottovoce.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.autodiff.examples import Piece


@final
class TorchRisk(Sealed):
    """f(w) = (1/n) sum loss(module_w(x_i), y_i) + r(w), with what each example adds to an answer clipped.

    A gradient is cut to norm `gradient_clip`, a Hessian to Frobenius norm `curvature_clip`, a Hessian times a
    vector v to `curvature_clip` ||v||, a difference of losses between w and w + p to `gradient_clip` ||p||, a
    loss itself to [0, `loss_bound`]; what is not finite counts as zero. Answers are means of these. A clipped
    product is not linear in v: it is the bend of the clipped risk along v, example by example.

    Without `gradient_clip` only methods that find one are taken (`ClippedAdam`).

    `data` = (inputs, targets), one row an example. `loss(outputs, targets)` gives one number an example.
    w is the vector of the module's trainable parameters, in the order of `named_parameters`; a run starts
    from the module's own, which must not depend on the data. Step lengths are planned from `smoothness` (G,
    default `curvature_clip`), `hessian_lipschitz` (M, default curvature_clip^2 / gradient_clip) and
    `loss_bound`, a bound on an example's loss at the start. `curvature`: "matrix" forms Hessians, "products"
    never does, "auto" forms them up to 300 weights. `memory` bounds the bytes of per-example derivatives held
    at once. An example on which module or loss raise an error is refused at the door, which is outside the
    guarantee; with `invalid="zero"` it is let in and counts for nothing, as it does if that happens later.
    `groups` holds the key of each example's person: the m examples of one count 1/m each, clipped one by one,
    and the guarantee is for persons. `persons` declares their number where it must not be counted.

    Every method returns clipped but exact numbers: for the data's owner, outside any privacy guarantee."""

    def __init__(
        self,
        module: nn.Module,
        loss: Loss,
        data: Any,
        *,
        gradient_clip: float | None = None,
        curvature_clip: float | None = None,
        regularizer: Regularizer = L2(0.0),  # noqa: B008 - L2 is frozen
        loss_bound: float = 1.0,
        smoothness: float | None = None,
        hessian_lipschitz: float | None = None,
        curvature: str = "auto",
        memory: float = 2.0**25,
        dtype: torch.dtype = torch.float64,
        device: str | torch.device | None = None,
        invalid: str = "raise",
        groups: Any = None,
        persons: int | None = None,
    ) -> None:
        if invalid not in ("raise", "zero"):
            raise ParameterError('invalid must be "raise" or "zero".', argument="invalid")
        settings = Settings.of(
            gradient_clip=gradient_clip,
            curvature_clip=curvature_clip,
            loss_bound=loss_bound,
            smoothness=smoothness,
            hessian_lipschitz=hessian_lipschitz,
            curvature=curvature,
            memory=memory,
            dtype=dtype,
            device=device,
        )
        if not isinstance(regularizer, Regularizer):
            raise ParameterError(
                "regularizer must be an object such as regularizers.L2(1e-3).", argument="regularizer"
            )
        check_module(module, loss)
        self._settings = settings
        self._regularizer = regularizer
        self._layout = Layout.of(module)
        self._template = copy.deepcopy(module).cpu()
        self._start = self._layout.vector(module)
        working = copy.deepcopy(module).to(settings.device, settings.dtype)
        self._terms = Terms(working, loss, self._layout, settings.dtype, settings.device)
        examples = Examples.of(data, settings.dtype, settings.device)
        people = Persons.given(groups, examples.n, persons, lenient=invalid == "zero")
        self._persons = people
        self._examples = examples if people is None else examples.by_person(people)
        self._divisor: int | None = None
        flat = self._terms.vector(self._start)
        check_terms(self._terms, flat, examples, matrices=settings.forms_matrices(self.dim))
        self._examples.fill_with(*self._terms.filler)
        self._fused = self._terms.fused(flat)
        if invalid == "raise" and not all(self._terms.works(flat, x, y) for x, y, _ in self._pieces()):
            raise DataError(
                "the module or the loss raises an error on an example, for instance at a label past its last "
                "class; the message is withheld, as it may quote data. Clean the data, or pass "
                'invalid="zero": then such an example counts for nothing.',
                advice=(BLANK,),
            )

    @property
    def n(self) -> int:
        return self._examples.n if self._divisor is None else self._divisor

    @property
    def dim(self) -> int:
        return self._layout.dim

    @property
    def start(self) -> Vector:
        """The module's own parameters, as they were handed over: they must not depend on the data."""
        return self._start.copy()

    @property
    def objective(self) -> str:
        """What is minimized, in words. Public."""
        cut, kind = self._settings, type(self._template).__name__
        mean = "mean loss" if self._persons is None else "mean over persons, each the mean over its rows,"
        clips = f"gradient clipped to {cut.gradient_clip:g} and its curvature to {cut.curvature_clip:g}"
        said = f", each example's {clips}" if cut.declared else ""
        return f"{mean} of {kind} plus {self._regularizer!r}{said}"

    @cached_property
    def problem(self) -> ClippedProblem:
        """The public constants: all a method may know."""
        cut = self._settings
        return ClippedProblem(
            n=self.n,
            dim=self.dim,
            radius=1.0,
            slope=cut.gradient_clip,
            declared=cut.declared,
            layers=tuple(self._layout.sizes),
            curvature_low=cut.curvature_clip,
            curvature_high=cut.curvature_clip,
            third=cut.hessian_lipschitz,
            value_at_zero=cut.loss_bound,
            declared_smoothness=cut.smoothness,
            regularizer=self._regularizer,
            matrix_free=not cut.forms_matrices(self.dim),
            unit="record" if self._persons is None else "person",
            counted=self._persons is not None and not self._persons.declared,
        )

    @cached_property
    def bounds(self) -> ClippedBounds:
        """How far each answer can move when one example is replaced, rounding included.

        Additions are n at most, or as many as persons may have examples."""
        terms = None if self._persons is None else self.n + MOST_EXAMPLES
        length = terms or self.n
        arithmetic = Arithmetic(n=self.n, dim=self.dim, block_length=length, radius=1.0, terms=terms)
        return ClippedBounds(problem=self.problem, arithmetic=arithmetic)

    def mean_loss(self, w: Vector) -> float:
        """f(w) without any clipping. Exact: for the data's owner only."""
        flat = self._flat(w)
        losses = ((self._terms.values(flat, x, y).double(), shares) for x, y, shares in self._pieces())
        total = sum(float((loss * shares)[shares > 0.0].sum()) for loss, shares in losses)
        return total / self.n + self._regularizer.value(w)

    def value(self, w: Vector) -> float:
        """Mean of losses cut to [0, loss_bound], plus r(w). Exact: for the data's owner only."""
        flat = self._flat(w)
        high = self._settings.loss_bound
        total = math.fsum(
            clipped_numbers(self._terms.values(flat, x, y), 0.0, high, shares)
            for x, y, shares in self._pieces()
        )
        return total / self.n + self._regularizer.value(w)

    def gradient(self, w: Vector) -> Vector:
        """Mean of clipped gradients, plus r'(w). Exact: for the data's owner only."""
        return self._clipped(w, self._settings.gradient_clip)[0]

    def clipped_gradient(self, w: Vector, clip: float, weight: float) -> Vector:
        """Mean of gradients cut to norm `clip`, plus r'(w), and last `clip` `weight` times the mean of 1/2
        for those that were not cut, -1/2 for others. Exact: for the data's owner only."""
        gradient, unclipped = self._clipped(w, clip)
        return np.append(gradient, clip * weight * unclipped)

    def gradient_bands(self, w: Vector, edges: Vector) -> Vector:
        """The part of examples whose gradient has a norm above the first edge, between two, and at most the
        last. Exact: for the data's owner only."""
        flat, filler = self._flat(w), self._terms.filler
        ends = torch.from_numpy(np.array(edges)).to(self._settings.device)
        total = torch.zeros(len(edges) + 1, dtype=torch.float64, device=self._settings.device)
        for x, y, shares in self._gradient_pieces(flat):
            if self._fused is not None:
                total += self._fused.banded(flat, x, y, ends, shares, filler)
            else:
                norms = torch.linalg.vector_norm(self._terms.gradients(flat, x, y).double(), dim=1)
                total += banded(norms, ends, shares)
        found: Vector = total.cpu().numpy() / self.n
        return found

    def _clipped(self, w: Vector, limit: float) -> tuple[Vector, float]:
        """Mean of gradients cut to norm `limit`, plus r'(w), and of their counts (`clipping.counted`)."""
        flat, filler = self._flat(w), self._terms.filler
        total = torch.zeros(self.dim, dtype=torch.float64, device=self._settings.device)
        unclipped = 0.0
        for x, y, shares in self._gradient_pieces(flat):
            if self._fused is not None:
                added, counts = self._fused.clipped_sum(flat, x, y, limit, shares, filler)
            else:
                added, counts = clipped_and_counted(self._terms.gradients(flat, x, y), limit, shares)
            total += added
            unclipped += float(counts)
        gradient = total.cpu().numpy() / self.n + self._regularizer.gradient(np.asarray(w))
        return gradient, unclipped / self.n

    def _gradient_pieces(self, flat: Tensor) -> Iterator[Piece]:
        if self._fused is None:
            return self._pieces(self.dim)
        return self._pieces(self._fused.entries(flat, self._terms.filler[0]), REACH)

    def limited_gradient(self, w: Vector, limit: float) -> Vector:
        """Refused: what is clipped here is the gradient."""
        raise ParameterError("slopes are limited of linear models only; clip gradients lower instead.")

    def cut_hessian(self, w: Vector, ceiling: float) -> Matrix:
        """Refused: what is clipped here is the Hessian."""
        raise ParameterError("phi'' is cut off of linear models only; clip Hessians lower instead.")

    def residual_bands(self, w: Vector, edges: Vector) -> Vector:
        """Refused: what a module predicts is not compared with a target here."""
        raise ParameterError("residuals are counted of a linear model of a numeric target only.")

    def curvature_product(self, w: Vector, direction: Vector) -> Vector:
        """Mean of clipped products H_i v, plus r''(w) v. Exact: for the data's owner only."""
        flat, along = self._flat(w), self._weights(direction, "direction")
        limit = self._settings.curvature_clip * float(np.linalg.norm(along))
        v = self._terms.vector(along)
        total = self._total(lambda x, y: self._terms.products(flat, v, x, y), limit, (self.dim,), 2)
        return total.cpu().numpy() / self.n + self._regularizer.curvature(np.asarray(w)) * along

    def hessian(self, w: Vector) -> Matrix:
        """Mean of clipped Hessians, plus r''(w), symmetric. Exact: for the data's owner only."""
        self.bounds.hessian_sensitivity()
        flat = self._flat(w)
        total = self._total(
            lambda x, y: self._terms.hessians(flat, x, y), self._settings.curvature_clip, (self.dim, self.dim)
        )
        matrix: Matrix = total.cpu().numpy() / self.n
        matrix = 0.5 * (matrix + matrix.T)
        matrix[np.diag_indices(self.dim)] += self._regularizer.curvature(np.asarray(w))
        return matrix

    def smallest_eigenvalue(self, w: Vector) -> float:
        """Smallest eigenvalue of the mean clipped Hessian. Exact: for the data's owner only."""
        return float(linalg.eigvalsh(self.hessian(w), subset_by_index=(0, 0))[0])

    def gram(self) -> Matrix:
        """Refused: a module has no Gram matrix."""
        return self.bounds.gram()

    def gram_diagonal(self) -> Vector:
        """Refused: a module has no Gram matrix."""
        return self.bounds.gram_diagonal()

    def score_moment(self, w: Vector) -> Matrix:
        """Refused: a module's scores have no matrix."""
        return self.bounds.gram()

    def information(self, w: Vector) -> Matrix:
        """Refused: a module's scores have no matrix."""
        return self.bounds.gram()

    def moments(self) -> Matrix:
        """Refused: a module has no columns to scale."""
        return self.bounds.gram()

    def preconditioned(self, preconditioner: object) -> TorchRisk:
        """Refused: a module has no columns to scale."""
        raise ParameterError("a PyTorch module has no columns to give coordinates to.")

    def trials(self, w: Vector, directions: Matrix) -> Vector:
        """f(w) - f(w + p_j) by clipped differences, for each row p_j. Exact: for the data's owner only."""
        if np.ndim(directions) != 2 or len(directions) < 1:
            raise ParameterError(
                f"directions must have shape (J, {self.dim}) with J at least 1.", argument="directions"
            )
        return np.array([self.along(w, p).decrease(1.0) for p in directions])

    def along(self, w: Vector, direction: Vector) -> TorchLine:
        """f on the line w + gamma p, its losses at w computed once. Exact: for the data's owner only."""
        return TorchLine(self, self._weights(w), self._weights(direction, "direction"))

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> TorchRisk:
        """The risk over these examples, or persons, sums divided by `n`. Exact: for the data's owner only."""
        part = object.__new__(TorchRisk)
        part.__dict__.update(
            {name: held for name, held in self.__dict__.items() if name not in ("problem", "bounds")}
        )
        part._examples = self._examples.take(indices)
        part._divisor = n
        return part

    def module_with(self, weights: Vector | Result) -> nn.Module:
        """A copy of the module with these weights: what a run returns, ready to predict."""
        found = weights.weights if isinstance(weights, Result) else weights
        return self._layout.module(self._template, self._weights(found, "weights"))

    def _weights(self, w: Any, name: str = "w") -> Vector:
        return checked_weights(w, self.dim, 1.0, name)

    def _flat(self, w: Any) -> Tensor:
        return self._terms.vector(self._weights(w))

    def _pieces(self, entries: int = 1, reach: float = 4.0) -> Iterator[Piece]:
        """Calls that give so many numbers an example."""
        return self._examples.pieces(self._settings.chunk(entries), self.n, reach)

    def _total(
        self,
        terms: Callable[[Tensor, Tensor], Tensor],
        limit: float,
        shape: tuple[int, ...],
        copies: int = 1,
    ) -> Tensor:
        """Sum of clipped terms of this shape, chunk by chunk, in float64; `copies` of each are held."""
        total = torch.zeros(shape, dtype=torch.float64, device=self._settings.device)
        for x, y, shares in self._pieces(copies * math.prod(shape)):
            total = total + clipped_sum(terms(x, y), limit, shares)
        return total

    def __repr__(self) -> str:
        cut = self._settings
        clips = f", gradient_clip={cut.gradient_clip:g}, curvature_clip={cut.curvature_clip:g}"
        return (
            f"TorchRisk({type(self._template).__name__}, n={self.n}, dim={self.dim}"
            f"{clips if cut.declared else ''})"
        )
