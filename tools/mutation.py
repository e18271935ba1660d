"""Mutants of a Python module: small changes of one statement of its syntax tree.

The kinds are ``sign`` (plus becomes minus, or a minus sign is dropped), ``term`` (a term, a factor,
a condition or an update is dropped), ``off_by_one`` (a constant, an index or the end of a range
changes by one, or ``<`` becomes ``<=``) and ``argument`` (two neighbouring arguments are swapped).
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

FLIPPED: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
BOUNDARY: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
# functions whose arguments have no order, or whose swapped arguments every test detects
SYMMETRIC = re.compile(
    "(isinstance|issubclass|getattr|hasattr|setattr|min|max|dot|vdot|inner|maximum|minimum|"
    "log_add|logaddexp|array_equal|allclose|isclose|print)$"
)
Change = Callable[[Any], Any]


class Unit(NamedTuple):
    """A statement of a function, or the expression in the header of a compound statement.

    Attributes
    ----------
    function : str
        Names of the classes and functions that contain it, joined by dots.
    lines : range
    node : ast.AST
    before : str
        The unit as `ast.unparse` writes it.
    ordinal : int
        The index among units of the function that are written alike.
    """

    function: str
    lines: range
    node: Any
    before: str
    ordinal: int


def units(tree: ast.Module) -> Iterator[Unit]:
    """List the units of all functions of a module."""
    seen: Counter[tuple[str, str]] = Counter()
    for function, statement in _statements(tree, (), False):
        node = _unit(statement)
        if node is not None:
            before = ast.unparse(node)
            lines = range(statement.lineno, node.end_lineno + 1)
            yield Unit(function, lines, node, before, seen[function, before])
            seen[function, before] += 1


def _statements(node: Any, path: tuple[str, ...], inside: bool) -> Iterator[tuple[str, ast.stmt]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_function = not isinstance(child, ast.ClassDef)
            yield from _statements(child, (*path, child.name), is_function)
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            if inside and isinstance(child, ast.stmt):
                yield ".".join(path), child
            yield from _statements(child, path, inside)


def _unit(statement: ast.stmt) -> Any:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return None
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Return() | ast.Expr():
            return statement
        case ast.If() | ast.While():
            return statement.test
        case ast.For():
            return statement.iter
    return None


def mutations(unit: ast.AST) -> dict[str, list[str]]:
    """List the mutants of a unit by kind, as source text."""
    texts, seen = defaultdict[str, list[str]](list), {ast.unparse(unit)}
    for index, node in enumerate(_nodes(unit)):
        for kind, change in _changes(node):
            mutant = copy.deepcopy(unit)
            target = list(_nodes(mutant))[index]
            text = ast.unparse(_Replaced(target, change(target)).visit(mutant))
            if text not in seen:
                texts[kind].append(text)
                seen.add(text)
    return {kind: texts[kind] for kind in sorted(texts)}


def mutated(source: str, mutant: dict[str, Any]) -> ast.Module | None:
    """Parse a module with one mutant in it; None if the code no longer has its statement."""
    tree = ast.parse(source)
    unit = located(tree, mutant)
    if unit is None:
        return None
    new: Any = ast.parse(mutant["after"]).body[0]
    if isinstance(unit.node, ast.expr):
        new = new.value
    for node in ast.walk(new):
        ast.copy_location(node, unit.node)
    return ast.fix_missing_locations(_Replaced(unit.node, new).visit(tree))


def located(tree: ast.Module, mutant: dict[str, Any]) -> Unit | None:
    """Find the statement of a mutant; None if the code no longer has it."""
    # versions of Python may write the same statement differently
    before = ast.unparse(ast.parse(mutant["before"]))
    key = mutant["function"], before, mutant["ordinal"]
    return next((u for u in units(tree) if (u.function, u.before, u.ordinal) == key), None)


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk over a unit, except over formatted strings and annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            skipped = name == "annotation" or isinstance(child, ast.JoinedStr)
            if isinstance(child, ast.AST) and not skipped:
                yield from _nodes(child)


def _changes(node: Any) -> Iterator[tuple[str, Change]]:
    """List the changes of one node: the kind, and a function that changes a copy of the node and
    returns its replacement.
    """
    match node:
        case ast.BinOp() if not _joins(node):
            yield from _operation_changes(node.op)
        case ast.AugAssign(op=op):
            yield "term", _dropped
            if type(op) in FLIPPED:
                yield "sign", lambda n: _set(n, "op", FLIPPED[type(op)]())
        case ast.UnaryOp(op=ast.USub()):
            yield "sign", lambda n: n.operand
        case ast.BoolOp(values=values):
            for k in reversed(range(len(values))):
                yield "term", lambda n, k=k: _without(n, k)
        case ast.Call(args=args) if args:
            yield from _call_changes(node)
        case _:
            yield from _index_changes(node)


def _operation_changes(op: ast.operator) -> Iterator[tuple[str, Change]]:
    if type(op) in FLIPPED:
        yield "sign", lambda n: _set(n, "op", FLIPPED[type(op)]())
    if isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.BitAnd | ast.BitOr | ast.BitXor):
        yield "term", lambda n: n.left
    if isinstance(op, ast.Add | ast.Mult):
        yield "term", lambda n: n.right


def _index_changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in BOUNDARY:
            yield "off_by_one", lambda n: _set(n, "ops", [BOUNDARY[type(op)]()])
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield "off_by_one", lambda n: ast.Constant(n.value + 1)
        case ast.Subscript(slice=ast.Name() as index):
            yield "off_by_one", lambda n: _set(n, "slice", _plus(index, 1))


def _call_changes(node: ast.Call) -> Iterator[tuple[str, Change]]:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name == "range":
        yield "off_by_one", lambda n: _set(n, "args", _shorter(n.args))
    elif not SYMMETRIC.match(name) and not any(isinstance(a, ast.Starred) for a in node.args):
        for k in range(len(node.args) - 1):
            yield "argument", lambda n, k=k: _set(n, "args", _swapped(n.args, k))


def _joins(node: ast.BinOp) -> bool:
    """Whether an operation joins texts or lists."""
    return any(
        isinstance(side, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _set(node: ast.AST, field: str, value: Any) -> ast.AST:
    setattr(node, field, value)
    return node


def _dropped(_: ast.AugAssign) -> ast.AST:
    return ast.Pass()


def _without(node: ast.BoolOp, k: int) -> ast.AST:
    rest = node.values[:k] + node.values[k + 1 :]
    return _set(node, "values", rest) if len(rest) > 1 else rest[0]


def _plus(node: ast.expr, number: int) -> ast.expr:
    return ast.BinOp(node, ast.Add() if number > 0 else ast.Sub(), ast.Constant(abs(number)))


def _shorter(values: list[ast.expr]) -> list[ast.expr]:
    """Arguments of a range that ends one before the end."""
    end = min(len(values), 2) - 1
    return [*values[:end], _plus(values[end], -1), *values[end + 1 :]]


def _swapped(values: list[ast.expr], k: int) -> list[ast.expr]:
    return [*values[:k], values[k + 1], values[k], *values[k + 2 :]]
