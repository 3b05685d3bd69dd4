"""Every code of a reason has its sentence, and nothing is decided by one."""

from __future__ import annotations

import ast
import string
from typing import get_args

import pytest

from recollect.model.reasons import SENTENCES, Omission, Reason, named, sentence
from recollect.model.values import Absence
from tests.tidy.test_tree import SOURCES


@pytest.mark.parametrize("code", [*get_args(Reason), *get_args(Omission)])
def test_every_code_has_a_sentence(code: str) -> None:
    assert sentence(code, by="r1")


def test_every_sentence_is_used_under_its_name() -> None:
    names = {
        node.value
        for where, source in SOURCES.items()
        if not where.endswith("model/reasons.py")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    computed = {
        "hidden.superseded",
        "hidden.superseded.by",
        "hidden.shadowed",
        "hidden.shadowed.by",
    }
    assert set(SENTENCES) - names - computed == set()


def test_no_module_compares_anything_with_a_sentence() -> None:
    said = {text for name, text in SENTENCES.items() if text != name}
    assert compared_with(said, SOURCES) == []
    assert compared_with(said, {"m.py": 'if left.reason == "over the token budget":\n    pass'})
    assert compared_with(said, {"m.py": 'x = "over the token budget" in y'})


def compared_with(said: set[str], sources: dict[str, str]) -> list[str]:
    return [
        f"{where}:{node.lineno}"
        for where, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
        for part in (node.left, *node.comparators)
        if isinstance(part, ast.Constant) and part.value in said
    ]


def test_a_value_may_hold_braces() -> None:
    assert sentence("hidden.note", word="forgotten", note="{by}") == "it is hidden: forgotten: {by}"
    assert named(["a", "b"]) == "a, b"


def test_the_codes_are_words_that_programs_can_hold() -> None:
    letters = set(string.ascii_lowercase + "_")
    absences = {word for part in get_args(Absence) for word in get_args(part) or (part,)}
    for code in {*get_args(Reason), *get_args(Omission), *absences}:
        assert set(code) <= letters
