"""TorchRisk: the mean loss of a PyTorch module, each example's part in it clipped."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
import torch

from sottovoce.autodiff.bounds import ClippedBounds
from sottovoce.autodiff.claims import check_module, check_terms
from sottovoce.autodiff.examples import Examples
from sottovoce.autodiff.parameters import Layout
from sottovoce.autodiff.problem import ClippedProblem
from sottovoce.autodiff.settings import Settings
from sottovoce.autodiff.sums import ExampleSums
from sottovoce.autodiff.terms import Loss, Terms
from sottovoce.data.persons import Persons
from sottovoce.errors import BLANK, DataError, ParameterError
from sottovoce.models.over_sums import RiskOverSums
from sottovoce.models.protocol import cached_property
from sottovoce.regularizers import L2, Regularizer
from sottovoce.results.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from sottovoce.arrays import Vector


@final
class TorchRisk(RiskOverSums):
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
        terms = Terms(working, loss, self._layout, settings.dtype, settings.device)
        examples = Examples.of(data, settings.dtype, settings.device)
        people = Persons.given(groups, examples.n, persons, lenient=invalid == "zero")
        self._persons = people
        self._is_n_private = people is not None and not people.declared
        units = examples if people is None else examples.by_person(people)
        flat = terms.vector(self._start)
        check_terms(terms, flat, examples.kinds, matrices=settings.forms_matrices(terms.dim))
        units.fill_with(*terms.filler)
        self._sums = ExampleSums(
            terms,
            units,
            terms.fused(flat),
            chunk=settings.chunk,
            persons=people is not None,
            counted=self._is_n_private,
        )
        if invalid == "raise" and not self._sums.works(flat):
            raise DataError(
                "the module or the loss raises an error on an example, for instance at a label past its last "
                "class; the message is withheld, as it may quote data. Clean the data, or pass "
                'invalid="zero": then such an example counts for nothing.',
                advice=(BLANK,),
            )

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
            counted=self._is_n_private,
        )

    @property
    def sums(self) -> ExampleSums:
        """The examples behind bounded sums."""
        return self._sums

    @cached_property
    def bounds(self) -> ClippedBounds:
        """What is asked of the examples, and how far each answer can move when one of them is replaced."""
        return ClippedBounds(problem=self.problem, arithmetic=self.sums.facts.arithmetic)

    def mean_loss(self, w: Vector) -> float:
        """f(w) without any clipping. Exact: for the data's owner only."""
        held = self.sums.losses(self._weights(w))
        total = sum(float((losses * shares)[shares > 0.0].sum()) for losses, shares in held)
        return total / self.n + self.problem.penalty(w)

    def curvature_product(self, w: Vector, direction: Vector) -> Vector:
        """Mean of clipped products H_i v, plus r''(w) v. Exact: for the data's owner only."""
        w, along = self._weights(w), self._weights(direction, "direction")
        length = float(np.linalg.norm(along))
        unit = along / length if length > 0.0 else along
        asked = self.bounds.product_sum(w, unit)
        return np.asarray(length * self.sums.answer(asked) + self.problem.penalty_curvature_along(w, along))

    def preconditioned(self, preconditioner: object) -> NoReturn:
        """Refused: a module has no columns to scale."""
        raise ParameterError("a PyTorch module has no columns to give coordinates to.")

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> TorchRisk:
        """The risk over these examples, or persons, sums divided by `n`. Exact: for the data's owner only."""
        part = object.__new__(TorchRisk)
        kept = {name: held for name, held in self.__dict__.items() if name not in ("problem", "bounds")}
        part.__dict__.update(kept, _sums=self.sums.subset(indices, n))
        return part

    def module_with(self, weights: Vector | Result) -> nn.Module:
        """A copy of the module with these weights: what a run returns, ready to predict."""
        found = weights.weights if isinstance(weights, Result) else weights
        return self._layout.module(self._template, self._weights(found, "weights"))

    def __repr__(self) -> str:
        cut = self._settings
        clips = f", gradient_clip={cut.gradient_clip:g}, curvature_clip={cut.curvature_clip:g}"
        return (
            f"TorchRisk({type(self._template).__name__}, n={self.n}, dim={self.dim}"
            f"{clips if cut.declared else ''})"
        )
