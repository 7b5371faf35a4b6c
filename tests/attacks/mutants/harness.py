"""A defect, and the source with it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.attacks.mutants.patterns import changed, functions

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "sottovoce"


@dataclass(frozen=True, init=False)
class Mutant:
    """A defect: at `place`, `old` (found exactly once, see `patterns`) becomes `new`; `tests` must fail.

    A place is a module and the qualified name of a function or class in it, `privacy.noise:calibrate`, or the
    module alone. What has moved to another module is found there by its name."""

    name: str
    place: str
    old: str
    new: str
    tests: str

    def __init__(
        self, name: str, place: str = "", old: str = "", new: str = "", tests: str = "", **quoted: str
    ) -> None:
        """With `file`, `before` and `after` for the three in the middle, as before 17 November."""
        fields = (name, quoted.get("file", place), quoted.get("before", old), quoted.get("after", new), tests)
        for field, value in zip(("name", "place", "old", "new", "tests"), fields, strict=True):
            object.__setattr__(self, field, value)

    @property
    def file(self) -> str:
        """The file that holds the place, below the package."""
        if self.place.endswith(".py"):
            return self.place
        module, _, qualified = self.place.partition(":")
        return _file_of(module, qualified)

    def planted(self) -> str:
        """The file's code with the defect."""
        if self.place.endswith(".py"):
            return self._quoted()
        try:
            return changed(_tree(self.file), self.place.partition(":")[2], self.old, self.new)
        except (LookupError, SyntaxError) as reason:
            raise LookupError(f"mutant {self.name!r} no longer applies at {self.place}: {reason}") from None

    def _quoted(self) -> str:
        """The form of before 17 November: a file, and text that occurs once in it."""
        text = (SOURCE / self.place).read_text(encoding="utf-8")
        if (found := text.count(self.old)) != 1:
            raise LookupError(
                f"mutant {self.name!r} no longer applies: its line occurs {found} times in {self.place}"
            )
        return text.replace(self.old, self.new)


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
