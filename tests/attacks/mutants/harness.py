"""A defect, and the source with it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.attacks.mutants.patterns import changed, functions, occurrences

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "sottovoce"


@dataclass(frozen=True)
class Mutant:
    """A defect: at `place`, `old` (found exactly once, see `patterns`) becomes `new`; `tests` must fail.

    A place is a module and the qualified name of a function or class in it, `privacy.noise:calibrate`, or the
    module alone. What has moved to another module is found there by its name."""

    name: str
    place: str
    old: str
    new: str
    tests: str

    @property
    def file(self) -> str:
        """The file that holds the place, below the package."""
        module, _, qualified = self.place.partition(":")
        return _file_of(module, qualified)

    def planted(self) -> str:
        """The file's code with the defect."""
        try:
            return changed(_tree(self.file), self.place.partition(":")[2], self.old, self.new)
        except (LookupError, SyntaxError) as reason:
            raise LookupError(f"mutant {self.name!r} no longer applies at {self.place}: {reason}") from None

    def occurrences(self) -> int:
        """How often what it changes is found: once, or it cannot be planted."""
        return occurrences(_tree(self.file), self.place.partition(":")[2], self.old, self.new)


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse((SOURCE / file).read_text(encoding="utf-8"))


@cache
def _names(file: str) -> frozenset[str]:
    return frozenset(name for name, _ in functions(_tree(file)))


@cache
def _file_of(module: str, qualified: str) -> str:
    stem = module.replace(".", "/")
    for file in (f"{stem}.py", f"{stem}/__init__.py"):
        if (SOURCE / file).exists() and (not qualified or qualified in _names(file)):
            return file
    everywhere = [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))]
    moved = [file for file in everywhere if qualified and qualified in _names(file)]
    if len(moved) != 1:
        raise LookupError(
            f"{qualified or 'the module'} is not in {module}, and in {len(moved)} other modules"
        )
    return moved[0]
