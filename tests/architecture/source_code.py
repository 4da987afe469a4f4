"""Counts of the source code that tests hold to a limit: lines, dispatches by class, private names of others."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@cache
def parsed(text: str) -> ast.Module:
    """The tree of a source, which several counts are taken of."""
    return ast.parse(text)


def code_lines(text: str) -> int:
    """Lines of code: blank lines, comments and docstrings are free, so that nobody saves on them."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - set(_docstring_lines(parsed(text))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    """Lines of texts that stand by themselves: docstrings of modules, classes and functions, and of constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def own_classes(texts: list[str]) -> set[str]:
    """Names of the classes that some sources define, and of unions of these."""
    trees = [parsed(text) for text in texts]
    classes = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    unions = {
        target.id
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and _names(node.value) & classes
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return classes | unions


def dispatches(text: str, classes: set[str]) -> list[int]:
    """Lines that decide by asking an object for its class: ``isinstance``, ``issubclass``, ``type(x) is``.

    A ``match`` is not counted, since the type checker proves it complete, nor is an ``assert``.
    """
    tree = parsed(text)
    asserted = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Assert) for part in ast.walk(node)}
    return [node.lineno for node in ast.walk(tree) if id(node) not in asserted and _asks_for_class(node, classes)]


def asserted_classes(text: str, classes: set[str]) -> list[int]:
    """Lines that assert which class an object has, for want of a type that says so."""
    tests = [node.test for node in ast.walk(parsed(text)) if isinstance(node, ast.Assert)]
    return [part.lineno for test in tests for part in ast.walk(test) if _asks_for_class(part, classes)]


def _asks_for_class(node: ast.AST, classes: set[str]) -> TypeGuard[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]):
            return bool(_names(asked) & classes)
        case ast.Compare(left=ast.Call(func=ast.Name(id="type"))):
            return bool(_names(node) & classes)
        case _:
            return False


def own_enumerations(texts: list[str]) -> set[str]:
    """Names of the enumerations that some sources define."""
    nodes = (node for text in texts for node in ast.walk(parsed(text)) if isinstance(node, ast.ClassDef))
    return {node.name for node in nodes if {"Enum", "StrEnum"} & {name for base in node.bases for name in _names(base)}}


def comparisons_with_members(text: str, enumerations: set[str]) -> list[int]:
    """Lines that compare with a member of an enumeration: whatever is not that member gets what is left.

    A ``match`` is not counted, since the type checker proves it complete.
    """
    found = [node for node in ast.walk(parsed(text)) if isinstance(node, ast.Compare)]
    return [node.lineno for node in found if any(_is_member(part, enumerations) for part in ast.walk(node))]


def tells_members_apart(text: str, enumeration: str) -> bool:
    """Whether a source decides by the members of an enumeration: a ``match``, a table by member, or a comparison."""

    def named(node: ast.AST | None) -> bool:
        return node is not None and _is_member(node, {enumeration})

    for node in ast.walk(parsed(text)):
        match node:
            case ast.MatchValue(value=value) if named(value):
                return True
            case ast.Dict(keys=keys) if any(map(named, keys)):
                return True
            case ast.Compare() if any(map(named, ast.walk(node))):
                return True
    return False


def _is_member(node: ast.AST, enumerations: set[str]) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=member):
            return name in enumerations and member.isupper()
        case _:
            return False


def _names(node: ast.AST) -> set[str]:
    """All names in an expression; attributes of a module are not ours, which are imported by name."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def borrowed_private_names(text: str, package: str) -> list[str]:
    """Private names of other modules of a package that a source imports, or reaches for through the module."""
    tree = parsed(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and _is_of(node, package)]
    found = [alias.name for node in imports for alias in node.names if _is_private(alias.name)]
    found += [
        str(node.module) for node in imports if any(_is_private(part) for part in str(node.module or "").split("."))
    ]
    modules = {alias.asname or alias.name for node in imports for alias in node.names}
    modules |= {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] == package
    }
    return found + [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and ast.unparse(node.value) in modules
    ]


def _is_of(node: ast.ImportFrom, package: str) -> bool:
    return node.level > 0 or str(node.module).split(".")[0] == package


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def read(path: Path) -> str:
    """A source file."""
    return path.read_text(encoding="utf-8")
