"""Names, ETags and cursors in paths and headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.model import wire


@pytest.mark.parametrize("name", ["a", "alice.seat", "20261117-1725-7392c4", "_x", "A-1"])
def test_a_plain_name_stays_as_it_is(name: str) -> None:
    assert wire.to_segment(name) == name
    assert wire.from_segment(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "~", "é", "a b", "%2F", "-a", "\U0001f600"])
def test_another_name_has_no_character_that_is_decoded(name: str) -> None:
    segment = wire.to_segment(name)
    assert segment.startswith("~")
    assert set(segment[1:]) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )
    assert wire.from_segment(segment) == name


@given(st.text())
def test_every_name_has_one_form(name: str) -> None:
    assert wire.from_segment(wire.to_segment(name)) == name


@pytest.mark.parametrize(
    "segment",
    ["", "a b", "%41", "~YQ==", "~YQ", "~YR", "~_", "~/", "~gA", "é", "~é"],
)  # the third and fourth from the left: base64 of "a", which has a plain form
def test_no_other_form_is_read(segment: str) -> None:
    with pytest.raises(InvalidInput):
        wire.from_segment(segment)


def test_tags_are_read_back() -> None:
    assert wire.parse_tag(wire.version_tag(12)) == (False, 12, None)
    assert wire.parse_tag(f" {wire.head_tag(7)} ") == (True, 7, None)


@pytest.mark.parametrize("tag", ["", "v12", '"x1"', '"v"', '"v-1"', 'W/"v1"', '"v1", "v2"', "*"])
def test_another_tag_is_refused(tag: str) -> None:
    with pytest.raises(InvalidInput, match="ETag"):
        wire.parse_tag(tag)
