"""Rows, labels and matrices that are not bounded as sensitivity assumes, and bounds that are too small."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

RECORDS = "tests/data/test_records.py"
MOVES = "tests/privacy/test_sensitivity.py -k"
ATTAINED = "tests/privacy/test_sensitivity_is_attained.py"

DOOR = (
    Mutant(
        "counts not divided by the cap",
        "data/weights.py",
        "np.clip(weights, 0.0, cap) / cap, np.nan)",
        "np.clip(weights, 0.0, cap), np.nan)",
        "tests/system/test_weights_fronts.py -k move_a_sum_further",
    ),
    Mutant(
        "counts not clipped to the cap",
        "data/weights.py",
        "np.clip(weights, 0.0, cap) / cap, np.nan)",
        "np.asarray(weights) / cap, np.nan)",
        "tests/system/test_weights_fronts.py -k move_a_sum_further",
    ),
    Mutant(
        "counts not divided by the largest class weight",
        "data/weights.py",
        "(shares / shares.max())",
        "(shares / shares.mean())",
        "tests/system/test_weights_fronts.py -k move_a_sum_further",
    ),
    Mutant(
        "clipping skipped", "data/rows.py", "    rows[long] = unit[long] * reach[long, None]\n", "", RECORDS
    ),
    Mutant(
        "clipping of sparse rows skipped",
        "data/rows.py",
        "    values[entries] = unit[entries] * np.repeat(reach, lengths)[entries]\n",
        "",
        RECORDS,
    ),
    Mutant(
        "clipping margin dropped",
        "data/rows.py",
        "CLIP_MARGIN = 2.0**-22",
        "CLIP_MARGIN = 0.0",
        f"{RECORDS}::test_no_stored_row_exceeds_the_radius_in_exact_arithmetic",
    ),
    Mutant(
        "clipped before the intercept is added",
        "data/rows.py",
        "            rows[:, columns:] = 1.0\n            _clip_dense(rows, radius, usable[span])\n",
        "            _clip_dense(rows[:, :columns], radius, usable[span])\n"
        "            rows[:, columns:] = 1.0\n",
        f"{RECORDS}::test_the_intercept_is_the_last_column_and_is_clipped_with_its_row",
    ),
    Mutant(
        "stored rows not measured again",
        "data/rows.py",
        "    if not np.all(squares <= radius**2 * (1.0 - CLIP_MARGIN / 2.0)):",
        "    if False:",
        f"{RECORDS} -k even_if_clipping_were_broken",
    ),
    Mutant(
        "duplicate sparse entries clipped apart",
        "data/validation.py",
        "if not table.has_canonical_format:",
        "if False:",
        f"{RECORDS} -k given_twice",
    ),
    Mutant(
        "regression targets not clipped",
        "data/targets.py",
        "np.clip(numbers, self.low, self.high)",
        "np.array(numbers)",
        f"{RECORDS} -k targets_are_clipped",
    ),
    Mutant(
        "blanked rows keep their label",
        "data/records.py",
        "        targets[~usable] = declared.blank\n",
        "",
        f"{RECORDS} -k blank",
    ),
    Mutant(
        "blanked rows keep their features",
        "data/rows.py",
        "    rows[~usable] = 0.0\n",
        "",
        f"{RECORDS} -k blank",
    ),
    Mutant(
        "a block of rows prints them",
        "data/blocks.py",
        """        return "Block(private)"\n""",
        """        return f"Block({self.features}, {self.targets})"\n""",
        f"{RECORDS} -k repr",
    ),
    Mutant(
        "a block of rows can be pickled",
        "data/blocks.py",
        "        refuse_copies(self)\n",
        "        return Block, tuple(self)\n",
        f"{RECORDS} -k copied_or_pickled",
    ),
    Mutant(
        "records can be pickled",
        "data/sealed.py",
        "class Sealed:",
        "class Sealed:\n    def __reduce_ex__(self, protocol):\n"
        "        return object.__reduce_ex__(self, protocol)\n\n\n"
        "class _Unused:",
        f"{RECORDS} -k copied_or_pickled",
    ),
    Mutant(
        "an error quotes the data",
        "data/validation.py",
        'raise DataError("X must hold real numbers. ',
        'raise DataError(f"X must hold real numbers, not {X}. ',
        f"{RECORDS} -k without_quoting",
    ),
)

PARTITIONS = (
    Mutant(
        "changed partitions are summed",
        "data/dask_partitions.py",
        "    if part is None or part.fingerprint != known:",
        "    if part is None:",
        "tests/system/test_distributed.py -k source_that_changed",
    ),
    Mutant(
        "a fingerprint without targets",
        "data/dask_partitions.py",
        "for part in (*held, targets, *([] if weights is None else [weights])):",
        "for part in (*held, *([] if weights is None else [weights])):",
        "tests/system/test_distributed.py -k a_fingerprint_tells",
    ),
    Mutant(
        "a fingerprint without weights",
        "data/dask_partitions.py",
        "for part in (*held, targets, *([] if weights is None else [weights])):",
        "for part in (*held, targets):",
        "tests/system/test_distributed.py -k a_fingerprint_tells",
    ),
    Mutant(
        "parts joined by a taller tree than is allowed for",
        "data/partitioned.py",
        "LEVELS = 4",
        "LEVELS = 5",
        "tests/system/test_distributed.py -k the_tree_of_most_parts",
    ),
)

MATRICES = (
    Mutant(
        "sqrt2 dropped in svec",
        "privacy/release.py",
        "SQRT2 = math.sqrt(2.0)",
        "SQRT2 = 1.0",
        "tests/privacy/test_packing.py::test_the_distance_of_vectors_is_the_frobenius_distance_of_matrices",
    ),
    Mutant(
        "sqrt2 on the diagonal of svec",
        "privacy/release.py",
        "np.where(rows == columns, 1.0, SQRT2)",
        "np.where(rows == columns, SQRT2, 1.0)",
        "tests/privacy/test_packing.py",
    ),
    Mutant(
        "svec undone the wrong way",
        "privacy/release.py",
        "entries = v / weights",
        "entries = v * weights",
        "tests/privacy/test_packing.py",
    ),
)

BOUNDS = (
    Mutant(
        "sensitivity over n + 1",
        "privacy/sensitivity.py",
        "distance / n * ROUND_UP",
        "distance / (n + 1)",
        f"{ATTAINED} -k gram",
    ),
    Mutant(
        "gradient's factor 2 dropped",
        "privacy/sensitivity.py",
        "    return terms(longest=slope * radius, n=n, relation=relation)\n",
        "    return _mean_moves(slope * radius, n)\n",
        f"{ATTAINED} -k steepest",
    ),
    Mutant(
        "residual gradient ignores the target's reach",
        "privacy/sensitivity.py",
        "slope_within((reach + target_reach) * ROUND_UP))\n    diameter = 2.0 * steepest\n"
        "    if loss.kind is Kind.MARGIN:\n",
        "slope_within(reach * ROUND_UP))\n    diameter = 2.0 * steepest\n    if loss.kind is Kind.MARGIN:\n",
        f"{MOVES} gradient_past",
    ),
    Mutant(
        "class weight ignored",
        "privacy/sensitivity.py",
        "norm=steepest) * weight * radius",
        "norm=steepest) * radius",
        f"{MOVES} weighted",
    ),
    Mutant(
        "Hessian: orthogonal rows forgotten",
        "privacy/sensitivity.py",
        "max(math.sqrt(2.0) * largest, curvature_low + curvature_high)",
        "max(largest, curvature_low + curvature_high)",
        f"{ATTAINED}::test_orthogonal_or_opposite_curvatures_attain_the_hessian_bound",
    ),
    Mutant(
        "Hessian: opposite signs forgotten",
        "privacy/sensitivity.py",
        "max(math.sqrt(2.0) * largest, curvature_low + curvature_high)",
        "math.sqrt(2.0) * largest",
        f"{ATTAINED} -k hessian",
    ),
    Mutant(
        "eigenvalue: one sign only",
        "privacy/sensitivity.py",
        "diameter, norm = curvature_low + curvature_high, ",
        "diameter, norm = max(curvature_low, curvature_high), ",
        f"{ATTAINED} -k eigenvalue",
    ),
    Mutant(
        "Gram: sqrt2 dropped",
        "privacy/sensitivity.py",
        "relation.distance(diameter=math.sqrt(2.0), norm=1.0)",
        "1.0",
        f"{ATTAINED} -k gram",
    ),
    Mutant(
        "value difference: factor 2 dropped",
        "privacy/sensitivity.py",
        "terms(longest=slope * radius * step_norm, ",
        "terms(longest=0.5 * slope * radius * step_norm, ",
        f"{ATTAINED} -k trial_values",
    ),
    Mutant(
        "trials counted once",
        "privacy/sensitivity.py",
        "slope * radius * math.sqrt(count)",
        "slope * radius",
        f"{ATTAINED} -k trial_values",
    ),
    Mutant(
        "grid counted once",
        "privacy/sensitivity.py",
        "longest * direction_norm * spread",
        "longest * direction_norm",
        f"{ATTAINED} -k trial_values",
    ),
    Mutant(
        "softmax Hessian halved",
        "risks/bounds.py",
        "diameter=math.sqrt(0.5) * radius**2",
        "diameter=0.5 * math.sqrt(0.5) * radius**2",
        f"{ATTAINED} -k softmax_records",
    ),
)
