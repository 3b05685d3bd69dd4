"""What only one place of the package may do, as functions: text in, complaints out.

Knows nothing of the tree but its paths; test_boundaries.py feeds it the real files, and something
bad for each rule. Invariant: an empty list means the rule is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath


def is_in(where: str, places: Collection[str]) -> bool:
    """True if a module is one of these places, or lies in one of them."""
    path = PurePosixPath(where)
    return any(path.is_relative_to(f"src/recollect/{place}") for place in places)


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Every string of a module that is not a docstring."""
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node


def folder_questions(source: str, where: str) -> list[str]:
    """Places that look for "://" in a text to learn whether it is a folder."""
    if "://" not in source:
        return []
    return [
        f'{where}:{node.lineno}: ask Settings.folder, not "://"'
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
        and any(isinstance(sign, ast.In | ast.NotIn) for sign in node.ops)
        and isinstance(node.left, ast.Constant)
        and node.left.value == "://"
    ]


def file_names(source: str, where: str, names: Collection[str]) -> list[str]:
    """Names of files and folders of a workspace that are spelled out.

    A name with a dot is found wherever it stands; one without, such as "log", where a path is made.
    """
    tree = ast.parse(source)
    joined = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        for part in (node.left, node.right)
    }
    dotted = tuple(name for name in names if "." in name[1:])
    return [
        f"{where}:{node.lineno}: {node.value!r} is a name of store.layout"
        for node in strings(tree)
        if str(node.value).startswith(dotted) or (node.value in names and id(node) in joined)
    ]


def text_caches(source: str, where: str) -> list[str]:
    """Caches with a bound, which are those for text, that an erasure does not empty."""
    return [
        f"{where}:{node.lineno}: use recollect.index.caches"
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.alias) and node.name == "lru_cache")
        or (isinstance(node, ast.Attribute) and node.attr == "lru_cache")
    ]
