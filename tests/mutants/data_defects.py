"""Rows, labels and matrices that are not bounded as sensitivity assumes, and bounds that are too small."""

from __future__ import annotations

from tests.mutants.harness import Mutant

RECORDS = "tests/test_records.py"
MOVES = "tests/test_sensitivity.py -k"
ATTAINED = "tests/test_sensitivity_is_attained.py"

DOOR = (
    Mutant("clipping skipped", "rows.py", "    rows[long] = unit[long] * reach[long, None]\n", "", RECORDS),
    Mutant(
        "clipping of sparse rows skipped",
        "rows.py",
        "    values[entries] = unit[entries] * np.repeat(reach, lengths)[entries]\n",
        "",
        RECORDS,
    ),
    Mutant(
        "clipping margin dropped",
        "rows.py",
        "CLIP_MARGIN = 2.0**-22",
        "CLIP_MARGIN = 0.0",
        f"{RECORDS}::test_no_stored_row_exceeds_the_radius_in_exact_arithmetic",
    ),
    Mutant(
        "clipped before the intercept is added",
        "rows.py",
        "            rows[:, columns:] = 1.0\n            _clip_dense(rows, radius, usable[span])\n",
        "            _clip_dense(rows[:, :columns], radius, usable[span])\n"
        "            rows[:, columns:] = 1.0\n",
        f"{RECORDS}::test_the_intercept_is_the_last_column_and_is_clipped_with_its_row",
    ),
    Mutant(
        "stored rows not measured again",
        "rows.py",
        "    if not np.all(squares <= radius**2 * (1.0 - CLIP_MARGIN / 2.0)):",
        "    if False:",
        f"{RECORDS} -k even_if_clipping_were_broken",
    ),
    Mutant(
        "duplicate sparse entries clipped apart",
        "records.py",
        "if not table.has_canonical_format:",
        "if False:",
        f"{RECORDS} -k given_twice",
    ),
    Mutant(
        "regression targets not clipped",
        "targets.py",
        "np.clip(numbers, self.low, self.high)",
        "np.array(numbers)",
        f"{RECORDS} -k targets_are_clipped",
    ),
    Mutant(
        "blanked rows keep their label",
        "records.py",
        "        targets[~usable] = declared.blank\n",
        "",
        f"{RECORDS} -k blank",
    ),
    Mutant(
        "blanked rows keep their features",
        "rows.py",
        "    rows[~usable] = 0.0\n",
        "",
        f"{RECORDS} -k blank",
    ),
    Mutant(
        "records can be pickled",
        "rows.py",
        "class Sealed:",
        "class Sealed:\n    def __reduce_ex__(self, protocol):\n"
        "        return object.__reduce_ex__(self, protocol)\n\n\n"
        "class _Unused:",
        f"{RECORDS} -k copied_or_pickled",
    ),
    Mutant(
        "an error quotes the data",
        "records.py",
        'raise DataError("X must hold real numbers. ',
        'raise DataError(f"X must hold real numbers, not {X}. ',
        f"{RECORDS} -k without_quoting",
    ),
)

PARTITIONS = (
    Mutant(
        "changed partitions are summed",
        "partitions.py",
        "    if part is None or part.fingerprint != known:",
        "    if part is None:",
        "tests/test_distributed.py -k source_that_changed",
    ),
    Mutant(
        "a fingerprint without targets",
        "partitions.py",
        "for part in (*held, targets):",
        "for part in held:",
        "tests/test_distributed.py -k a_fingerprint_tells",
    ),
    Mutant(
        "parts joined by a taller tree than is allowed for",
        "parts.py",
        "LEVELS = 4",
        "LEVELS = 5",
        "tests/test_distributed.py -k the_tree_of_most_parts",
    ),
)

MATRICES = (
    Mutant(
        "sqrt2 dropped in svec",
        "symmetric.py",
        "SQRT2 = math.sqrt(2.0)",
        "SQRT2 = 1.0",
        "tests/test_symmetric.py::test_the_distance_of_vectors_is_the_frobenius_distance_of_matrices",
    ),
    Mutant(
        "sqrt2 on the diagonal of svec",
        "symmetric.py",
        "np.where(rows == columns, 1.0, SQRT2)",
        "np.where(rows == columns, SQRT2, 1.0)",
        "tests/test_symmetric.py",
    ),
    Mutant(
        "svec undone the wrong way",
        "symmetric.py",
        "entries = v / weights",
        "entries = v * weights",
        "tests/test_symmetric.py",
    ),
)

BOUNDS = (
    Mutant(
        "sensitivity over n + 1",
        "sensitivity.py",
        "distance / n * _ROUND_UP",
        "distance / (n + 1)",
        f"{ATTAINED} -k gram",
    ),
    Mutant(
        "gradient's factor 2 dropped",
        "sensitivity.py",
        "    return _mean_moves(2.0 * slope * radius, n)\n",
        "    return _mean_moves(slope * radius, n)\n",
        f"{ATTAINED} -k steepest",
    ),
    Mutant(
        "residual gradient ignores the target's reach",
        "sensitivity.py",
        "(reach + target_reach) * _ROUND_UP",
        "reach * _ROUND_UP",
        f"{MOVES} gradient_past",
    ),
    Mutant(
        "class weight ignored",
        "sensitivity.py",
        "2.0 * loss.slope) * weight * radius",
        "2.0 * loss.slope) * radius",
        f"{MOVES} weighted",
    ),
    Mutant(
        "Hessian: orthogonal rows forgotten",
        "sensitivity.py",
        "same_sign = math.sqrt(2.0) * max(",
        "same_sign = max(",
        f"{ATTAINED}::test_orthogonal_or_opposite_curvatures_attain_the_hessian_bound",
    ),
    Mutant(
        "Hessian: opposite signs forgotten",
        "sensitivity.py",
        "max(same_sign, curvature_low + curvature_high) * radius**2",
        "same_sign * radius**2",
        f"{ATTAINED} -k hessian",
    ),
    Mutant(
        "eigenvalue: one sign only",
        "sensitivity.py",
        "_mean_moves((curvature_low + curvature_high) * radius**2",
        "_mean_moves(max(curvature_low, curvature_high) * radius**2",
        f"{ATTAINED} -k eigenvalue",
    ),
    Mutant(
        "Gram: sqrt2 dropped",
        "sensitivity.py",
        "_mean_moves(math.sqrt(2.0) * radius**2",
        "_mean_moves(radius**2",
        f"{ATTAINED} -k gram",
    ),
    Mutant(
        "value difference: factor 2 dropped",
        "sensitivity.py",
        "_mean_moves(2.0 * slope * radius * step_norm",
        "_mean_moves(slope * radius * step_norm",
        f"{ATTAINED} -k trial_values",
    ),
    Mutant(
        "trials counted once",
        "sensitivity.py",
        "slope * radius * math.sqrt(count)",
        "slope * radius",
        f"{ATTAINED} -k trial_values",
    ),
    Mutant(
        "grid counted once",
        "sensitivity.py",
        "longest * direction_norm * spread",
        "longest * direction_norm",
        f"{ATTAINED} -k trial_values",
    ),
    Mutant(
        "softmax Hessian halved",
        "sensitivity.py",
        "_mean_moves(radius**2 / math.sqrt(2.0), n)",
        "_mean_moves(0.5 * radius**2 / math.sqrt(2.0), n)",
        f"{ATTAINED} -k softmax_records",
    ),
)
