"""The files of the trusted base, and their lines in docs/trusted-base.md: `python scripts/trusted_base.py`.

With `--profile` three fits on the compiled path are run under a profiler: of arrays in memory, of a table
with a schema, whose rows are compact, and of persons. It counts what they call and what is compiled for them,
inside the base and outside; no file is left out by name. `tests/system/test_architecture.py` and
`tests/attacks/defects` read the same list."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import tokenize
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "sottovoce"
PAGE = ROOT / "docs" / "trusted-base.md"
START = "<!-- lines: written by scripts/trusted_base.py -->\n"

_SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

ROOMS = ("trusted", "privacy", "kernels", "kernels/compiled", "accounting", "data", "data/compiled")
"""Rooms that are trusted whole, but for the files below; the rooms inside `accounting` are wings."""

FRONTS = (
    "accounting/wording.py",
    *(f"data/{name}.py" for name in ("contrasts", "inspection", "made_up", "schema_file", "template")),
)
"""Prose about a ledger, and what helps to write a schema: neither reads a record for a fit."""

SINGLE = (
    "arrays.py",
    "errors.py",
    "machine.py",
    "queries/preconditioner.py",
    "queries/low_rank_shrinkage.py",
)
"""Coordinates, which are measured; what every file uses."""

GRADIENT = {
    "trusted/bands.py": "Band Reach vector_distance _angles",
    "privacy/charges.py": "Facts _vector _vector_distance norm_above",
    "privacy/rounding.py": (
        "gamma Arithmetic.gradient Arithmetic._mean Arithmetic._evaluation Arithmetic.margin"
    ),
    "kernels/sums.py": "_RowSums.facts _RowSums.vector _RowSums.weights LinearSums.answer",
    "kernels/passes.py": "gradient _tangent sum_blocks _sum_stretches",
    "kernels/block_sums.py": (
        "PlainBlockKernel.tangent PlainBlockKernel._arguments PlainBlockKernel._weigh PlainBlockKernel._chain"
    ),
    "kernels/compiled/block_sums.py": "DenseBlockKernel.tangent _dense_tangent",
    "kernels/compiled/contributions.py": "place chain slope count clamp_to_band",
    "privacy/oracle.py": "Oracle.ask plain_event",
    "privacy/sources.py": "RecordSource",
    "privacy/release.py": "Released _made gaussian _exact unquoted",
    "privacy/noise.py": "calibrate",
}
"""What one gradient takes from a bounded row to a released vector. The ledger, the noise's sampler, products
of rows and the check of laws are apart: they serve every query."""

FITS = """
import os, sys
import numpy as np
import pyarrow as pa
import sottovoce as sv
called = set()
def note(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and "/sottovoce/" in name and frame.f_code.co_name != "<module>":
        if frame.f_code.co_flags & 1:  # a function, not the body of a class
            called.add(name.rpartition("/sottovoce/")[2])
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
X = np.random.default_rng(0).normal(size=(400, 3))
y = np.where(X[:, 0] > 0, 1, -1)
columns = (*(Numeric(f"x{j}", -3.0, 3.0) for j in range(3)), Categorical("c", ("u", "v")))
schema = Schema(columns, Target("y", ("-1", "1")))
table = {f"x{j}": X[:, j] for j in range(3)} | {"c": np.where(X[:, 1] > 0, "u", "v"), "y": y.astype(str)}
def arrays(groups=None):
    records = sv.Records.from_arrays(X, y, radius=2.0, labels=(-1, 1), groups=groups)
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-3))
    sv.minimize(risk, budget=sv.Budget(1.0, 1e-6))
fits = {
    "arrays": arrays,
    "persons": lambda: arrays(np.arange(400) // 2),
    "table": lambda: sv.fit(pa.table(table), schema, epsilon=1.0, delta=1e-6),
}
for name, fit in fits.items():
    fit()  # compiles, which takes long under a profiler
    called.clear()
    sys.setprofile(note)
    fit()
    sys.setprofile(None)
    for loaded, module in list(sys.modules.items()):  # what a profiler does not see: machine code
        rooms = ("sottovoce.kernels.compiled.", "sottovoce.data.compiled.", "sottovoce.trusted.")
        if loaded.startswith(rooms):
            called.add(module.__file__.rpartition("/sottovoce/")[2])
    print(name, *sorted(called))
"""


@cache
def called() -> dict[str, set[str]]:
    """Files that each of the three fits calls or compiles."""
    environment = {**os.environ, "SOTTOVOCE_KERNELS": "compiled"}
    found = subprocess.run(
        [sys.executable, "-c", FITS], capture_output=True, text=True, check=True, env=environment
    )
    return {line.split()[0]: set(line.split()[1:]) for line in found.stdout.splitlines()}


def base_files() -> list[str]:
    """Every file that must be believed, whichever way data comes in; wings and doors included."""
    rooms = {file for room in ROOMS for file in SOURCE.glob(f"{room}/*.py")}
    names = {file.relative_to(SOURCE).as_posix() for file in rooms} - set(FRONTS)
    wings = {file.relative_to(SOURCE).as_posix() for file in SOURCE.glob("accounting/*/*.py")}
    modules = {file.relative_to(SOURCE).as_posix() for file in SOURCE.glob("autodiff/*.py")}
    return sorted({*names, *wings, *modules, *SINGLE})


def lines(name: str) -> int:
    return len((SOURCE / name).read_text("utf-8").splitlines())


def code_lines(name: str, source: Path = SOURCE) -> int:
    """Lines that hold code: no blank line, comment or docstring."""
    text = (source / name).read_text("utf-8")
    held = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _SILENT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", [])
        for first in body if isinstance(body, list) else []:
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                held -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(held)


def table(names: list[str]) -> str:
    folders: dict[str, list[str]] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        folders.setdefault(folder or ".", []).append(f"{file.removesuffix('.py')} {lines(name)}")
    rows = [
        f"| `{folder}` | {', '.join(files)} | {sum(int(file.split()[1]) for file in files):,} |"
        for folder, files in folders.items()
    ]
    return "\n".join(["| room | files and lines | together |", "| --- | --- | ---: |", *rows])


def gradient_lines() -> int:
    """Lines of the functions and classes in `GRADIENT`."""
    count = 0
    for file, names in GRADIENT.items():
        tree, places = ast.parse((SOURCE / file).read_text("utf-8")), dict[str, Any]()
        for outer in tree.body:
            name = getattr(outer, "name", "")
            places[name] = outer
            places |= {f"{name}.{getattr(one, 'name', '')}": one for one in getattr(outer, "body", [])}
        count += sum(places[name].end_lineno - places[name].lineno + 1 for name in names.split())
    return count


def text() -> str:
    names = base_files()
    return (
        f"{len(names)} files, {sum(map(lines, names)):,} lines, wings and doors included:\n\n{table(names)}\n"
    )


def counted() -> str:
    """What each fit and all of them enter, inside the base and outside, where a defect costs accuracy."""
    base, fits = set(base_files()), called()
    rows = []
    for name, files in {**fits, "all three": set().union(*fits.values())}.items():
        inside, others = sorted(files & base), sorted(files - base)
        rows.append(
            f"{name}: {len(inside)} files of the base, {sum(map(lines, inside)):,} lines, "
            f"{sum(map(code_lines, inside)):,} of them code; "
            f"{len(others)} files outside, {sum(map(lines, others)):,} lines"
        )
    return "\n".join([*rows, "", "arrays, in the base:", table(sorted(fits["arrays"] & base))])


if __name__ == "__main__":
    if "--profile" in sys.argv:
        print(counted(), f"one gradient: {gradient_lines()} lines", sep="\n\n")
    else:
        head = PAGE.read_text("utf-8").partition(START)[0]
        PAGE.write_text(head + START + text(), "utf-8")
