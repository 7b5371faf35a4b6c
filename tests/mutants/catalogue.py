"""All seeded defects. Names say what went wrong; `tests` are the fastest that must notice."""

from __future__ import annotations

from tests.mutants.accounting_defects import FILE, FILTER, PRICES
from tests.mutants.autodiff_defects import CLIPPING
from tests.mutants.batch_defects import BATCHES, ROUNDING
from tests.mutants.data_defects import BOUNDS, DOOR, MATRICES, PARTITIONS
from tests.mutants.front_defects import FRONTS
from tests.mutants.harness import Mutant
from tests.mutants.method_defects import LEVELS
from tests.mutants.noise_defects import REUSED, SCALES, SPARSE_VECTOR
from tests.mutants.oracle_defects import RELEASES, RUNS

_EVERYTHING = (
    *RELEASES,
    *RUNS,
    *SCALES,
    *REUSED,
    *SPARSE_VECTOR,
    *DOOR,
    *PARTITIONS,
    *MATRICES,
    *BOUNDS,
    *ROUNDING,
    *BATCHES,
    *PRICES,
    *FILTER,
    *FILE,
    *FRONTS,
    *CLIPPING,
    *LEVELS,
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
