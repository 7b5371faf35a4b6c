"""Clipping that does not bound what it should. These need PyTorch."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

SENSITIVITY = "tests/autodiff/test_sensitivity.py"
RUNS = "tests/autodiff/test_runs.py"

CLIPPING = (
    Mutant(
        "clipping dropped",
        "autodiff.clipping:_factors",
        "torch.clamp(_, max=1.0)",
        "torch.clamp(_, min=1.0, max=1.0)",
        SENSITIVITY,
    ),
    Mutant(
        "terms that are not finite let through",
        "autodiff.clipping:_factors",
        "torch.isfinite(norms)",
        "torch.ones_like(norms, dtype=torch.bool)",
        SENSITIVITY,
    ),
    Mutant(
        "products clipped to twice their limit",
        "autodiff.sums:ExampleSums._products",
        "limit * min(1.0, _length(unit))",
        "2.0 * limit * min(1.0, _length(unit))",
        SENSITIVITY,
    ),
    Mutant(
        "persons forgotten at the door of tensors",
        "autodiff.risk:TorchRisk.__init__",
        "examples if people is None else examples.by_person(people)",
        "examples",
        "tests/autodiff/test_torch_persons.py",
    ),
    Mutant(
        "change of a gradient charged as if a record were added",
        "privacy.example_sensitivity:_changes",
        "request.limit",
        "0.5 * request.limit",
        SENSITIVITY,
    ),
    Mutant(
        "changes of gradients not clipped",
        "autodiff.sums:ExampleSums.answer",
        "self._mean(changes, limit, (self.dim,), 2)",
        "self._mean(changes, 1e+300, (self.dim,), 2)",
        SENSITIVITY,
    ),
    Mutant(
        "differences of losses not clipped",
        "autodiff.sums:ExampleSums._fall",
        "clipped_numbers(fall, -limit, limit, q)",
        "clipped_numbers(fall, -1e+300, 1e+300, q)",
        SENSITIVITY,
    ),
    Mutant(
        "clipped gradient charged as if a record were added",
        "privacy.example_sensitivity:_gradients",
        "request.limit",
        "0.5 * request.limit",
        SENSITIVITY,
    ),
    Mutant(
        "products of a module's Hessian charged as if a record were added",
        "privacy.example_sensitivity:_products",
        "request.limit",
        "0.5 * request.limit",
        SENSITIVITY,
    ),
    Mutant(
        "certificate of a clipped risk claims the risk's own gradient",
        "methods.base:Evidence.certificate",
        "Certificate(clipped=problem.clipped, **_)",
        "Certificate(**_)",
        RUNS,
    ),
)

_CLIPPED = "tests/autodiff/test_clipped_queries.py"

FOUND_CLIPS = (
    Mutant(
        "a clipped gradient charged without its count",
        "privacy.example_sensitivity:_counted",
        "request.limit * math.hypot(1.0, request.weight / 2.0)",
        "request.limit",
        f"{_CLIPPED} -k attained",
    ),
    Mutant(
        "a clipped gradient charged as if a record were added",
        "privacy.example_sensitivity:_within",
        "bands.ball_distance(longest, relation)",
        "longest",
        f"{_CLIPPED} -k replacing",
    ),
    Mutant(
        "examples counted by 1 instead of by halves",
        "autodiff.clipping:counted",
        "torch.where(norms <= limit, 0.5 * shares, -0.5 * shares)",
        "torch.where(norms <= limit, 1.0 * shares, 0.0 * shares)",
        f"{_CLIPPED} -k attained",
    ),
    Mutant(
        "a person's examples counted one by one",
        "autodiff.clipping:counted",
        "torch.where(norms <= limit, 0.5 * shares, -0.5 * shares)",
        "torch.where(norms <= limit, 0.5, -0.5)",
        f"{_CLIPPED} -k person",
    ),
    Mutant(
        "a person's examples put into bands one by one",
        "autodiff.clipping:banded",
        "torch.where(torch.isfinite(norms), shares, 0.0)",
        "torch.where(torch.isfinite(norms), 1.0, 0.0).double()",
        f"{_CLIPPED} -k person",
    ),
    Mutant(
        "bands of gradient norms charged as one number",
        "privacy.example_sensitivity:_shares",
        "bands.moment_distance(1.0, relation)",
        "1.0",
        f"{_CLIPPED} -k attained",
    ),
    Mutant(
        "the clip that is asked for not used",
        "autodiff.sums:ExampleSums._gradients",
        "clipped_and_counted(self._terms.gradients(flat, x, y), limit, shares)",
        "clipped_and_counted(self._terms.gradients(flat, x, y), 50.0, shares)",
        f"{_CLIPPED} -k replacing",
    ),
)

_STATE = "tests/autodiff/test_state.py"

STATE = (
    Mutant(
        "a layer that sets itself up on its first batch let in",
        "autodiff.claims:check_terms",
        "writer is not None",
        "writer == 0",
        f"{_STATE} -k writes_its_own",
    ),
    Mutant(
        "claims checked with the examples in hand",
        "autodiff.examples:Examples.kinds",
        "part.new_empty((0, *part.shape[1:]))",
        "part",
        f"{_STATE} -k kinds",
    ),
    Mutant(
        "one copy of the module serves all passes",
        "autodiff.terms:Terms._fresh",
        "copy.deepcopy((self._module, self._loss))",
        "(self._module, self._loss)",
        f"{_STATE} -k starts_to_write",
    ),
    Mutant(
        "a stand-in counts for the example it stands in for",
        "autodiff.terms:Terms._each",
        "terms[broken] = torch.nan",
        "",
        f"{_STATE} -k past_the_last_class",
    ),
)

_FUSED = "tests/autodiff/test_fused.py"

LAYERS = (
    Mutant(
        "gradients summed by layers are not clipped",
        "autodiff.fused:Fused._summed",
        "torch.clamp(_, max=1.0)",
        "torch.clamp(_, min=1.0, max=1.0)",
        f"{_FUSED} -k longer_than",
    ),
    Mutant(
        "squares of tiny inputs underflow",
        "autodiff.fused:_without_underflow",
        "torch.where(values.abs() < _TINY, 0.0, values)",
        "values",
        f"{_FUSED} -k longer_than",
    ),
    Mutant(
        "a layer with a hook run on many examples",
        "autodiff.fused:_plain",
        "not any((getattr(layer, name) for name in hooks))",
        "True",
        f"{_FUSED} -k known_layers",
    ),
    Mutant(
        "any subclass of a known layer taken for it",
        "autodiff.fused:_collected",
        "_KNOWN.get(type(layer))",
        "next((_KNOWN[kind] for kind in type(layer).__mro__ if kind in _KNOWN), None)",
        f"{_FUSED} -k known_layers",
    ),
    Mutant(
        "an example that raises counts as the one in its place",
        "autodiff.fused:_where_it_works",
        "((x[i], y[i]), shares[i]) = (filler, 0.0)",
        "(x[i], y[i]) = filler",
        f"{_FUSED} -k raises",
    ),
    Mutant(
        "the made-up example in empty places counts",
        "autodiff.examples:Examples.pieces",
        "np.zeros(length)",
        "np.ones(length)",
        f"{_FUSED} -k raises",
    ),
    Mutant(
        "a gradient without a norm summed by layers",
        "autodiff.fused:Fused._summed",
        "_.nan_to_num(nan=0.0)",
        "_.nan_to_num(nan=1.0)",
        f"{_FUSED} -k hostile",
    ),
    Mutant(
        "clipped by layers without the last one",
        "autodiff.fused:_norms",
        "torch.stack(squares).sum(0).sqrt()",
        "torch.stack(squares[:1]).sum(0).sqrt()",
        f"{_FUSED} -k example_by_example",
    ),
    Mutant(
        "graphs from a number of calls on, which examples decide",
        "autodiff.fused:Fused._computed",
        "self._asked <= _UNRECORDED",
        "len(y) and setattr(self, '_asked', self._asked + 1) or self._asked <= _UNRECORDED",
        f"{_FUSED} -k number_of_requests",
    ),
)
