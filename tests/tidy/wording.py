"""Plain English in what people read: messages, hints, logs, help and public docstrings.

Responsible for collecting these strings from a module and for the words that must not occur in
them. Leaves the list of files to ``test_wording.py``. Invariant: an empty list means that the
rule is kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tidy.parsing import Documented, documented, nodes, parsed, statements

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


def complaints(source: str, where: str, *, docstrings: bool) -> list[str]:
    """Banned words in a module's strings and, on request, in the docstrings of public names."""
    said = public_docstrings(parsed(source)) if docstrings else ()
    texts = sorted([*strings(source), *said])
    return [
        f"{where}:{line}: {found[0]!r}; write: {instead}"
        for line, text in texts
        for pattern, instead in _BANNED
        for found in pattern.finditer(text)
    ]


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Every string but docstrings; an f-string as one text, with braces for its values."""
    skipped = {id(docstring) for node in documented(source) for docstring in _docstring(node)}
    for joined in nodes(source, ast.JoinedStr):
        skipped |= {id(value) for value in joined.values}
        yield joined.lineno, "".join(map(_piece, joined.values))
    for node in nodes(source, ast.Constant):
        # A word alone is a value, not prose.
        if isinstance(node.value, str) and " " in node.value and id(node) not in skipped:
            yield node.lineno, node.value


def _piece(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return "{}"


def public_docstrings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The docstrings of functions and classes that have no underscore in front."""
    for child in statements(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if child.name.startswith("_"):
                continue
            if text := ast.get_docstring(child):
                yield child.lineno, text
        yield from public_docstrings(child)


def _docstring(node: Documented) -> Iterator[ast.expr]:
    """The node of a docstring, if there is one."""
    if ast.get_docstring(node, clean=False) is not None:
        first = node.body[0]
        if isinstance(first, ast.Expr):
            yield first.value
