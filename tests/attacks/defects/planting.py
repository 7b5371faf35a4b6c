"""Defects at random: one node of a file's syntax tree changed as a slip of the hand would change it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from tests.attacks.mutants.patterns import SCOPES

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt, ast.GtE),
    ast.Gt: (ast.GtE, ast.LtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
EXCHANGED: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
}
OPPOSITE = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
}


@dataclass(frozen=True)
class Site:
    """A node that can be changed: where it is, in which function, and what would happen to it."""

    file: str
    function: str
    index: int
    kind: str


@dataclass(frozen=True)
class Defect:
    site: Site
    code: str
    said: str
    number: int = 0


def sites(file: str, text: str) -> list[Site]:
    """Every place of the file, by its number in a walk over the tree."""
    tree = ast.parse(text)
    return [
        Site(file, function, index, kind)
        for index, (node, function, fixed) in enumerate(_walk(tree))
        if not fixed
        for kind in _kinds(node)
    ]


def planted(site: Site, text: str, draw: Random) -> Defect:
    """The file with the defect, and what was changed: line, before, after."""
    tree = ast.parse(text)
    node = next(node for index, (node, _, _) in enumerate(_walk(tree)) if index == site.index)
    before = ast.unparse(node)
    changed = CHANGES[site.kind](copy.deepcopy(node), draw)
    _Swap(node, changed).visit(tree)
    after = ast.unparse(changed) if changed is not None else "pass"
    line = f"line {getattr(node, 'lineno', 0)}, {site.kind}: {_short(before)} -> {_short(after)}"
    return Defect(site, ast.unparse(ast.fix_missing_locations(tree)) + "\n", line)


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) < 90 else line[:87] + "..."


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST | None) -> None:
        self._old = old
        self._new = new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._old:
            return ast.Pass() if self._new is None else self._new
        return self.generic_visit(node)


def _walk(node: ast.AST, function: str = "", fixed: bool = False) -> Iterator[tuple[ast.AST, str, bool]]:
    """Nodes in order with the function around them, and whether they are words: types, texts, imports."""
    fixed = fixed or _only_for_types(node)
    yield node, function, fixed
    words = fixed or isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr)
    inner = f"{function}.{node.name}".lstrip(".") if isinstance(node, SCOPES) else function
    for field, value in ast.iter_fields(node):
        apart = words or field in ("annotation", "returns", "decorator_list", "bases")
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, inner if field == "body" else function, apart)


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _kinds(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=bool()):
            yield "flag turned"
        case ast.Constant(value=int() | float()):
            yield "constant changed"
        case ast.Compare():
            yield "comparison changed"
        case ast.BinOp(op=op) if type(op) in EXCHANGED:
            yield "operator exchanged"
        case ast.AugAssign(op=op) if type(op) in EXCHANGED:
            yield "operator exchanged"
            yield "statement dropped"
        case ast.BoolOp():
            yield "and for or"
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield "sign dropped"
        case ast.Call():
            if len(node.args) > 1 and not any(isinstance(part, ast.Starred) for part in node.args):
                yield "arguments swapped"
            if len(node.keywords) > 1 and all(part.arg for part in node.keywords):
                yield "keywords swapped"
            if _called(node) in OPPOSITE:
                yield "opposite function"
        case ast.Return(value=ast.expr()):
            yield "returned value scaled"
        case ast.IfExp() | ast.If():
            yield "condition turned"
        case ast.Assign() | ast.Raise() | ast.Expr(value=ast.Call()):
            yield "statement dropped"
        case _:
            return


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _constant(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int | float)
    value = node.value
    choices = [2 * value, -value, 10 * value, 0 * value, value + 1]
    choices += [value - 1] if isinstance(value, int) else [value / 2, value * 1e9, value / 1e9]
    node.value = draw.choice([choice for choice in choices if choice != value])
    return ast.parse(repr(node.value), mode="eval").body


def _flag(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.Constant)
    return ast.Constant(not node.value)


def _compared(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.Compare)
    place = draw.randrange(len(node.ops))
    node.ops[place] = draw.choice(COMPARED[type(node.ops[place])])()
    return node


def _operated(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.BinOp | ast.AugAssign)
    node.op = draw.choice(EXCHANGED[type(node.op)])()
    return node


def _joined(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return node


def _unsigned(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.UnaryOp)
    return node.operand


def _arguments(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.Call)
    one, two = draw.sample(range(len(node.args)), 2)
    node.args[one], node.args[two] = node.args[two], node.args[one]
    return node


def _keywords(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.Call)
    one, two = draw.sample(node.keywords, 2)
    one.arg, two.arg = two.arg, one.arg
    return node


def _opposite(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Name):
        node.func.id = OPPOSITE[node.func.id]
    elif isinstance(node.func, ast.Attribute):
        node.func.attr = OPPOSITE[node.func.attr]
    return node


def _returned(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.Return)
    assert node.value is not None
    factor = ast.parse(draw.choice(["2", "-1", "0.5", "1e3", "0"]), mode="eval").body
    node.value = ast.BinOp(factor, ast.Mult(), node.value)
    return node


def _turned(node: ast.AST, draw: Random) -> ast.AST:
    assert isinstance(node, ast.IfExp | ast.If)
    node.test = draw.choice([ast.UnaryOp(ast.Not(), node.test), ast.Constant(True), ast.Constant(False)])
    return node


def _dropped(node: ast.AST, draw: Random) -> None:
    return None


CHANGES: dict[str, Callable[[ast.AST, Random], ast.AST | None]] = {
    "flag turned": _flag,
    "constant changed": _constant,
    "comparison changed": _compared,
    "operator exchanged": _operated,
    "and for or": _joined,
    "sign dropped": _unsigned,
    "arguments swapped": _arguments,
    "keywords swapped": _keywords,
    "opposite function": _opposite,
    "returned value scaled": _returned,
    "condition turned": _turned,
    "statement dropped": _dropped,
}
