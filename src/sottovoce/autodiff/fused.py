"""Sums of clipped gradients for plain networks, without a gradient an example where none is needed.

A chain of known layers maps each example by itself, whatever its weights are: that is a fact about the layers
named here, so they may be run on many examples at once. The loss is the user's and still sees one example at
a time. One pass forward keeps each layer's inputs a_i, one pass back gives the derivatives b_i of each
example's loss by the layer's outputs. What layer and example add to the gradient is a function of a_i, b_i:

- Linear, one row an example: b_i a_i' with norm ||a_i|| ||b_i||, never formed; the sum of clipped ones is
  the product of two matrices, sum_i (f_i b_i) a_i'.
- Conv2d: b_i times the patches of a_i. Linear on sequences, Embedding, LayerNorm, GroupNorm: a sum over
  positions. These are formed, one an example.

Norms and sums are made from the same a_i and b_i, so what is summed is as long as its norm says, whatever the
layers computed before. After some requests, whose number is public, both are computed by a graph that PyTorch
records on made-up examples (`make_fx`), the same operations without Python between them.

f_i = min(1, limit / norm_i), norm_i^2 the sum over layers. Norms are in float64 of what was computed, as
elsewhere, so a term is no longer than the limit whatever was rounded before; of double numbers, entries of a
Linear's a_i and b_i below 2^-500 count as 0, so that no square underflows. Examples stand at places of their
own (`data/places.py`), so that no bit of one, nor whether it is cut, depends on another. Only those that
count are summed, in an order that may depend on them: the bound on what sums round holds for every order.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, final

import torch
from torch import Tensor, fx, nn
from torch.func import grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from sottovoce.autodiff.clipping import MARGIN, banded, clipped_sum, counted
from sottovoce.errors import DataError

if TYPE_CHECKING:
    from sottovoce.autodiff.parameters import Layout
    from sottovoce.autodiff.terms import Loss, Terms

REACH = 16.0
"""Calls of a batch are longer here than elsewhere: an example costs little beside a call."""

_TINY = 2.0**-500
_FILLED = {torch.ops.aten.ones_like.default: 1.0, torch.ops.aten.zeros_like.default: 0.0}
_UNRECORDED = 3
"""Requests before graphs are recorded, which takes as long as some tens of calls."""

Held = dict[str, Tensor]
T = TypeVar("T")
Compute = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, list["Part"]]]
Apply = Callable[[Tensor, Held], Tensor]
Filler = tuple[Tensor, Tensor]


class Product(NamedTuple):
    """Rank one an example: b a', and the bias b."""

    a: Tensor
    b: Tensor

    def squares(self, stage: Stage) -> Tensor:
        """The square of the norm of what the layer adds to the gradient, one an example."""
        rows = _squares(self.b)
        outer = _squares(self.a) * rows if stage.weight else torch.zeros_like(rows)
        return outer + rows if stage.bias else outer

    def summed(self, stage: Stage, factors: Tensor, rows: Tensor) -> dict[str, Tensor]:
        """The sum over the examples in these rows, each times its factor, for each parameter; those of other
        rows are 0."""
        cut = factors.index_select(0, rows).unsqueeze(1) * self.b.index_select(0, rows).to(torch.float64)
        found = {}
        if stage.weight:
            found[stage.weight] = cut.T @ self.a.index_select(0, rows).to(torch.float64)
        if stage.bias:
            found[stage.bias] = cut.sum(0)
        return found


class Formed(NamedTuple):
    """Gradients that were formed, one an example, of weight and bias where these are trained."""

    weight: Tensor | None
    bias: Tensor | None

    def squares(self, stage: Stage) -> Tensor:
        return torch.stack([_squares(term.flatten(1)) for term in self if term is not None]).sum(0)

    def summed(self, stage: Stage, factors: Tensor, rows: Tensor) -> dict[str, Tensor]:
        found = {}
        for name, term in zip((stage.weight, stage.bias), self, strict=True):
            if name and term is not None:
                held = factors.index_select(0, rows) @ term.index_select(0, rows).flatten(1).to(torch.float64)
                found[name] = held.view(term.shape[1:])
        if stage.arranged and stage.weight:
            found[stage.weight] = stage.arranged(found[stage.weight])
        return found


Part = Product | Formed
"""What one layer adds to the gradient of each example."""


def _squares(rows: Tensor) -> Tensor:
    """The square of each row's norm, in float64."""
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64)
    return norms**2


@final
@dataclass(frozen=True)
class Stage:
    """A layer: how it maps, and, where it is trained, what it adds to gradients of its weight and bias;
    `arranged` brings a sum of gradients of the weight into the weight's own order; `patches` are numbers held
    besides for each position of its outputs."""

    apply: Apply
    part: Callable[[Tensor, Tensor], Part] | None = None
    weight: str | None = None
    bias: str | None = None
    arranged: Callable[[Tensor], Tensor] | None = None
    patches: int = 0


@final
class Fused:
    """The sum of clipped gradients of a chain of known layers."""

    def __init__(self, stages: list[Stage], constants: Held, layout: Layout, loss: Loss) -> None:
        self._stages = stages
        self._trained = [stage for stage in stages if stage.part is not None]
        self._constants = constants
        self._layout = layout
        self._loss = loss
        self._asked = 0
        self._entries: int | None = None
        self._graphs: dict[tuple[torch.Size, torch.Size], Compute] = {}

    @classmethod
    def of(cls, module: nn.Module, constants: Held, layout: Layout, loss: Loss) -> Fused | None:
        """None where a layer is not one of those known, has a hook, or shares a parameter."""
        stages: list[Stage] = []
        shared = len(list(module.named_parameters(remove_duplicate=False))) > len(list(module.parameters()))
        if shared or not _collected(module, "", set(layout.names), stages):
            return None
        return cls(stages, constants, layout, loss)

    def agrees(self, terms: Terms, flat: Tensor) -> bool:
        """Whether the sum is that of the gradients by `terms`, on made-up examples and but for rounding."""
        x, y = (torch.stack([part] * 3) for part in terms.filler)
        coarse = 1e-3 if flat.dtype != torch.float64 else 1e-9
        shares = torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64, device=flat.device)
        try:
            found = [self._summed(flat, x, y, limit, shares, terms.filler)[0] for limit in (1e30, 1e-3)]
        except Exception:
            return False
        plain = terms.gradients(flat, x, y)
        due = [clipped_sum(plain, limit, shares) for limit in (1e30, 1e-3)]
        return all(
            torch.allclose(a, b, rtol=coarse, atol=coarse * float(b.norm()))
            for a, b in zip(found, due, strict=True)
        )

    def entries(self, flat: Tensor, x: Tensor) -> int:
        """Numbers that one example holds at once: layers' inputs and outputs, gradients that are formed."""
        if self._entries is None:
            self._entries = self._counted(flat, x)
        return self._entries

    def _counted(self, flat: Tensor, x: Tensor) -> int:
        held = 0
        for stage, a, z in self._forward(flat, x.unsqueeze(0))[1]:
            assert stage.part is not None
            part = stage.part(a, torch.zeros_like(z))
            formed = sum(t.numel() for t in part if t is not None) if isinstance(part, Formed) else 0
            held += 2 * (a.numel() + z.numel()) + formed + stage.patches * z[0, 0].numel()
        return held

    def begin(self) -> None:
        """A request: what is computed from here on belongs to it."""
        self._asked += 1

    def clipped_sum(
        self, flat: Tensor, x: Tensor, y: Tensor, limit: float, shares: Tensor, filler: Filler
    ) -> tuple[Tensor, Tensor]:
        """Sum of gradients cut to norm `limit`, each times its share, in float64, one that is not finite
        counting as zero; and how many were cut (`clipping.counted`)."""
        return _where_it_works(
            lambda x, y, shares: self._summed(flat, x, y, limit, shares, filler), x, y, shares, filler
        )

    def banded(
        self, flat: Tensor, x: Tensor, y: Tensor, edges: Tensor, shares: Tensor, filler: Filler
    ) -> Tensor:
        """Shares of the examples by the band in which the norm of their gradient lies."""
        return _where_it_works(
            lambda x, y, shares: banded(self._computed(flat, x, y, filler)[0], edges, shares),
            x,
            y,
            shares,
            filler,
        )

    def _parts(self, flat: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, list[Part]]:
        """The norm of each example's gradient, and what each trained layer adds to it."""
        outputs, met = self._forward(flat, x)
        loss = copy.deepcopy(self._loss)

        def one(output: Tensor, target: Tensor) -> Tensor:
            return loss(output.unsqueeze(0), target.unsqueeze(0)).squeeze(0)

        pulls = vmap(grad(one))(outputs.detach(), y)
        backs = torch.autograd.grad(outputs, [z for _, _, z in met], pulls)
        parts = [stage.part(a, b.detach()) for (stage, a, _), b in zip(met, backs, strict=True) if stage.part]
        return _norms(parts, self._trained), parts

    def _computed(self, flat: Tensor, x: Tensor, y: Tensor, filler: Filler) -> tuple[Tensor, list[Part]]:
        """The same, by a graph from some requests on."""
        if self._asked <= _UNRECORDED:
            return self._parts(flat, x, y)
        key = (x.shape, y.shape)
        if key not in self._graphs:
            self._graphs[key] = _recorded(
                self._parts, flat, *(part.expand(len(x), *part.shape).clone() for part in filler)
            )
        return self._graphs[key](flat, x, y)

    def _summed(
        self, flat: Tensor, x: Tensor, y: Tensor, limit: float, shares: Tensor, filler: Filler
    ) -> tuple[Tensor, Tensor]:
        norms, parts = self._computed(flat, x, y, filler)
        allowed = limit * (1.0 - MARGIN)
        # An infinite norm gives 0, and one that is no number is given it.
        factors = torch.clamp(allowed / norms.clamp_min(1e-300), max=1.0).nan_to_num(nan=0.0) * shares
        rows = torch.nonzero(factors)[:, 0]
        found: dict[str, Tensor] = {}
        for stage, part in zip(self._trained, parts, strict=True):
            found.update(part.summed(stage, factors, rows))
        return torch.cat([found[name].reshape(-1) for name in self._layout.names]), counted(
            norms, limit, shares
        )

    def _forward(self, flat: Tensor, x: Tensor) -> tuple[Tensor, list[tuple[Stage, Tensor, Tensor]]]:
        """The outputs, and of each trained layer its inputs and its outputs, to differentiate by."""
        held = {**self._constants, **self._layout.split(flat)}
        met: list[tuple[Stage, Tensor, Tensor]] = []
        for stage in self._stages:
            z = stage.apply(x, held)
            if stage.part is not None:
                z = z if z.requires_grad else z.detach().requires_grad_()
                met.append((stage, x.detach(), z))
            x = z
        return x, met


def _norms(parts: list[Part], stages: list[Stage]) -> Tensor:
    """The norm of each example's gradient, all layers together."""
    squares = [part.squares(stage) for stage, part in zip(stages, parts, strict=True)]
    return torch.stack(squares).sum(0).sqrt()


def _recorded(compute: Compute, flat: Tensor, x: Tensor, y: Tensor) -> Compute:
    """The operations of a computation, recorded on made-up examples; itself where PyTorch cannot record.

    They leave nothing behind: `grad` refuses losses that write to what was captured, `vmap` random ones."""
    with suppress(Exception):
        graph = make_fx(lambda *given: compute(*given))(flat, x, y)
        _lean(graph)
        graph.recompile()
        found: Compute = torch.no_grad()(graph.forward)
        return found
    return compute


def _lean(graph: fx.GraphModule) -> None:
    """Leave out operations whose result nobody reads; where an example's shape alone is asked for, which is
    public, nothing is read. A tensor filled with one number is made anew in each call."""
    for node in graph.graph.nodes:
        if node.target is torch.ops.aten.detach.default:
            node.replace_all_uses_with(node.args[0])
        elif node.target in _FILLED:
            made = node.meta["tensor_meta"]
            how = {"dtype": made.dtype, "device": node.meta["val"].device}
            with graph.graph.inserting_before(node):
                full = graph.graph.call_function(
                    torch.ops.aten.full.default, (list(made.shape), _FILLED[node.target]), how
                )
            node.replace_all_uses_with(full)
    graph.graph.eliminate_dead_code()


def _where_it_works(
    compute: Callable[[Tensor, Tensor, Tensor], T],
    x: Tensor,
    y: Tensor,
    shares: Tensor,
    filler: Filler,
) -> T:
    """What is computed, with a made-up example of share 0 in the place of each on which layers or loss raise:
    that is found out from the example alone."""
    with suppress(Exception):
        return compute(x, y, shares)
    x, y, shares = x.clone(), y.clone(), shares.clone()
    for i in range(len(x)):
        try:
            compute(x[i : i + 1], y[i : i + 1], shares[i : i + 1])
        except Exception:
            (x[i], y[i]), shares[i] = filler, 0.0
    with suppress(Exception):
        return compute(x, y, shares)
    raise DataError(
        "the module or the loss raised an error; its message is withheld, as it may quote data. Try them "
        "on made-up examples of the same shapes."
    )


def _plain(layer: nn.Module) -> bool:
    """Whether a layer does what its class says: no hook, no forward of its own."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return "forward" not in vars(layer) and not any(getattr(layer, name) for name in hooks)


def _collected(layer: nn.Module, prefix: str, trained: set[str], stages: list[Stage]) -> bool:
    """Append the stages of a layer; False where it is unknown."""
    if not _plain(layer):
        return False
    if type(layer) is nn.Sequential:
        direct = [
            item for item in layer.named_modules(remove_duplicate=False) if item[0] and "." not in item[0]
        ]
        return all(_collected(part, f"{prefix}{name}.", trained, stages) for name, part in direct)
    maker = _KNOWN.get(type(layer))
    stage = maker(layer, prefix, trained) if maker else None
    if stage is None:
        return False
    stages.append(stage)
    return True


def _named(layer: nn.Module, prefix: str, trained: set[str]) -> tuple[str | None, str | None]:
    """The names of weight and bias, where they are trained."""
    weight, bias = (
        f"{prefix}{name}" if f"{prefix}{name}" in trained else None for name in ("weight", "bias")
    )
    return weight, bias


def _without_underflow(values: Tensor) -> Tensor:
    """Double numbers whose squares do not underflow; those of other kinds never do in float64."""
    return torch.where(values.abs() < _TINY, 0.0, values) if values.dtype == torch.float64 else values


def _formed(
    weight: str | None, bias: str | None, of: Callable[[], Tensor], shift: Callable[[], Tensor]
) -> Formed:
    return Formed(of() if weight else None, shift() if bias else None)


def _linear(layer: Any, prefix: str, trained: set[str]) -> Stage:
    weight, bias = _named(layer, prefix, trained)

    def part(a: Tensor, b: Tensor) -> Part:
        if a.ndim == 2:
            return Product(_without_underflow(a), _without_underflow(b))
        rows, backs = (t.flatten(1, -2) for t in (a, b))
        return _formed(weight, bias, lambda: backs.mT @ rows, lambda: backs.sum(1))

    return Stage(
        lambda x, held: functional.linear(x, held[f"{prefix}weight"], held.get(f"{prefix}bias")),
        part if weight or bias else None,
        weight,
        bias,
    )


def _convolution(layer: Any, prefix: str, trained: set[str]) -> Stage | None:
    if layer.groups != 1 or layer.padding_mode != "zeros" or isinstance(layer.padding, str):
        return None
    weight, bias = _named(layer, prefix, trained)
    how = {"stride": layer.stride, "padding": layer.padding, "dilation": layer.dilation}
    outputs, inputs, *kernel = layer.weight.shape

    def part(a: Tensor, b: Tensor) -> Part:
        backs = b.permute(0, 2, 3, 1).flatten(1, 2)
        return _formed(weight, bias, lambda: backs.mT @ _patches(a, layer), lambda: backs.sum(1))

    def apply(x: Tensor, held: Held) -> Tensor:
        z = functional.conv2d(x, held[f"{prefix}weight"], held.get(f"{prefix}bias"), **how)
        # Pooling is several times faster on this layout.
        return z.contiguous(memory_format=torch.channels_last)

    return Stage(
        apply,
        part if weight or bias else None,
        weight,
        bias,
        lambda total: total.view(outputs, *kernel, inputs).permute(0, 3, 1, 2),
        inputs * math.prod(kernel),
    )


def _patches(x: Tensor, layer: Any) -> Tensor:
    """What the kernel sees: example, position, then row, column and channel of the kernel."""
    (up, left), (high, wide), (down, right) = layer.padding, layer.kernel_size, layer.stride
    below, beside = layer.dilation
    padded = functional.pad(x, (left, left, up, up)) if up or left else x
    seen = padded.unfold(2, (high - 1) * below + 1, down).unfold(3, (wide - 1) * beside + 1, right)
    seen = seen[..., ::below, ::beside].permute(0, 2, 3, 4, 5, 1)
    return seen.reshape(len(x), seen.shape[1] * seen.shape[2], -1)


def _embedding(layer: Any, prefix: str, trained: set[str]) -> Stage | None:
    if (
        layer.max_norm is not None
        or layer.scale_grad_by_freq
        or layer.sparse
        or layer.padding_idx is not None
    ):
        return None
    weight, _ = _named(layer, prefix, trained)

    def part(a: Tensor, b: Tensor) -> Part:
        words, backs = a.flatten(1), b.reshape(len(a), -1, b.shape[-1])
        table = b.new_zeros(len(a), *layer.weight.shape)
        return _formed(
            weight, None, lambda: table.scatter_add(1, words[..., None].expand_as(backs), backs), table.sum
        )

    return Stage(
        lambda x, held: functional.embedding(x, held[f"{prefix}weight"]), part if weight else None, weight
    )


def _layer_norm(layer: Any, prefix: str, trained: set[str]) -> Stage:
    weight, bias = _named(layer, prefix, trained)
    shape = tuple(layer.normalized_shape)

    def part(a: Tensor, b: Tensor) -> Part:
        between = list(range(1, a.ndim - len(shape)))
        even = functional.layer_norm(a, shape, eps=layer.eps)
        return _formed(
            weight,
            bias,
            lambda: (b * even).sum(between) if between else b * even,
            lambda: b.sum(between) if between else b,
        )

    return Stage(
        lambda x, held: functional.layer_norm(
            x, shape, held.get(f"{prefix}weight"), held.get(f"{prefix}bias"), layer.eps
        ),
        part if weight or bias else None,
        weight,
        bias,
    )


def _group_norm(layer: Any, prefix: str, trained: set[str]) -> Stage:
    weight, bias = _named(layer, prefix, trained)

    def part(a: Tensor, b: Tensor) -> Part:
        even = functional.group_norm(a, layer.num_groups, eps=layer.eps)
        count = (len(a), layer.num_channels, -1)
        return _formed(
            weight, bias, lambda: (b * even).reshape(count).sum(2), lambda: b.reshape(count).sum(2)
        )

    return Stage(
        lambda x, held: functional.group_norm(
            x, layer.num_groups, held.get(f"{prefix}weight"), held.get(f"{prefix}bias"), layer.eps
        ),
        part if weight or bias else None,
        weight,
        bias,
    )


def _flatten(layer: Any, prefix: str, trained: set[str]) -> Stage | None:
    return Stage(lambda x, held: x.flatten(1)) if (layer.start_dim, layer.end_dim) == (1, -1) else None


def _same(layer: Any, prefix: str, trained: set[str]) -> Stage | None:
    """A layer without parameters that maps each example by itself and keeps no state."""
    if getattr(layer, "inplace", False) or getattr(layer, "return_indices", False):
        return None
    return Stage(lambda x, held: layer(x))


_KNOWN: dict[type, Callable[[Any, str, set[str]], Stage | None]] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.Embedding: _embedding,
    nn.LayerNorm: _layer_norm,
    nn.GroupNorm: _group_norm,
    nn.Flatten: _flatten,
    **dict.fromkeys(
        (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU, nn.LeakyReLU, nn.Softplus, nn.Identity),
        _same,
    ),
    **dict.fromkeys((nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d), _same),
}
