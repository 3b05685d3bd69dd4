"""Plain English in what people read: messages, hints, logs, help and public docstrings.

Responsible for collecting these strings from a module and for the words that must not occur in
them. Leaves the list of files to ``test_wording.py``. Invariant: an empty list means that the
rule is kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# Words and turns of phrase that a reader has to translate, each with what to write instead.
BANNED = {
    r"\bwhoever\b": "name the person or program",
    r"\b(?:somebody|anybody|nobody)\b": "name the person or program",
    r"\banew\b": "again",
    r"(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|later\b|earlier\b)[\w{]": "is not a",
    r"(?<!there )\b(?:is|are|was|were) (?-i:none)\b": "is not one",
    r"\b(?:knows|know) (?:no|nothing)\b": "unknown ...",
    r"\b(?:does|do|did) not read(?=[:;,.]|$)": "could not be parsed, or could not be read",
    r"\bawaited\b": "async",
    r"\b(?:the|public|python|asynchronous) face\b": "the API",
    r"\bbehind (?:its|\w+'s) back\b": "say what happened",
    r"\bsays? so\b": "name what says what",
}
_BANNED = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in BANNED.items()]
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def complaints(source: str, where: str, *, docstrings: bool) -> list[str]:
    """Banned words in a module's strings and, on request, in the docstrings of public names."""
    tree = ast.parse(source)
    texts = [*_strings(tree), *(_public_docstrings(tree) if docstrings else ())]
    return [
        f"{where}:{line}: {found[0]!r}; write: {instead}"
        for line, text in texts
        for pattern, instead in _BANNED
        for found in pattern.finditer(text)
    ]


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string but docstrings; an f-string as one text, with braces for its values."""
    skipped = {id(docstring) for node in ast.walk(tree) for docstring in _docstring(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
            yield node.lineno, "".join(map(_piece, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_prose = " " in node.value  # a word alone is a value
            if is_prose and id(node) not in skipped:
                yield node.lineno, node.value


def _piece(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return "{}"


def _public_docstrings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The docstrings of functions and classes that have no underscore in front."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if child.name.startswith("_"):
                continue
            if text := ast.get_docstring(child):
                yield child.lineno, text
        yield from _public_docstrings(child)


def _docstring(node: ast.AST) -> Iterator[ast.expr]:
    """The node of a docstring, if there is one."""
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        first = node.body[0]
        if isinstance(first, ast.Expr):
            yield first.value
