"""A module's syntax tree, walked once for all rules.

Parsing and walking every file takes seconds, so both are done once in a process. Invariant: no
rule changes a tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import TypeVar, cast

Kind = TypeVar("Kind", bound=ast.AST)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def _by_kind(source: str) -> dict[type[ast.AST], list[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    waiting: list[object] = [parsed(source)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.AST):
            found.setdefault(type(one), []).append(one)
            waiting.extend(vars(one).values())
        elif isinstance(one, list):
            waiting.extend(one)
    return found


def nodes(source: str, kind: type[Kind]) -> Iterator[Kind]:
    """The nodes of this very kind, in no order."""
    yield from cast(list[Kind], _by_kind(source).get(kind, []))


def documented(source: str) -> Iterator[Documented]:
    """What may have a docstring."""
    yield from nodes(source, ast.Module)
    yield from nodes(source, ast.ClassDef)
    yield from nodes(source, ast.FunctionDef)
    yield from nodes(source, ast.AsyncFunctionDef)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements directly inside a node. No other part of one can hold a definition."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt | ast.excepthandler | ast.match_case):
            yield part


def forget() -> None:
    """Lets go of all trees: a million nodes make every later collection of garbage slow."""
    parsed.cache_clear()
    _by_kind.cache_clear()
