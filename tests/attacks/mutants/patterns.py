"""Changes to a syntax tree: code that stands in a function becomes other code.

Both sides are parsed, so that layout, comments and quotes do not matter. Two expressions match an expression
anywhere in the place named; statements match a run of statements, and no code at all drops them. What a pattern
leaves open is kept, in order:

- `_` is any expression, as in `2.0 * _`;
- `**_` in a call is all keywords that are not named, as in `replace(bounds, n=size, **_)`;
- `...` as a body is any body, as in `if a < b: ...`."""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Iterator
from typing import Any

Run = list[ast.stmt]
BLOCKS = ("body", "orelse", "finalbody")
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IGNORED = frozenset({"ctx", "kind", "type_comment"})
"""Whether a name is read or written follows from where it stands."""


def changed(tree: ast.Module, qualified: str, old: str, new: str) -> str:
    """The module's code where `old`, found exactly once in the function or class of that name, is `new`.

    The empty name stands for the whole module."""
    tree = copy.deepcopy(tree)
    before, after = parsed(old, new)
    if isinstance(before, ast.expr):
        _change_expression(tree, qualified, before, after)
    else:
        _change_run(tree, qualified, before, after)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def occurrences(tree: ast.Module, qualified: str, old: str, new: str) -> int:
    """How often `old` is found in the function or class of that name."""
    before, _ = parsed(old, new)
    found = expressions if isinstance(before, ast.expr) else runs
    return len(found(tree, qualified, before))


def parsed(old: str, new: str) -> tuple[Any, Any]:
    """Two expressions if both are, else two runs of statements."""
    old, new = (textwrap.dedent(code).strip("\n") for code in (old, new))
    try:
        return ast.parse(old, mode="eval").body, ast.parse(new, mode="eval").body
    except SyntaxError:
        before, after = ast.parse(old).body, ast.parse(new).body
    if not before:
        raise LookupError("a change names what stands there")
    return before, after


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every function and class with its qualified name; one inside a function is `outer.inner`."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, SCOPES):
            yield prefix + child.name, child
            yield from functions(child, f"{prefix}{child.name}.")
        else:
            yield from functions(child, prefix)


def scopes(tree: ast.Module, qualified: str) -> list[ast.AST]:
    """Those of this name: several for a property with its setter, or a stand-in for want of a library."""
    found = [node for name, node in functions(tree) if name == qualified] if qualified else [tree]
    if not found:
        raise LookupError(f"there is no {qualified}")
    return found


def _change_expression(tree: ast.Module, qualified: str, before: ast.expr, after: ast.expr) -> None:
    found = expressions(tree, qualified, before)
    if len(found) != 1:
        raise LookupError(f"what it changes occurs {len(found)} times in {qualified or 'the module'}")
    parent, field, place, kept = found[0]
    written = _filled(after, iter(kept))
    if place is None:
        setattr(parent, field, written)
    else:
        getattr(parent, field)[place] = written


def _change_run(tree: ast.Module, qualified: str, before: Run, after: Run) -> None:
    found = runs(tree, qualified, before)
    if len(found) != 1:
        raise LookupError(f"what it changes occurs {len(found)} times in {qualified or 'the module'}")
    block, place, kept = found[0]
    waiting = iter(kept)
    block[place : place + len(before)] = [_filled(line, waiting) for line in after]
    if not block:
        block.append(ast.Pass())


def expressions(
    tree: ast.Module, qualified: str, pattern: ast.expr
) -> list[tuple[ast.AST, str, int | None, list[Any]]]:
    """Where the expression stands: its parent, the field, the place in a list; and what was left open."""
    found: list[tuple[ast.AST, str, int | None, list[Any]]] = []
    for scope in scopes(tree, qualified):
        for parent in ast.walk(scope):
            for field, value in ast.iter_fields(parent):
                places = enumerate(value) if isinstance(value, list) else [(None, value)]
                for place, child in places:
                    kept: list[Any] = []
                    if isinstance(child, ast.expr) and _same(pattern, child, kept):
                        found.append((parent, field, place, kept))
    return found


def runs(tree: ast.Module, qualified: str, pattern: Run) -> list[tuple[Run, int, list[Any]]]:
    """Where statements stand one after the other: the block, the place of the first, what was left open.

    The function or class named counts as a statement too: its own head can be changed."""
    found: list[tuple[Run, int, list[Any]]] = []
    for scope in scopes(tree, qualified):
        inside = {id(node) for node in ast.walk(scope)}
        for parent in ast.walk(tree):
            for field in BLOCKS:
                block = getattr(parent, field, None)
                if not isinstance(block, list):
                    continue
                for place in range(len(block) - len(pattern) + 1):
                    window, kept = block[place : place + len(pattern)], list[Any]()
                    within = id(parent) in inside or window == [scope]
                    if within and _same(pattern, window, kept):
                        found.append((block, place, kept))
    return found


def _same(pattern: Any, found: Any, kept: list[Any]) -> bool:
    """Whether the pattern matches; what it leaves open is added to `kept`."""
    if isinstance(pattern, list):
        return (
            isinstance(found, list)
            and len(pattern) == len(found)
            and all(_same(*both, kept) for both in zip(pattern, found, strict=True))
        )
    if _anything(pattern) and isinstance(found, ast.expr):
        kept.append(found)
        return True
    if not isinstance(pattern, ast.AST):
        return type(pattern) is type(found) and pattern == found
    if type(pattern) is not type(found):
        return False
    for field, wanted in ast.iter_fields(pattern):
        there = getattr(found, field, None)
        if field in IGNORED:
            continue
        if field in BLOCKS and _any_body(wanted):
            kept.append(there)
        elif field == "keywords" and any(_others(keyword) for keyword in wanted):
            if not _same_keywords(wanted, there, kept):
                return False
        elif not _same(wanted, there, kept):
            return False
    return True


def _same_keywords(pattern: list[ast.keyword], found: Any, kept: list[Any]) -> bool:
    left = list(found)
    for wanted in pattern:
        if _others(wanted):
            continue
        named = [keyword for keyword in left if keyword.arg == wanted.arg]
        if not named or not _same(wanted.value, named[0].value, kept):
            return False
        left.remove(named[0])
    kept.append(left)
    return True


def _filled(node: Any, kept: Iterator[Any]) -> Any:
    """The pattern with what was left open, in the order in which it was met."""
    if _anything(node):
        return next(kept)
    for field, value in ast.iter_fields(node):
        if field in BLOCKS and _any_body(value):
            setattr(node, field, next(kept))
        elif isinstance(value, ast.AST):
            setattr(node, field, _filled(value, kept))
        elif isinstance(value, list):
            parts = [_filled(part, kept) for part in value if not _others(part)]
            others = next(kept) if any(map(_others, value)) else []
            setattr(node, field, parts + others)
    return node


def _anything(node: Any) -> bool:
    return isinstance(node, ast.Name) and node.id == "_" and isinstance(node.ctx, ast.Load)


def _others(node: Any) -> bool:
    return isinstance(node, ast.keyword) and node.arg is None and _anything(node.value)


def _any_body(block: Any) -> bool:
    match block:
        case [ast.Expr(value=ast.Constant(value=value))]:
            return value is ...
    return False
