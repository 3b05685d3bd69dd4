"""The text of messages from other programs."""

from __future__ import annotations

import pytest

from recollect.model.messages import text_of


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello.", "Hello."),
        ([{"type": "text", "text": "One."}, {"type": "image"}, {"text": "Two."}], "One.\nTwo."),
        ([{"text": 5}, "not a part"], ""),
        (None, ""),
        (5, ""),
    ],
)
def test_the_text_of_a_message_is_given_as_such_or_in_parts(content: object, text: str) -> None:
    assert text_of(content) == text
