"""Rows, labels and matrices that are not bounded as sensitivity assumes, and bounds that are too small."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

TIMED, EXPOSED = "tests/data/test_survival.py", "tests/data/test_exposure.py"
RECORDS = "tests/data/test_records.py"
MOVES = "tests/privacy/test_sensitivity.py -k"
ATTAINED = "tests/privacy/test_sensitivity_is_attained.py"

DOOR = (
    Mutant(
        "counts not divided by the cap",
        "data.weights:counts_of",
        "np.clip(weights, 0.0, cap) / cap",
        "np.clip(weights, 0.0, cap)",
        "tests/system/test_weights_fronts.py -k move_a_sum_further",
    ),
    Mutant(
        "counts not clipped to the cap",
        "data.weights:counts_of",
        "np.clip(weights, 0.0, cap)",
        "np.asarray(weights)",
        "tests/system/test_weights_fronts.py -k move_a_sum_further",
    ),
    Mutant(
        "counts not divided by the largest class weight",
        "data.weights:counts",
        "shares.max()",
        "shares.mean()",
        "tests/system/test_weights_fronts.py -k move_a_sum_further",
    ),
    Mutant(
        "a person with many intervals counts more than 1",
        "data.persons:Persons.shares",
        "np.maximum(np.bincount(held[self._owners >= 0], minlength=self.n)[held], self.quota)",
        "np.full_like(held, self.quota)",
        f"{TIMED} -k a_person_1_at_most",
    ),
    Mutant(
        "a record without an interval at risk vanishes",
        "data.survival:Periods._expanded",
        "inside[~counted, 0] = True",
        "",
        f"{TIMED} -k no_record_changes",
    ),
    Mutant(
        "a record without an interval at risk counts",
        "data.survival:Periods._expanded",
        "counted.astype(np.float64)",
        "np.ones(n)",
        f"{TIMED} -k for_each_interval",
    ),
    Mutant(
        "records of two chunks are one person",
        "data.survival:Periods.chunks",
        "self.records += rows",
        "self.records = rows",
        f"{TIMED} -k chunk_after_chunk",
    ),
    Mutant(
        "the longest exposure counts more than 1",
        "data.columns:Target.exposed",
        "np.minimum(exposures, self.exposure_high) / self.exposure_high",
        "exposures",
        f"{EXPOSED} -k alike_from_every_container",
    ),
    Mutant(
        "clipping skipped",
        "data.rows:_clip_dense",
        "rows[long] = unit[long] * reach[long, None]",
        "",
        RECORDS,
    ),
    Mutant(
        "clipping of sparse rows skipped",
        "data.sparse_rows:_clip_sparse",
        "values[entries] = unit[entries] * np.repeat(reach, lengths)[entries]",
        "",
        RECORDS,
    ),
    Mutant(
        "clipping margin dropped",
        "data.rows",
        "2.0 ** (-22)",
        "0.0",
        f"{RECORDS}::test_no_stored_row_exceeds_the_radius_in_exact_arithmetic",
    ),
    Mutant(
        "clipped before the intercept is added",
        "data.rows:bound_dense",
        ("rows[:, columns:] = 1.0\n_clip_dense(rows, radius, usable[span])"),
        ("_clip_dense(rows[:, :columns], radius, usable[span])\nrows[:, columns:] = 1.0"),
        f"{RECORDS}::test_the_intercept_is_the_last_column_and_is_clipped_with_its_row",
    ),
    Mutant(
        "stored rows not measured again",
        "data.rows:require_short",
        "not np.all(squares <= radius ** 2 * (1.0 - CLIP_MARGIN / 2.0))",
        "False",
        f"{RECORDS} -k even_if_clipping_were_broken",
    ),
    Mutant(
        "duplicate sparse entries clipped apart",
        "data.validation:canonical_csr",
        "not table.has_canonical_format",
        "False",
        f"{RECORDS} -k given_twice",
    ),
    Mutant(
        "regression targets not clipped",
        "data.targets:Range.encode",
        "np.clip(numbers, self.low, self.high)",
        "np.array(numbers)",
        f"{RECORDS} -k targets_are_clipped",
    ),
    Mutant(
        "blanked rows keep their label",
        "data.records:Records.from_arrays",
        "targets[~usable] = declared.blank",
        "",
        f"{RECORDS} -k blank",
    ),
    Mutant(
        "blanked rows keep their features",
        "data.rows:_clip_dense",
        "rows[~usable] = 0.0",
        "",
        f"{RECORDS} -k blank",
    ),
    Mutant(
        "a block of rows prints them",
        "data.blocks:Block.__repr__",
        "return 'Block(private)'",
        "return f'Block({self.features}, {self.targets})'",
        f"{RECORDS} -k repr",
    ),
    Mutant(
        "a block of rows can be pickled",
        "data.blocks:Block.__reduce_ex__",
        "refuse_copies(self)",
        "return (Block, tuple(self))",
        f"{RECORDS} -k copied_or_pickled",
    ),
    Mutant(
        "records can be pickled",
        "data.sealed:Sealed.__reduce_ex__",
        "refuse_copies(self)",
        "return object.__reduce_ex__(self, protocol)",
        f"{RECORDS} -k copied_or_pickled",
    ),
    Mutant(
        "an error quotes the data",
        "data.validation:require_table",
        "DataError('X must hold real numbers. Encode text and dates, then convert with X.astype(float).')",
        "DataError(f'X must hold real numbers, not {X}. Encode text and dates, then convert with X.astype(float).')",
        f"{RECORDS} -k without_quoting",
    ),
)

PARTITIONS = (
    Mutant(
        "changed partitions are summed",
        "data.dask_partitions:_unchanged",
        "part is None or part.fingerprint != known",
        "part is None",
        "tests/system/test_distributed.py -k source_that_changed",
    ),
    Mutant(
        "a fingerprint without targets",
        "data.dask_partitions:fingerprint",
        "(*held, targets, *([] if weights is None else [weights]))",
        "(*held, *([] if weights is None else [weights]))",
        "tests/system/test_distributed.py -k a_fingerprint_tells",
    ),
    Mutant(
        "a fingerprint without weights",
        "data.dask_partitions:fingerprint",
        "(*held, targets, *([] if weights is None else [weights]))",
        "(*held, targets)",
        "tests/system/test_distributed.py -k a_fingerprint_tells",
    ),
    Mutant(
        "parts joined by a taller tree than is allowed for",
        "data.partitioned",
        "LEVELS = 4",
        "LEVELS = 5",
        "tests/system/test_distributed.py -k the_tree_of_most_parts",
    ),
)

MATRICES = (
    Mutant(
        "sqrt2 dropped in svec",
        "privacy.release",
        "math.sqrt(2.0)",
        "1.0",
        "tests/privacy/test_packing.py::test_the_distance_of_vectors_is_the_frobenius_distance_of_matrices",
    ),
    Mutant(
        "sqrt2 on the diagonal of svec",
        "privacy.release:_layout",
        "np.where(rows == columns, 1.0, SQRT2)",
        "np.where(rows == columns, SQRT2, 1.0)",
        "tests/privacy/test_packing.py",
    ),
    Mutant(
        "svec undone the wrong way",
        "privacy.release:smat",
        "v / weights",
        "v * weights",
        "tests/privacy/test_packing.py",
    ),
)

BOUNDS = (
    Mutant(
        "sensitivity over n + 1",
        "privacy.sensitivity:over_n",
        "distance / facts.n * ROUND_UP",
        "distance / (facts.n + 1)",
        f"{ATTAINED} -k gram",
    ),
    Mutant(
        "Gram: sqrt2 dropped",
        "trusted.bands:moment_distance",
        "math.sqrt(2.0) * largest",
        "largest",
        f"{ATTAINED} -k gram",
    ),
    Mutant(
        "value difference: factor 2 dropped",
        "privacy.example_sensitivity:_line",
        "request.steepest * length",
        "0.5 * request.steepest * length",
        "tests/autodiff/test_torch_persons.py -k past_the_bound",
    ),
    Mutant(
        "trials counted once",
        "privacy.example_sensitivity:_steps",
        "norm_above(lengths)",
        "float(np.max(lengths))",
        "tests/autodiff/test_sensitivity.py -k paid_for",
    ),
    Mutant(
        "softmax Hessian halved",
        "privacy.softmax_sensitivity",
        "SPREAD = 0.5",
        "SPREAD = 0.25",
        f"{ATTAINED} -k softmax_records",
    ),
)
