"""Every sentence of a reason is used under its name, and nothing is decided by one."""

from __future__ import annotations

import ast

from recollect.model.reasons import SENTENCES
from tests.tidy.parsing import nodes
from tests.tidy.test_tree import SOURCES

# Their names are put together from parts.
COMPUTED = {"out.replaced", "out.replaced.by", "out.hidden", "out.hidden.by"}


def test_every_sentence_is_used_under_its_name() -> None:
    names = {
        node.value
        for where, source in SOURCES.items()
        if not where.endswith("model/reasons.py")
        for node in nodes(source, ast.Constant)
        if isinstance(node.value, str)
    }
    assert set(SENTENCES) - names - COMPUTED == set()


def test_no_module_compares_anything_with_a_sentence() -> None:
    said = {text for name, text in SENTENCES.items() if text != name}
    assert compared_with(said, SOURCES) == []
    assert compared_with(said, {"m.py": 'if left.reason == "over the token budget":\n    pass'})
    assert compared_with(said, {"m.py": 'x = "over the token budget" in y'})


def compared_with(said: set[str], sources: dict[str, str]) -> list[str]:
    return [
        f"{where}:{node.lineno}"
        for where, source in sources.items()
        for node in nodes(source, ast.Compare)
        for part in (node.left, *node.comparators)
        if isinstance(part, ast.Constant) and part.value in said
    ]
