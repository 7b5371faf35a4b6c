"""Records that count more than their weight or the preconditioner's caps allow, and bounds that forget it."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

CAPPED = "tests/privacy/test_capped_sensitivity.py"
RESHAPED = "tests/models/test_preconditioned.py"
WEIGHTS = "tests/data/test_weights.py"
FLATTENED = "tests/models/test_flattened.py"
ANSWERS = f"{RESHAPED} -k every_answer"
PAIR = f"{CAPPED} -k past_its_bound"

GEOMETRY = (
    Mutant(
        "influence not capped",
        "queries.preconditioner:Preconditioner.counts",
        "self.cap / np.maximum(lengths, self.cap)",
        "np.sqrt(self.cap / np.maximum(lengths, self.cap))",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "omega without the ceiling",
        "queries.preconditioner:Preconditioner.counts",
        "np.minimum(1.0, self.ceiling * ratio)",
        "1.0",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "lengths of x in place of z",
        "kernels.influence:_measure_for",
        "preconditioner.to_coordinates(double(features))",
        "double(features)",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "compiled lengths not centred",
        "kernels.compiled.lengths:_squares",
        "np.float64(X[i, j]) - held * shift[j]",
        "np.float64(X[i, j])",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "rounding of lengths forgotten",
        "kernels.influence:counts.fill_plainly",
        "np.sqrt(measured) * (1.0 + rounding) + slack",
        "np.sqrt(measured) * (1.0 - 1e-09)",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "compiled influence not capped",
        "kernels.compiled.lengths:_count",
        "cap / max(length, cap)",
        "np.sqrt(cap / max(length, cap))",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "compiled omega without the ceiling",
        "kernels.compiled.lengths:_count",
        "ratio * min(1.0, ceiling * ratio)",
        "ratio",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "rounding of compiled lengths forgotten",
        "kernels.compiled.lengths:_count",
        "np.sqrt(out[i]) * (1.0 + rounding) + slack",
        "np.sqrt(out[i]) * (1.0 - 1e-09)",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "sample weight lost beside compiled omega",
        "kernels.compiled.lengths:_count",
        "weights[i]",
        "1.0",
        "tests/kernels/test_compact.py -k preconditioner_measures",
    ),
    Mutant(
        "sample weight lost beside omega",
        "kernels.influence:counts.fill_plainly",
        "omega if block.weights is None else omega * block.weights",
        "omega",
        ANSWERS,
    ),
    Mutant(
        "longest record without its centring",
        "queries.preconditioner:Preconditioner.norm",
        "float(np.linalg.norm(self.scale * self.shift))",
        "0.0",
        f"{RESHAPED} -k longest",
    ),
    Mutant(
        "longest record without its shrinkage",
        "queries.preconditioner:Preconditioner.norm",
        "1.0 if self.shrinkage is None else self.shrinkage.norm",
        "1.0",
        FLATTENED,
    ),
    Mutant(
        "directions taken for orthonormal",
        "queries.shrinkage:LowRankShrinkage.norm",
        "max(1.0, float(np.abs(1.0 - values).max(initial=0.0)))",
        "1.0",
        FLATTENED,
    ),
    Mutant(
        "shrinkage left out of the lengths",
        "kernels.influence:_measure_for",
        ("if preconditioner.is_mixed:\n    ..."),
        ("if preconditioner.turn is not None:\n    ..."),
        FLATTENED,
    ),
    Mutant(
        "rounding of a shrinkage forgotten",
        "queries.shrinkage:LowRankShrinkage.stretch",
        "(1.0 + float(linalg.eigvalsh(sizes.T @ sizes)[-1:].sum())) * _UP",
        "1.0",
        FLATTENED,
    ),
    Mutant(
        "longest record without what cancels",
        "queries.preconditioner:Preconditioner.norm",
        "float(np.linalg.norm(self.matrix, 2)) + rounding",
        "float(np.linalg.norm(self.matrix, 2))",
        f"{RESHAPED} -k cancels",
    ),
    Mutant(
        "moments: means and squares priced as one",
        "trusted.bands:moments_distance",
        "2.0 + 2.0 * balance + 0.5 / balance if balance > 0.5 else 4.0",
        "max(4.0, 2.0 + 2.0 * balance)",
        f"{CAPPED} -k moments",
    ),
    Mutant(
        "energy without its ceiling",
        "models.preconditioned:PreconditionedRisk.problem",
        "user.weight * preconditioner.ceiling",
        "user.weight",
        PAIR,
    ),
    Mutant(
        "largest weight lost in the influence",
        "models.preconditioned:PreconditionedRisk.problem",
        "user.weight * preconditioner.cap",
        "preconditioner.cap",
        PAIR,
    ),
    Mutant(
        "largest weight lost in plain bounds",
        "problem:Problem.influence",
        "self.weight * self.radius",
        "self.radius",
        PAIR,
    ),
    Mutant(
        "rounding as if M stretched nothing",
        "privacy.rounding:Arithmetic._carried",
        "factor * (error + products)",
        "error + products",
        "tests/privacy/test_stretched.py",
    ),
    Mutant(
        "penalty on u in place of w",
        "models.preconditioned:PreconditionedPenalty.value",
        "self._penalized(self._blocks(w)).ravel()",
        "w",
        ANSWERS,
    ),
)

RELATIONS = (
    Mutant(
        "zero-out charged where one is replaced",
        "accounting.relations:Relation.distance",
        "self is Relation.REPLACE_ONE",
        "self is Relation.ZERO_OUT",
        f"{CAPPED} -k past_its_bound",
    ),
    Mutant(
        "zeroed moments: squares forgotten",
        "trusted.bands:moments_distance",
        "1.0 + balance",
        "1.0",
        f"{CAPPED} -k moments",
    ),
)

COUNTS = (
    Mutant(
        "weights not clipped to their cap",
        "data.weights:read_weights",
        "np.clip(weights, 0.0, cap, out=weights)",
        "weights",
        WEIGHTS,
    ),
    Mutant(
        "weights that are not finite kept",
        "data.weights:read_weights",
        "usable &= finite",
        "",
        WEIGHTS,
    ),
    Mutant(
        "weights lost by a subset",
        "data.rows:chosen",
        "None if weights is None else weights[indices]",
        "None",
        WEIGHTS,
    ),
    *(
        Mutant(f"weights lost in {sums}", place, old, new, f"{WEIGHTS} -k counts_by_its_weight")
        for sums, place, old, new in (
            (
                "NumPy passes",
                "kernels.reference_sums:PlainBlockKernel._weigh",
                "terms if weights is None else np.multiply(terms, weights, out=terms)",
                "terms",
            ),
            ("compiled passes", "kernels.compiled.contributions:count", "terms[i] *= weights[i]", ""),
            (
                "Gram matrices",
                "kernels.passes:gram.add",
                "view(block.features).add_outer(total, block.weights, convex=True)",
                "view(block.features).add_outer(total, None, convex=True)",
            ),
            (
                "column squares",
                "kernels.products:wide_squares",
                "np.einsum('i,ij,ij->j', weights, wide, wide)",
                "np.einsum('ij,ij->j', wide, wide)",
            ),
            (
                "sparse column squares",
                "kernels.sparse_products:SparseView.squares",
                "terms *= np.repeat(weights, np.diff(X.indptr))",
                "pass",
            ),
            (
                "softmax",
                "kernels.softmax:_counted",
                "terms if counts is None else np.multiply(terms, counts, out=terms)",
                "terms",
            ),
        )
    ),
)
