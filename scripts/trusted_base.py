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

EXAMPLES = ("clipping", "examples", "fused", "risk", "sums", "terms")
"""Of PyTorch modules: the door, each example by itself at its place, clipping and sums."""

FIGURES = (
    *(f"evaluation/{name}.py" for name in ("private_evaluation", "rows")),
    *(f"estimators/{name}.py" for name in ("held_out", "merits")),
)
"""What is proposed for each row of a test set, from that row alone; `privacy/counting` cuts it."""

SINGLE = (
    "arrays.py",
    "errors.py",
    "estimators/unit_ball.py",
    "queries/preconditioner.py",
    "queries/low_rank_shrinkage.py",
)
"""Coordinates, which are measured; what every file uses; an estimator's rows, shrunk as a whole array."""

GRADIENT = """
import sys
import numpy as np
import sottovoce as sv
from sottovoce.privacy.noise import noise_for
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries import Gradient
X = np.random.default_rng(0).normal(size=(400, 3))
records = sv.Records.from_arrays(X, np.where(X[:, 0] > 0, 1, -1), radius=2.0, labels=(-1, 1))
risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-3))
budget = sv.Budget(1.0, 1e-6)
oracle = Oracle(risk, sv.Ledger(budget).run(budget), noise_for(None))
called = set()
def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and "/sottovoce/" in code.co_filename:
        called.add((code.co_filename.rpartition("/sottovoce/")[2], code.co_firstlineno))
sys.setprofile(note)
oracle.ask(Gradient(np.zeros(3)), 10**6)
sys.setprofile(None)
print(*(f"{file}:{line}" for file, line in sorted(called)))
"""
"""One gradient of an oracle that has not been asked before: charged, computed, noised and released."""

APART = {
    "ledger": ("accounting/",),
    "noise": ("privacy/noise.py",),
    "products of rows": ("kernels/compiled/products.py", "kernels/compiled/simd.py"),
    "threads and blocks": ("data/", "trusted/compiling.py"),
    "laws": ("trusted/laws.py", "trusted/law_loops.py", "trusted/jit.py", "trusted/vocabulary.py"),
}
"""What serves every query, beside the path of a gradient from a row to what is released."""

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
    modules = {f"autodiff/{name}.py" for name in EXAMPLES}
    return sorted({*names, *wings, *modules, *FIGURES, *SINGLE})


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


@cache
def gradient_places() -> list[tuple[str, int]]:
    """File and line of every function that one gradient enters."""
    environment = {**os.environ, "SOTTOVOCE_KERNELS": "compiled", "SOTTOVOCE_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", GRADIENT], capture_output=True, text=True, check=True, env=environment
    )
    places = (place.partition(":") for place in found.stdout.split())
    return [(file, int(line)) for file, _, line in places]


def gradient_path() -> dict[str, list[tuple[str, str, int]]]:
    """Functions of the base that one gradient enters, by the profiler, and those that are compiled into the
    ones it enters: file, name and lines, under "path" or the room of `APART` that they serve."""
    base, entered = set(base_files()), set[tuple[str, str]]()
    for file, line in gradient_places():
        if file in base:
            entered |= {(file, name) for name, node in functions(file).items() if _covers(node, line)}
    rooms: dict[str, list[tuple[str, str, int]]] = {"path": []}
    for file, name in sorted(_with_compiled(entered)):
        room = next((room for room, starts in APART.items() if file.startswith(starts)), "path")
        node = functions(file)[name]
        rooms.setdefault(room, []).append((file, name, node.end_lineno - _first(node) + 1))
    return rooms


@cache
def functions(file: str) -> dict[str, Any]:
    """Functions and methods of a file by name; what is inside another belongs to it."""
    found: dict[str, Any] = {}
    for outer in ast.parse((SOURCE / file).read_text("utf-8")).body:
        if isinstance(outer, ast.FunctionDef):
            found[outer.name] = outer
        elif isinstance(outer, ast.ClassDef):
            methods = [one for one in outer.body if isinstance(one, ast.FunctionDef)]
            found |= {f"{outer.name}.{one.name}": one for one in methods}
    return found


def _first(node: Any) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _covers(node: Any, line: int) -> bool:
    return bool(_first(node) <= line <= node.end_lineno)


def _with_compiled(entered: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """With every function that a compiled one names: a profiler does not see machine code call."""
    rooms = ["trusted/law_loops.py", *(one for one in base_files() if one.startswith("kernels/compiled/"))]
    whole, fresh = set(entered), {place for place in entered if place[0] in rooms}
    while fresh:
        file, name = fresh.pop()
        named = {
            one.id if isinstance(one, ast.Name) else one.attr
            for one in ast.walk(functions(file)[name])
            if isinstance(one, ast.Name | ast.Attribute)
        }
        for other in rooms:
            if other == file or Path(other).stem in _imported(file):
                found = {(other, one) for one in functions(other) if one in named}
                fresh |= found - whole
                whole |= found
    return whole


@cache
def _imported(file: str) -> set[str]:
    """Last names of the modules that a file imports, or imports from."""
    found: set[str] = set()
    for one in ast.walk(ast.parse((SOURCE / file).read_text("utf-8"))):
        if isinstance(one, ast.ImportFrom) and one.module:
            found |= {one.module.rpartition(".")[2], *(name.name for name in one.names)}
    return found


def gradient_lines() -> dict[str, int]:
    return {room: sum(held for *_, held in places) for room, places in gradient_path().items()}


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
        print(counted())
    if {"--profile", "--gradient"} & set(sys.argv):
        print("\none gradient, lines of the functions entered:", gradient_lines())
        for file, name, held in gradient_path()["path"]:
            print(f"  {file:34} {name:32} {held}")
    else:
        head = PAGE.read_text("utf-8").partition(START)[0]
        PAGE.write_text(head + START + text(), "utf-8")
