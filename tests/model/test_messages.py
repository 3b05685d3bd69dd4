"""The text of messages from other programs."""

from __future__ import annotations

import pytest

from recollect.errors import InvalidInput
from recollect.model.messages import text_of, with_text


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


def test_an_id_names_one_message_and_not_several() -> None:
    said = [{"role": "user", "content": "One."}, {"role": "user", "content": "Two."}]
    assert [text for _, text in with_text(said[:1], "user", "first")] == ["One."]
    with pytest.raises(InvalidInput, match="one id cannot name several messages") as refused:
        with_text(said, "user", "first")
    assert refused.value.hint == "give each message an 'id'"
    assert [text for _, text in with_text(said, "user", None)] == ["One.", "Two."]


def test_messages_without_any_text_are_refused() -> None:
    assert [
        text for _, text in with_text([{"content": " "}, {"content": "Two."}], "user", None)
    ] == ["Two."]
    with pytest.raises(InvalidInput, match="contains no text"):
        with_text([{"content": " "}, {"content": [{"type": "image"}]}], "user", None)
