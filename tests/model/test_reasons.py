"""Every code of a reason has its sentence; ``tests/tidy`` looks at how the package uses them."""

from __future__ import annotations

import string
from typing import get_args

import pytest

from recollect.model.reasons import Omission, Reason, named, sentence
from recollect.model.values import Absence
from recollect.model.words import WORDS


@pytest.mark.parametrize("code", [*get_args(Reason), *get_args(Omission)])
def test_every_code_has_a_sentence(code: str) -> None:
    assert sentence(WORDS.get(code, code), by="r1")


def test_a_value_may_hold_braces() -> None:
    assert sentence("out.note", word="forgotten", note="{by}") == "it is forgotten: {by}"
    assert named(["a", "b"]) == "a, b"


def test_the_codes_are_words_that_programs_can_hold() -> None:
    letters = set(string.ascii_lowercase + "_")
    absences = {word for part in get_args(Absence) for word in get_args(part) or (part,)}
    for code in {*get_args(Reason), *get_args(Omission), *absences}:
        assert set(code) <= letters
