"""Records that count more than their weight or the geometry's caps allow, and bounds that forget it."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

CAPPED = "tests/privacy/test_capped_sensitivity.py"
RESHAPED = "tests/risks/test_reshaped.py"
WEIGHTS = "tests/data/test_weights.py"
FLATTENED = "tests/risks/test_flattened.py"
ANSWERS = f"{RESHAPED} -k every_answer"
PAIR = f"{CAPPED} -k past_its_bound"

GEOMETRY = (
    Mutant(
        "influence not capped",
        "questions/geometry.py",
        "ratio = self.cap / np.maximum(lengths, self.cap)",
        "ratio = np.sqrt(self.cap / np.maximum(lengths, self.cap))",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "omega without the ceiling",
        "questions/geometry.py",
        "np.minimum(1.0, self.ceiling * ratio)",
        "1.0",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "lengths of x in place of z",
        "kernels/influence.py",
        "_row_squares(geometry.to_coordinates(double(features)))",
        "_row_squares(double(features))",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "compiled lengths not centred",
        "kernels/compiled/lengths.py",
        "- held * shift[j]) * scale[j]",
        ") * scale[j]",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "rounding of lengths forgotten",
        "kernels/influence.py",
        "lengths = np.sqrt(measured) * (1.0 + rounding) + slack",
        "lengths = np.sqrt(measured) * (1.0 - 1e-9)",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "compiled influence not capped",
        "kernels/compiled/lengths.py",
        "ratio = cap / max(length, cap)",
        "ratio = np.sqrt(cap / max(length, cap))",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "compiled omega without the ceiling",
        "kernels/compiled/lengths.py",
        "ratio * min(1.0, ceiling * ratio)",
        "ratio",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "rounding of compiled lengths forgotten",
        "kernels/compiled/lengths.py",
        "np.sqrt(out[i]) * (1.0 + rounding) + slack",
        "np.sqrt(out[i]) * (1.0 - 1e-9)",
        f"{RESHAPED} -k caps_allow",
    ),
    Mutant(
        "sample weight lost beside compiled omega",
        "kernels/compiled/lengths.py",
        "            out[i] *= weights[i]\n",
        "            out[i] *= 1.0\n",
        "tests/kernels/test_compact.py -k geometry_measures",
    ),
    Mutant(
        "sample weight lost beside omega",
        "kernels/influence.py",
        "omega if block.weights is None else omega * block.weights",
        "omega",
        ANSWERS,
    ),
    Mutant(
        "longest record without its centring",
        "questions/geometry.py",
        "corner = [[float(others.max(initial=0.0)), float(np.linalg.norm(self.scale * self.shift))]]",
        "corner = [[float(others.max(initial=0.0)), 0.0]]",
        f"{RESHAPED} -k longest",
    ),
    Mutant(
        "longest record without its flattening",
        "questions/geometry.py",
        "flattened = 1.0 if self.flattening is None else self.flattening.norm",
        "flattened = 1.0",
        FLATTENED,
    ),
    Mutant(
        "directions taken for orthonormal",
        "questions/flattening.py",
        "max(1.0, float(np.abs(1.0 - values).max(initial=0.0)))",
        "1.0",
        FLATTENED,
    ),
    Mutant(
        "flattening left out of the lengths",
        "kernels/influence.py",
        "    if geometry.is_mixed:\n        return lambda",
        "    if geometry.turn is not None:\n        return lambda",
        FLATTENED,
    ),
    Mutant(
        "rounding of a flattening forgotten",
        "questions/flattening.py",
        "return (1.0 + float(linalg.eigvalsh(sizes.T @ sizes)[-1:].sum())) * _UP",
        "return 1.0",
        FLATTENED,
    ),
    Mutant(
        "longest record without what cancels",
        "questions/geometry.py",
        "(float(np.linalg.norm(self.matrix, 2)) + rounding) * _UP",
        "float(np.linalg.norm(self.matrix, 2)) * _UP",
        f"{RESHAPED} -k cancels",
    ),
    Mutant(
        "capped moments priced as those of plain rows",
        "privacy/bounds.py",
        "bound = sensitivity.moments if problem.is_uncapped else sensitivity.capped_moments",
        "bound = sensitivity.moments",
        f"{CAPPED} -k moments",
    ),
    *(
        Mutant(name, file, before, after, "tests/attacks/test_neighbours.py")
        for name, file, before, after in (
            (
                "score moment at half its slope",
                "privacy/bounds.py",
                "return self._moment(slope**2) + 2.0 * rounding",
                "return self._moment(slope**2) / 2.0 + 2.0 * rounding",
            ),
            (
                "line search priced by its second length",
                "questions/lines.py",
                "return float(np.max(self.lengths)) * self.direction",
                "return float(self.lengths[-1]) * self.direction",
            ),
        )
    ),
    Mutant(
        "diameter at the cap's reach",
        "privacy/sensitivity.py",
        "max(contribution_diameter(loss, reach), at_zero + steepest)",
        "contribution_diameter(loss, influence * weight_norm)",
        f"{CAPPED} -k capped_influence",
    ),
    Mutant(
        "capped gradient: a record at margin 0 forgotten",
        "privacy/sensitivity.py",
        "max(contribution_diameter(loss, reach), at_zero + steepest)",
        "contribution_diameter(loss, reach)",
        f"{CAPPED} -k capped_influence",
    ),
    Mutant(
        "moments: means and squares priced as one",
        "privacy/sensitivity.py",
        "2.0 + 2.0 * b + 0.5 / b if b > 0.5 else 4.0",
        "max(4.0, 2.0 + 2.0 * b)",
        f"{CAPPED} -k moments",
    ),
    Mutant(
        "energy without its ceiling",
        "risks/reshaped.py",
        "energy_cap=user.weight * geometry.ceiling * geometry.cap**2",
        "energy_cap=user.weight * geometry.cap**2",
        PAIR,
    ),
    Mutant(
        "largest weight lost in the influence",
        "risks/reshaped.py",
        "influence_cap=user.weight * geometry.cap,",
        "influence_cap=geometry.cap,",
        PAIR,
    ),
    Mutant(
        "largest weight lost in plain bounds",
        "problem.py",
        "return min(self.weight * self.radius, self.influence_cap)",
        "return min(self.radius, self.influence_cap)",
        PAIR,
    ),
    Mutant(
        "rounding as if M stretched nothing",
        "privacy/rounding.py",
        "return factor * (error + products) + JOINS * UNIT_ROUNDOFF * (factor * largest + added)",
        "return (error + products) + JOINS * UNIT_ROUNDOFF * (largest + added)",
        "tests/privacy/test_stretched.py",
    ),
    Mutant(
        "gradient multiplied by M' in place of M",
        "risks/reshaped.py",
        "data = self._geometry.to_coordinates(self._inner.gradient(self._user(w)))",
        "data = self._geometry.to_user(self._inner.gradient(self._user(w)))",
        ANSWERS,
    ),
    Mutant(
        "penalty on u in place of w",
        "risks/reshaped.py",
        "return self.base.value(self._penalized(self._blocks(w)).ravel())",
        "return self.base.value(w)",
        ANSWERS,
    ),
)

RELATIONS = (
    Mutant(
        "zero-out charged where one is replaced",
        "accounting/relations.py",
        "return diameter if self is Relation.REPLACE_ONE else norm",
        "return diameter if self is Relation.ZERO_OUT else norm",
        f"{CAPPED} -k past_its_bound",
    ),
    Mutant(
        "zeroed value as cheap as a replaced one",
        "privacy/sensitivity.py",
        "mean(diameter=highest - lowest, norm=highest,",
        "mean(diameter=highest - lowest, norm=highest - lowest,",
        f"{CAPPED} -k zeroed_out",
    ),
    Mutant(
        "zeroed moments: squares forgotten",
        "privacy/sensitivity.py",
        "relation.distance(diameter=square, norm=1.0 + b)",
        "relation.distance(diameter=square, norm=1.0)",
        f"{CAPPED} -k moments",
    ),
    Mutant(
        "batches at the zero-out distance",
        "privacy/prices.py",
        "relation=Relation.REPLACE_ONE if self._draw is Draw.FIXED else Relation.ZERO_OUT,",
        "",
        "tests/privacy/test_batch_privacy.py -k whatever_the_relation",
    ),
)

COUNTS = (
    Mutant(
        "weights not clipped to their cap",
        "data/weights.py",
        "return np.clip(weights, 0.0, cap, out=weights)",
        "return weights",
        WEIGHTS,
    ),
    Mutant(
        "weights that are not finite kept",
        "data/weights.py",
        "    usable &= finite\n",
        "",
        WEIGHTS,
    ),
    Mutant(
        "weights lost by a subset",
        "data/rows.py",
        "return None if weights is None else weights[indices]",
        "return None",
        WEIGHTS,
    ),
    *(
        Mutant(f"weights lost in {place}", file, before, after, f"{WEIGHTS} -k counts_by_its_weight")
        for place, file, before, after in (
            (
                "NumPy passes",
                "kernels/block_sums.py",
                "(self._loss.relative(targets), weights)",
                "(self._loss.relative(targets),)",
            ),
            (
                "compiled slopes",
                "kernels/compiled/losses.py",
                "count = weights[i] * _count(twin, targets[i])",
                "count = _count(twin, targets[i])",
            ),
            ("compiled values", "kernels/compiled/losses.py", "        values[i] *= weights[i]\n", ""),
            (
                "compiled logistic trials",
                "kernels/compiled/losses.py",
                "values[i] = gain * unit * weights[i]",
                "values[i] = gain * unit",
            ),
            (
                "compiled trials",
                "kernels/compiled/losses.py",
                "(marks[i] - values[i] + pulled) * weights[i]",
                "marks[i] - values[i] + pulled",
            ),
            (
                "Gram matrices",
                "kernels/passes.py",
                "add_outer(total, block.weights, convex=True)",
                "add_outer(total, None, convex=True)",
            ),
            (
                "column squares",
                "kernels/products.py",
                'np.einsum("i,ij,ij->j", weights, wide, wide)',
                'np.einsum("ij,ij->j", wide, wide)',
            ),
            (
                "sparse column squares",
                "kernels/products.py",
                "            terms *= np.repeat(weights, np.diff(X.indptr))\n",
                "            pass\n",
            ),
            (
                "softmax",
                "kernels/softmax.py",
                "return terms if counts is None else np.multiply(terms, counts, out=terms)",
                "return terms",
            ),
        )
    ),
)
