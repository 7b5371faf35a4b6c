"""Passes are compiled in a thread of its own while data is read, so that the first one finds them ready.

No number depends on it: a pass that comes too early waits for the same machine code. What is compiled is kept
on disk, so this takes seconds once on a machine and a fraction of one second later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np

from sottovoce.data.rows import DenseRows
from sottovoce.kernels.products import is_compiled
from sottovoce.losses import Logistic

_unstarted = threading.Lock()
"""Held from the first start on."""


def warm(entries: int) -> None:
    """Start to compile if passes over a table of so many entries take the compiled path; at most once."""
    if is_compiled(entries) and _unstarted.acquire(blocking=False):
        threading.Thread(target=_compile, name="sottovoce-compile").start()


def _compile() -> None:
    for passing in _passes():
        if not threading.main_thread().is_alive():
            return
        passing()


def _passes() -> Iterator[Callable[[], object]]:
    """Every pass over dense rows, on eight made-up ones held as real ones are: types decide, not sizes."""
    from sottovoce.kernels.compiled import gram
    from sottovoce.kernels.compiled.block_sums import DenseTally
    from sottovoce.kernels.compiled.products import DenseView
    from sottovoce.kernels.compiled.twins import twin_of

    twin = twin_of(Logistic())
    assert twin is not None
    block = DenseRows(np.zeros((8, 2), dtype=np.float32), np.ones(8), np.ones(8)).block(0)
    tally, view = DenseTally(twin), DenseView(block.features)
    w, here, moves = np.zeros(2), np.zeros(8), np.zeros(8)
    squares = np.zeros(gram.room(2))
    yield lambda: tally.tangent(block, w, True, np.zeros(3))
    yield lambda: tally.curvatures(block, w)
    yield lambda: view.add_outer(squares, here, convex=True)
    yield lambda: view.add_outer(squares, block.weights, convex=True)
    yield lambda: tally.trials(block, w, np.zeros((1, 2)), np.zeros(1))
    yield lambda: tally.margins(block, w, w, here, moves)
    yield lambda: tally.drop(1.0, here, moves, tally.marks(here), block.targets, block.weights)
    yield lambda: view.gather(view.times(w))
    yield lambda: view.gather(block.targets)
