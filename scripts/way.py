"""Print the modules on the way of `sottovoce fit` from a CSV file to a model: `python scripts/way.py`.

Five stations: a cell is read, a row bounded, rows are summed, noise is drawn, the model is written. Whenever
the fit enters one of them, the modules that stand between the command and that call are on the way."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import FrameType

import numpy as np

import sottovoce
from sottovoce.cli import main

SOURCE = f"{Path(sottovoce.__file__).parent}/"
STATIONS = ("data/cells.py", "data/rows.py", "kernels/passes.py", "privacy/noise.py", "files.py")
_FUNCTION = 1
"""Flag of a code object that is a function's, not a class's or a module's."""


def module(frame: FrameType) -> str | None:
    code = frame.f_code
    ours = code.co_filename.startswith(SOURCE) and code.co_flags & _FUNCTION
    return code.co_filename.removeprefix(SOURCE) if ours else None


def fit() -> tuple[set[str], set[str]]:
    """Modules that are called at all, and those on the way."""
    called: set[str] = set()
    way: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        here = module(frame) if event == "call" else None
        if here is None:
            return
        called.add(here)
        caller: FrameType | None = frame if here in STATIONS else None
        while caller is not None:
            way.update(filter(None, [module(caller)]))
            caller = caller.f_back

    with tempfile.TemporaryDirectory() as folder:
        table, schema, model = (str(Path(folder, name)) for name in ("t.csv", "s.toml", "m.json"))
        numbers = np.random.default_rng(0).normal(size=400)
        rows = [f"{number:.3f},{'yes' if number > 0 else 'no'}" for number in numbers]
        Path(table).write_text("\n".join(["a,y", *rows]))
        column = '[columns.a]\ntype = "numeric"\nlow = -3\nhigh = 3\n'
        Path(schema).write_text(f'{column}[target]\ncolumn = "y"\nclasses = ["no", "yes"]\n')
        sys.argv = ["sottovoce", "fit", table, "--schema", schema, "--epsilon", "1", "--delta", "1e-6", "-q"]
        sys.argv += ["-o", model]
        sys.setprofile(note)
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.setprofile(None)
    return called, way


if __name__ == "__main__":
    called, way = fit()
    print(*sorted(way), f"{len(way)} modules on the way, {len(called)} called at all", sep="\n")
