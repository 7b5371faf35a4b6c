"""Passes are compiled in a thread of its own while data is read, so that the first one finds them ready.

No number depends on it: a pass that comes too early waits for the same machine code. What is compiled is kept
on disk, so this takes seconds once on a machine and a fraction of one second later.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import numpy as np

from sottovoce.data.compact import Compact
from sottovoce.data.compact_rows import CompactRows
from sottovoce.data.layout import RowLayout
from sottovoce.data.partitioned import Parts
from sottovoce.data.rows import DenseRows, Rows
from sottovoce.errors import ResourceError
from sottovoce.losses import Logistic
from sottovoce.machine import MEGABYTE
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.compiling import ADDRESSES_OF_LLVM, compiles, give_up, has_numba, is_compiled

MOST_ONE_BY_ONE = 2**16
"""Records whose losses are computed one by one in some minutes a fit; 20,000 took 46 seconds."""
_begun: set[str] = set()
_beginning = threading.Lock()
"""Forms of rows whose passes are compiled or being compiled, and who may add one."""


def warm(entries: int, layout: RowLayout | None = None) -> None:
    """Start to compile if passes over a table of so many entries take the compiled path; once for a form.

    Compact rows have a layout; dense ones have none."""
    form = "dense" if layout is None else str(layout.kind)
    if not is_compiled(entries):
        return
    with _beginning:
        if form in _begun:
            return
        _begun.add(form)
    threading.Thread(target=_compile, args=(layout,), name="sottovoce-compile").start()


def warm_for(rows: Rows | Parts) -> None:
    """`warm` for rows at hand; CSR rows compile in a moment, and rows in parts where they are held."""
    if isinstance(rows, Rows) and not rows.sparse:
        warm(rows.entries, rows.layout)


def require_compiler(n: int) -> None:
    """Refuse, before any charge, a fit that would take hours because the compiler has no room."""
    if n <= MOST_ONE_BY_ONE or os.environ.get("SOTTOVOCE_KERNELS") == "reference":
        return
    if has_numba() and not compiles():
        raise ResourceError(
            f"the compiler has no room: it takes {ADDRESSES_OF_LLVM // MEGABYTE:,} MB of addresses, which "
            "`ulimit -v` or the container's limit does not leave. Without it the losses of "
            f"{n:,} records are computed one by one, for minutes or hours. Nothing was charged, nothing "
            "released. Raise the limit, or set SOTTOVOCE_KERNELS=reference and wait."
        )


def _compile(layout: RowLayout | None = None) -> None:
    """Compile pass by pass. Rows are made up, so a failure is the compiler's, and NumPy takes over."""
    try:
        for passing in _passes(layout):
            if not threading.main_thread().is_alive():
                return
            passing()
    except (ImportError, OSError, MemoryError, RuntimeError):
        give_up()


def _passes(layout: RowLayout | None) -> Iterator[Callable[[], object]]:
    """Every pass over eight made-up rows held as real ones are: types decide, not sizes."""
    from sottovoce.kernels.block_sums import ALONE, compiled_kernel
    from sottovoce.kernels.compiled.lengths import counts
    from sottovoce.kernels.products import compiled_view
    from sottovoce.queries.preconditioner import Preconditioner

    law, rows, span = Logistic().law, _made_up(layout), Span(0.0, 1.0)
    band = Band(-1.0, 1.0, np.zeros(1), np.zeros(1))
    block, kernel = rows.block(0), compiled_kernel(rows, law)
    view = compiled_view(rows)(block.features)
    total, sums = np.zeros(view.room(rows.dim)), np.zeros((1, rows.dim + 1))
    w, here, moves = np.zeros(rows.dim), np.zeros(8), np.zeros(8)
    w.flags.writeable = False  # as `RowSums.weights` gives them
    yield lambda: kernel.tangent(block, w, band, None, ALONE, sums)
    yield lambda: kernel.tangent(block, w, band, span, ALONE, sums)
    yield lambda: kernel.tangent(block, w, None, span, ALONE, sums)
    yield lambda: kernel.curvatures(block, w, span)
    yield lambda: view.add_outer(total, here, convex=True)
    yield lambda: view.add_outer(total, block.weights, convex=True)
    yield lambda: kernel.trials(block, w, np.zeros((1, rows.dim)), 1.0, ALONE, np.zeros((1, 1)))
    yield lambda: kernel.margins(block, w, w, here, moves)
    yield lambda: kernel.drop(
        1.0, 1.0, here, moves, kernel.marks(here, block.targets), block.targets, block.weights
    )
    yield lambda: view.gather(view.times(w))
    yield lambda: view.gather(block.targets)
    yield lambda: view.add_moments(np.zeros((2, rows.dim)), block.weights, rows.n)
    yield lambda: counts(
        block.features, Preconditioner(scale=np.ones(rows.dim), cap=1.0), 0.0, 0.0, block.weights, here
    )


def _made_up(layout: RowLayout | None) -> Rows:
    if layout is None:
        return DenseRows(np.zeros((8, 2), dtype=np.float32), np.ones(8), np.ones(8))
    return CompactRows(Compact.blank(layout, 8), np.ones(8), np.ones(8))
