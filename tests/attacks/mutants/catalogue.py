"""All seeded defects. Names say what went wrong; `tests` are the fastest that must notice."""

from __future__ import annotations

from tests.attacks.mutants.accounting_defects import FILE, FILTER, PRICES
from tests.attacks.mutants.adapt_defects import ADAPT
from tests.attacks.mutants.autodiff_defects import CLIPPING, FOUND_CLIPS, LAYERS, STATE
from tests.attacks.mutants.base_defects import BASE
from tests.attacks.mutants.batch_defects import BATCHES, ROUNDING
from tests.attacks.mutants.cell_defects import READING
from tests.attacks.mutants.compact_defects import COMPACT
from tests.attacks.mutants.data_defects import BOUNDS, DOOR, MATRICES, PARTITIONS
from tests.attacks.mutants.door_defects import COUNTED, READERS
from tests.attacks.mutants.evaluation_defects import EVALUATION
from tests.attacks.mutants.front_defects import FRONTS
from tests.attacks.mutants.harness import Mutant
from tests.attacks.mutants.inference_defects import ERRORS
from tests.attacks.mutants.kernel_defects import FORMULAS
from tests.attacks.mutants.method_defects import LEVELS, LIMITS, MAJORIZERS, REFUSALS
from tests.attacks.mutants.neighbour_defects import NEIGHBOURS
from tests.attacks.mutants.noise_defects import REUSED, SCALES, SPARSE_VECTOR
from tests.attacks.mutants.operation_defects import OPERATION
from tests.attacks.mutants.oracle_defects import ARGUMENTS, RELEASES, RUNS
from tests.attacks.mutants.preconditioner_defects import COUNTS, GEOMETRY, RELATIONS
from tests.attacks.mutants.promise_defects import CHAINS, KEPT
from tests.attacks.mutants.spool_defects import SPOOL
from tests.attacks.mutants.trusted_defects import ASKING, CHARGES, ELEMENTWISE, PASSES

_EVERYTHING = (
    *ADAPT,
    *RELEASES,
    *RUNS,
    *ARGUMENTS,
    *SCALES,
    *REUSED,
    *SPARSE_VECTOR,
    *DOOR,
    *READING,
    *COUNTED,
    *READERS,
    *PARTITIONS,
    *MATRICES,
    *BOUNDS,
    *ROUNDING,
    *FORMULAS,
    *BASE,
    *SPOOL,
    *COMPACT,
    *BATCHES,
    *GEOMETRY,
    *RELATIONS,
    *COUNTS,
    *ERRORS,
    *PRICES,
    *CHAINS,
    *KEPT,
    *OPERATION,
    *FILTER,
    *FILE,
    *FRONTS,
    *CLIPPING,
    *FOUND_CLIPS,
    *STATE,
    *LAYERS,
    *LEVELS,
    *NEIGHBOURS,
    *REFUSALS,
    *EVALUATION,
    *LIMITS,
    *MAJORIZERS,
    *ELEMENTWISE,
    *CHARGES,
    *PASSES,
    *ASKING,
)

_FIRST = (
    "charge skipped",
    "ledger asked after the data",
    "line search asked after the data",
    "calibration 1 % small",
    "long answers share their noise",
    "query noise as small as the threshold's",
    "clipped before the intercept is added",
    "clipping margin dropped",
    "sqrt2 dropped in svec",
    "Hessian: orthogonal rows forgotten",
    "filter off by one",
    "changed entry accepted",
)

CATALOGUE: tuple[Mutant, ...] = tuple(sorted(_EVERYTHING, key=lambda mutant: mutant.name not in _FIRST))
"""The dozen of `_FIRST`, which every test run plants, come first."""
