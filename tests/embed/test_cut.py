"""Cutting: parts of a text as they stand there, few enough, in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.embed.cut import PIECES_MAX_COUNT, SENTENCE_MAX_WORDS, chunks, sentences

TEXTS = st.text(st.sampled_from("ab.!?\n \u3002\u5f35\u30a2\"')"), max_size=400) | st.text()


def test_a_sentence_ends_at_a_full_stop_before_a_blank() -> None:
    text = "Alice sits by the window. Bob pays 3.50 for a seat! Who knows why that is?"
    assert sentences(text) == [
        "Alice sits by the window.",
        "Bob pays 3.50 for a seat!",
        "Who knows why that is?",
    ]


def test_what_closes_belongs_to_the_sentence() -> None:
    assert sentences('"We move on Monday." Then we rest a bit.') == [
        '"We move on Monday."',
        "Then we rest a bit.",
    ]


def test_scripts_without_blanks_have_sentences() -> None:
    first, second = "\u5f7c\u306f\u7a93\u306e\u5074\u306b\u5ea7\u308b" * 6, "\u72ac" * 60
    assert sentences(f"{first}\u3002{second}") == [f"{first}\u3002", second]


def test_lines_are_sentences() -> None:
    assert sentences("milk and two eggs\nbread from the baker\n") == [
        "milk and two eggs",
        "bread from the baker",
    ]


def test_a_very_short_sentence_is_joined_to_its_neighbour() -> None:
    assert sentences("Yes. She moved to Berlin in May. Really!") == [
        "Yes. She moved to Berlin in May. Really!"
    ]
    assert sentences("Yes.") == ["Yes."]


def test_a_very_long_sentence_is_cut_evenly() -> None:
    pieces = sentences(" ".join(["word"] * (SENTENCE_MAX_WORDS + 2)))
    assert [len(piece.split()) for piece in pieces] == [31, 31]


def test_chunks_are_even() -> None:
    assert [len(piece.split()) for piece in chunks("word " * 200)] == [66, 67, 67]
    assert chunks("word " * 90) == [("word " * 90).strip()]


def test_a_blank_text_has_no_piece() -> None:
    assert chunks(" \n\t ") == sentences(" \n\t ") == []


@given(TEXTS)
def test_pieces_are_parts_of_the_text_in_order_and_nothing_is_lost(text: str) -> None:
    for cut in (chunks, sentences):
        place = 0
        for piece in cut(text):
            assert piece.strip() == piece != ""
            found = text.index(piece, place)
            assert text[place:found].strip() == ""
            place = found + len(piece)
        assert text[place:].strip() == ""


@pytest.mark.timing
@pytest.mark.parametrize(
    "text", ["." * 999_999 + "x", ".\"'" * 300_000, "x" * 1_000_000, "\u3002" * 900_000]
)
def test_no_text_takes_long_or_has_many_pieces(text: str) -> None:
    began = time.process_time()
    for cut in (chunks, sentences):
        assert len(cut(text)) <= PIECES_MAX_COUNT
    assert time.process_time() - began < 5


def test_text_after_the_last_piece_is_left_out() -> None:
    assert len(sentences("one two three.\n" * 2_000)) == PIECES_MAX_COUNT
    assert len(chunks("word " * 200_000)) == PIECES_MAX_COUNT
