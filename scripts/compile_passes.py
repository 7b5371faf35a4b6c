"""Compiles the passes over dense and compact rows and the laws of the losses, which is kept in the checkout.

Else every worker of the tests would compile them for itself."""

from __future__ import annotations

import threading

from sottovoce.data.layout import RowLayout
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.losses import BY_NAME, Poisson
from sottovoce.models.warming import warm

MANY = 10**9
"""Entries of a table whose passes are compiled in any case."""

schema = Schema((Numeric("a", 0.0, 1.0), Categorical("b", ("c", "d"))), Target("y", ("no", "yes")))
warm(MANY)
warm(MANY, RowLayout.of(schema))
for kind in BY_NAME.values():
    loops = (kind(20.0) if kind is Poisson else kind()).law.loops
    for name in ("tangents", "values", "slopes", "curvatures"):
        getattr(loops, name)
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
